"""Draws the figures of docs/shaping.md by running the shapers; a test holds that they are fresh.

python docs/_plots.py
"""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from rewardkit import shaping as s
from rewardkit.shaping.base import Row

__all__ = ["FOLDER", "figures", "main"]

FOLDER = Path(__file__).resolve().parent / "shaping"
_COLOURS = ("#3949ab", "#e65100", "#2e7d32", "#8e24aa", "#00838f")
_WIDTH, _HEIGHT = 460, 220
_LEFT, _RIGHT, _TOP, _BOTTOM = 48, 12, 28, 40


@dataclass(frozen=True, slots=True)
class Figure:
    """Lines over x, or bars with names."""

    x_name: str
    lines: dict[str, list[list[tuple[float, float]]]]
    """By name, in pieces: a line has a gap where the value is None."""
    bars: bool = False

    def svg(self) -> str:
        """Returns the picture, the same to the last byte on any machine."""
        points = [point for line in self.lines.values() for piece in line for point in piece]
        low = min(0.0, *(y for _, y in points))
        high = max(0.0, *(y for _, y in points))
        first, last = min(x for x, _ in points), max(x for x, _ in points)
        if self.bars:
            first, last = first - 0.5, last + 0.5

        def place(x: float, y: float) -> str:
            across = _LEFT + (x - first) / (last - first) * (_WIDTH - _LEFT - _RIGHT)
            down = _TOP + (high - y) / (high - low) * (_HEIGHT - _TOP - _BOTTOM)
            return f"{across:.1f},{down:.1f}"

        parts = [
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {_WIDTH} {_HEIGHT}" '
            f'width="{_WIDTH}" height="{_HEIGHT}" font-family="sans-serif" font-size="11">',
            f'<rect width="{_WIDTH}" height="{_HEIGHT}" rx="6" fill="#fafafa"/>',
        ]
        parts += self._axes(place, (first, last), (low, high))
        parts += self._bars(place) if self.bars else self._lines(place)
        return "\n".join([*parts, "</svg>", ""])

    def _axes(
        self,
        place: Callable[[float, float], str],
        across: tuple[float, float],
        down: tuple[float, float],
    ) -> list[str]:
        parts = []
        for y in sorted({down[0], 0.0, down[1]}):
            ends = f"{place(across[0], y)} {place(across[1], y)}"
            parts.append(f'<polyline points="{ends}" stroke="#bdbdbd" fill="none"/>')
            height = place(across[0], y).partition(",")[2]
            parts.append(
                f'<text x="{_LEFT - 5}" y="{height}" dy="4" text-anchor="end">{y:g}</text>'
            )
        if not self.bars:
            for x in (across[0], (across[0] + across[1]) / 2, across[1]):
                left = place(x, 0).partition(",")[0]
                text = f'<text x="{left}" y="{_HEIGHT - 24}" text-anchor="middle">{x:g}</text>'
                parts.append(text)
        middle = (_LEFT + _WIDTH - _RIGHT) / 2
        name = f'<text x="{middle:g}" y="{_HEIGHT - 8}" text-anchor="middle">{self.x_name}</text>'
        return [*parts, name]

    def _lines(self, place: Callable[[float, float], str]) -> list[str]:
        parts = []
        for number, (name, line) in enumerate(self.lines.items()):
            colour = _COLOURS[number % len(_COLOURS)]
            for piece in line:
                points = " ".join(place(x, y) for x, y in piece)
                style = f'fill="none" stroke="{colour}" stroke-width="2"'
                parts.append(f'<polyline points="{points}" {style}/>')
                for point in points.split() if len(piece) < 12 else ():
                    x, y = point.split(",")
                    parts.append(f'<circle cx="{x}" cy="{y}" r="3" fill="{colour}"/>')
            left = _LEFT + number * (_WIDTH - _LEFT - _RIGHT) / len(self.lines)
            parts.append(f'<text x="{left:.0f}" y="17" fill="{colour}">{name}</text>')
        return parts

    def _bars(self, place: Callable[[float, float], str]) -> list[str]:
        parts = []
        for name, [[(x, y)]] in self.lines.items():
            left, top = place(x - 0.3, max(y, 0.0)).split(",")
            right, bottom = place(x + 0.3, min(y, 0.0)).split(",")
            width, height = float(right) - float(left), max(float(bottom) - float(top), 1.0)
            parts.append(
                f'<rect x="{left}" y="{top}" width="{width:.1f}" height="{height:.1f}" '
                f'fill="{_COLOURS[0]}"/>'
            )
            middle = float(left) + width / 2
            text = f'<text x="{middle:.1f}" y="{_HEIGHT - 24}" text-anchor="middle">{name}</text>'
            parts.append(text)
        return parts


def over(
    name: str, xs: Sequence[float], lines: Mapping[str, Callable[[float], float | None]]
) -> Figure:
    """Returns functions of x as lines."""
    drawn: dict[str, list[list[tuple[float, float]]]] = {}
    for label, function in lines.items():
        pieces: list[list[tuple[float, float]]] = [[]]
        for x in xs:
            y = function(x)
            if y is None:
                pieces.append([])
            else:
                pieces[-1].append((x, y))
        drawn[label] = [piece for piece in pieces if piece]
    return Figure(name, drawn)


def bars(name: str, shaper: s.CompletionShaper, texts: dict[str, str]) -> Figure:
    """Returns the values of some texts."""
    values = shaper(list(texts.values()))
    pairs = enumerate(zip(texts, values, strict=True))
    return Figure(name, {label: [[(i, y or 0.0)]] for i, (label, y) in pairs}, bars=True)


def of_length(shaper: s.CompletionShaper, **row: object) -> Callable[[float], float | None]:
    """Returns a shaper as a function of the number of tokens."""
    return lambda n: shaper.shape(Row("", {"completion_ids": [1] * int(n), **row}))


def at(values: Sequence[float | None], index: int = 0) -> float | None:
    """Returns one of a group's values."""
    return values[index]


def figures() -> dict[str, Figure]:
    """Returns every figure by the name of its file."""
    return {**_format(), **_length(), **_text(), **_turns(), **_groups()}


def _format() -> dict[str, Figure]:
    return {
        "think_format": bars(
            "ThinkFormat()",
            s.ThinkFormat(),
            {
                "both parts": "<think>2+2</think>4",
                "no reasoning": "<think></think>4",
                "no answer": "<think>2+2</think>",
                "not closed": "<think>2+2 4",
                "no tags": "4",
            },
        ),
        "tag_format": bars(
            'TagFormat(tags=("think", "answer"), credit="share")',
            s.TagFormat(tags=("think", "answer"), credit="share"),
            {
                "all four": "<think>2</think><answer>4</answer>",
                "one lost": "<think>2<answer>4</answer>",
                "one block": "<answer>4</answer>",
                "one tag": "4</answer>",
                "twice": "<answer>4</answer><answer>4</answer>",
            },
        ),
        "json_format": bars(
            'JsonFormat(schema={"required": ["answer"]}, parsed=0.25)',
            s.JsonFormat(schema={"required": ["answer"]}, parsed=0.25),
            {
                "fits": '{"answer": 4}',
                "other keys": '{"result": 4}',
                "key twice": '{"answer": 4, "answer": 5}',
                "cut off": '{"answer": 4',
            },
        ),
    }


def _length() -> dict[str, Figure]:
    tokens = range(0, 1201, 10)
    cosine = s.CosineLength(max_length=1000)

    def sibling(
        shaper: s.GroupShaper, score: float, rate: float
    ) -> Callable[[float], float | None]:
        """Row 0 among eleven; of the others some are right, of 100 and of 1,000 tokens."""
        others = [1.0] * round(10 * rate) + [0.0] * (10 - round(10 * rate))
        ids = [[1] * 100, *[[1] * (1000 if i % 2 == 0 else 100) for i in range(10)]]

        def value(n: float) -> float | None:
            own = [[1] * int(n), *ids[1:]]
            scores = [score, *others]
            found = shaper([""] * 11, prompt=["p"] * 11, completion_ids=own, correct=scores)
            return at(found)

        return value

    adaptive = s.DifficultyLength()
    return {
        "linear_length": over(
            "tokens: LinearLength(free=300, limit=900)",
            tokens,
            {"value": of_length(s.LinearLength(free=300, limit=900))},
        ),
        "cosine_length": over(
            "tokens: CosineLength(max_length=1000)",
            tokens,
            {"right": of_length(cosine, correct=1.0), "wrong": of_length(cosine, correct=0.0)},
        ),
        "overlong_penalty": over(
            "tokens: OverlongPenalty(max_length=1000, buffer=400)",
            tokens,
            {"value": of_length(s.OverlongPenalty(max_length=1000, buffer=400))},
        ),
        "token_discount": over(
            "tokens of a right answer",
            tokens,
            {
                "gamma 0.999": of_length(s.TokenDiscount(gamma=0.999), correct=1.0),
                "gamma 0.9999": of_length(s.TokenDiscount(gamma=0.9999), correct=1.0),
            },
        ),
        "group_length": over(
            "tokens; the siblings have 100 to 1,000",
            range(100, 1001, 25),
            {
                "right": sibling(s.GroupLength(), 1.0, 0.5),
                "wrong": sibling(s.GroupLength(), 0.0, 0.5),
            },
        ),
        "difficulty_length": over(
            "tokens of a right answer; the siblings have 100 to 1,000",
            range(100, 1001, 25),
            {
                "easy": sibling(adaptive, 1.0, 0.9),
                "medium": sibling(adaptive, 1.0, 0.5),
                "hard": sibling(adaptive, 1.0, 0.2),
            },
        ),
    }


def _text() -> dict[str, Figure]:
    shares = [step / 20 for step in range(21)]
    repetition = s.RepetitionPenalty(ngram=1)
    language = s.LanguageConsistency(scripts=("LATIN",))
    sure = s.Abstention.at_confidence(0.75)

    def expected(chance: float) -> float:
        right, wrong = sure(["4", "5"], correct=[1.0, 0.0])
        return chance * (right or 0.0) + (1 - chance) * (wrong or 0.0)

    iris = s.IrisReward()

    def worked(text: str) -> Callable[[float], float | None]:
        steps = ["2+2=4", "4*3=12"]
        return lambda score: iris.shape(Row(text, {"correct": score, "steps": steps}))

    return {
        "repetition_penalty": over(
            "copies of each of 100 tokens: RepetitionPenalty(ngram=1)",
            range(1, 11),
            {
                "value": lambda n: repetition.shape(
                    Row("", {"completion_ids": [*range(100)] * int(n)})
                )
            },
        ),
        "language_consistency": over(
            'share of other letters: LanguageConsistency(scripts=("LATIN",))',
            shares,
            {
                "value": lambda share: language.shape(
                    Row("a" * (20 - round(20 * share)) + "字" * round(20 * share), {})
                )
            },
        ),
        "abstention": over(
            "chance of being right: Abstention.at_confidence(0.75)",
            shares,
            {
                "answering": expected,
                "abstaining": lambda chance: sure.shape(Row("I don't know", {"correct": 0.0})),
            },
        ),
        "tag_constraints": bars(
            'tags, required and order are ("plan", "check")',
            s.TagConstraints(
                tags=("plan", "check"), required=("plan", "check"), order=("plan", "check")
            ),
            {
                "all hold": "<plan>a</plan><check>b</check>",
                "wrong order": "<check>b</check><plan>a</plan>",
                "one missing": "<plan>a</plan>",
                "twice": "<plan>a</plan><plan>a</plan><check>b</check>",
                "no tags": "4",
            },
        ),
        "iris_reward": over(
            "score; the reference is 2+2=4, 4*3=12",
            shares,
            {
                "both steps": worked("2+2=4\n4*3=12"),
                "one step": worked("2+2=4\nnothing else"),
                "no step": worked("it is so"),
            },
        ),
    }


def _turns() -> dict[str, Figure]:
    calls = range(11)
    turns = s.ToolTurns(mean=3, deviation=1.5, wrong_mean=5, wrong_deviation=2.5)
    clarify = s.ClarifyPause()

    def asked(score: float) -> Callable[[float], float | None]:
        def value(turn: float) -> float | None:
            said = [*["It is 5."] * (int(turn) - 1), "Not enough information.", "It is 4."]
            chat = [{"role": "assistant", "content": text} for text in said]
            return clarify.shape(Row(chat, {"premise_missing": True, "correct": score}))

        return value

    def spelled(short: float) -> str:
        threads = "".join(f"<Thread>{'a' * size}</Thread>" for size in (1000, int(short)))
        return f"<Parallel>{threads}</Parallel>"

    gain = s.Acceleration(clip=0.3)
    path = s.LongestPathPenalty(max_length=2000, buffer=1500, correct=None)
    return {
        "tool_turns": over(
            "tool calls: mean 3, deviation 1.5; wrong 5, 2.5",
            calls,
            {
                "right": lambda n: turns.shape(Row("<tool_call>" * int(n), {"correct": 1.0})),
                "wrong": lambda n: turns.shape(Row("<tool_call>" * int(n), {"correct": 0.0})),
            },
        ),
        "clarify_pause": over(
            "turn that asks for the missing premise",
            range(1, 6),
            {
                "then right": asked(1.0),
                "then wrong": asked(0.0),
                "never asks": lambda turn: clarify.shape(
                    Row("It is 4.", {"premise_missing": True, "correct": 1.0})
                ),
            },
        ),
        "acceleration": over(
            "characters of the second thread; the first has 1,000; clip 0.3",
            range(0, 2001, 25),
            {"value": lambda n: gain.shape(Row(spelled(n), {"correct": 1.0}))},
        ),
        "longest_path_penalty": over(
            "characters of the second thread; the first has 1,000",
            range(0, 2001, 25),
            {"value": lambda n: path.shape(Row(spelled(n), {}))},
        ),
    }


def _groups() -> dict[str, Figure]:
    shares = [step / 20 for step in range(21)]
    prompt = ["p"] * 9

    def votes(shaper: s.MajorityLabel) -> Callable[[float], float | None]:
        """Row 0 answers 4, as n - 1 others do; the rest answer 5."""
        return lambda n: at(
            shaper(["It is 4."] * int(n) + ["It is 5."] * (9 - int(n)), prompt=prompt)
        )

    def angle(shaper: s.GroupShaper) -> Callable[[float], float | None]:
        def value(degrees: float) -> float | None:
            own = [math.cos(math.radians(degrees)), math.sin(math.radians(degrees))]
            others = [[1.0, 0.0]] * 3
            return at(shaper([""] * 4, prompt=["p"] * 4, features=[own, *others]))

        return value

    gaps = [[step / 8] for step in range(1, 9)]
    solve = s.Solvability()
    return {
        "self_confidence": over(
            "confidence; the siblings have 1/8, 2/8, …, 1",
            shares,
            {
                "rank": lambda own: at(
                    s.SelfConfidence()([""] * 9, prompt=prompt, answer_gaps=[[own], *gaps])
                ),
                "value": lambda own: at(
                    s.SelfConfidence(kind="value")(
                        [""] * 9, prompt=prompt, answer_gaps=[[own], *gaps]
                    )
                ),
            },
        ),
        "majority_label": over(
            "completions of nine that answer as this one",
            range(1, 10),
            {
                "always": votes(s.MajorityLabel()),
                "agreement from 0.75": votes(s.MajorityLabel(agreement=(0.75, 1.0))),
            },
        ),
        "elliptical_bonus": over(
            "degrees from the direction of three siblings",
            range(0, 181, 5),
            {
                "ridge 1": angle(s.EllipticalBonus()),
                "ridge 0.1": angle(s.EllipticalBonus(ridge=0.1)),
            },
        ),
        "neighbour_distance": over(
            "degrees from the direction of three siblings",
            range(0, 181, 5),
            {"value": angle(s.NeighbourDistance())},
        ),
        "hit_rate": over(
            "pass rate of the group",
            shares,
            {
                "variance": lambda rate: s.hit_signal(rate, "variance"),
                "frontier": lambda rate: s.hit_signal(rate, "frontier"),
                "hard": lambda rate: s.hit_signal(rate, "hard"),
            },
        ),
        "solvability": over(
            "solve rate: Solvability()",
            [step / 100 for step in range(101)],
            {"value": lambda rate: solve.shape(Row("", {"solve_rate": rate}))},
        ),
    }


def main() -> None:
    """Writes the figures."""
    FOLDER.mkdir(exist_ok=True)
    for name, figure in figures().items():
        (FOLDER / f"{name}.svg").write_text(figure.svg(), "utf-8")


if __name__ == "__main__":
    main()
