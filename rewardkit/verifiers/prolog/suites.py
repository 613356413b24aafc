"""Shaped rewards: the three suites of "Training Language Models to Use Prolog as a Tool", and ours.

Source of suites 1 to 3: arXiv 2512.07407 and the rewards its authors published with it. They are
here to be compared with: they pay for trying (half a point for no program at all), for the look of
a program, and for writing the answer down. `OwnSuite` does none of that.
"""

import math
import re
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import TypeAlias

from rewardkit.completion import Completion, completion_text
from rewardkit.errors import ConfigError
from rewardkit.verdict import Verdict
from rewardkit.verifiers.prolog.engine import LostError
from rewardkit.verifiers.prolog.reading import find, read_answers
from rewardkit.verifiers.prolog.terms import Atom, Term, Text, Variable
from rewardkit.verifiers.prolog.verifier import PrologVerifier

__all__ = [
    "CURRICULUM",
    "Curriculum",
    "OwnSuite",
    "PaperSuite",
    "SuiteReward",
    "format_reward",
    "hardcoded_by_pattern",
    "semantic_reward",
    "structure_reward",
    "syntax_reward",
    "token_cosine",
    "xml_reward",
]

Similarity: TypeAlias = Callable[[str, str], float]

_SYNTAX = re.compile(r":-|solve\s*\(|use_module|clpq|\.\s*$", re.MULTILINE)
_SOLVE_BRACE = re.compile(r"\s*:-\s*\{")
_LITERAL_END = re.compile(r"=\s*\d+\s*$")
_NAME = re.compile(r"(\w+)\(")
_OPEN, _MIDDLE, _CLOSE = "<reasoning>\n", "\n</reasoning>\n<answer>\n", "\n</answer>\n"


@dataclass(frozen=True, slots=True, kw_only=True)
class Curriculum:
    """Weights that move from `early` to `late` along a sigmoid of the training's progress.

    With progress p in [0, 1], s = 1 / (1 + exp(-k (p - m))) and weight = early + (late - early) s.

    >>> round(CURRICULUM.weights(0.5)["correctness"], 3)
    0.3
    """

    early: Mapping[str, float]
    late: Mapping[str, float]
    steepness: float = 12.0
    """k of the sigmoid."""
    midpoint: float = 0.5
    """m: the progress at which half of the way is gone."""

    def weights(self, progress: float) -> dict[str, float]:
        """Returns the weights at a progress, which is clipped to [0, 1]."""
        clipped = min(1.0, max(0.0, progress))
        share = 1 / (1 + math.exp(-self.steepness * (clipped - self.midpoint)))
        return {
            name: early + (self.late[name] - early) * share for name, early in self.early.items()
        }


CURRICULUM = Curriculum(
    early={
        "semantic": 0.35,
        "format": 0.25,
        "syntax": 0.10,
        "correctness": 0.15,
        "structure": 0.15,
    },
    late={
        "semantic": 0.10,
        "format": 0.10,
        "syntax": 0.10,
        "correctness": 0.45,
        "structure": 0.25,
    },
)
"""Suite 3's schedule."""


@dataclass(frozen=True, slots=True)
class SuiteReward:
    """A suite's reward of one completion."""

    total: float | None
    """None where the engine could not decide."""
    components: Mapping[str, float]
    """Each component as the suite defines it, before any weight."""
    weights: Mapping[str, float]
    """What each component was weighted with."""


class PaperSuite:
    """One of the paper's reward suites: unbounded sums, to be used as published.

    | suite | reward | range |
    |---|---|---|
    | 1 | correctness + syntax + the three formats | [0.5, 4.5], less for text after the answer |
    | 2 | suite 1, and the semantic similarity to the reference program | [0.5, 6.5] |
    | 3 | twice the weighted mean of five components, weights by `CURRICULUM` | [0, 2] |

    Correctness runs the program in our sandbox, for the first solution of `solve(X)`; side effects
    end it, and what they would have given counts as no result.
    """

    def __init__(
        self,
        number: int,
        *,
        verifier: PrologVerifier | None = None,
        similarity: Similarity | None = None,
        curriculum: Curriculum = CURRICULUM,
    ) -> None:
        """Says which suite.

        Args:
            number: 1, 2 or 3.
            verifier: whose engine runs programs; by default one of its own.
            similarity: cosine of two programs' embeddings, in [-1, 1]. The paper takes
                all-MiniLM-L6-v2; by default it is the cosine of their counts of tokens, which
                needs no model.
            curriculum: suite 3's weights.

        Raises:
            ConfigError: there is no such suite.
        """
        if number not in (1, 2, 3):
            raise ConfigError(f"the paper's suites are 1, 2 and 3, not {number!r}")
        self.number = number
        self.verifier = verifier or PrologVerifier()
        self.similarity = similarity or token_cosine
        self.curriculum = curriculum

    def reward(
        self, completion: Completion, answer: float, program: str, *, progress: float = 0.0
    ) -> SuiteReward:
        """Returns the suite's reward of a completion.

        Args:
            completion: what the model wrote.
            answer: the right number.
            program: the reference program, which similarity is measured against.
            progress: how much of the training is done, in [0, 1]; for suite 3.
        """
        text = completion_text(completion)
        code = _first_answer(text)
        ran = self._run(code) if code else _Ran(None, 0, 0)
        if ran is None:
            return SuiteReward(None, {}, {})
        parts = {
            "correctness": _correctness(ran.value, answer),
            "syntax": syntax_reward(text),
            "strict_format": 0.5 if _is_strict(text) else 0.0,
            "soft_format": 0.5 if _is_soft(text) else 0.0,
            "xml": xml_reward(text, floor=self.number == 3),
        }
        if self.number == 1:
            return _summed(parts)
        semantic = max(0.5, 2 * self.similarity(code, program)) if code and program else 0.0
        if self.number == 2:
            return _summed({**parts, "semantic": semantic})
        parts["semantic"] = semantic_reward(code, program, self.similarity)
        parts["structure"] = structure_reward(code, ran.clauses, ran.braces)
        return self._weighted(parts, progress)

    def close(self) -> None:
        """Ends the engine."""
        self.verifier.close()

    def _weighted(self, parts: Mapping[str, float], progress: float) -> SuiteReward:
        weights = self.curriculum.weights(progress)
        raw_format = parts["xml"] + parts["soft_format"] + parts["strict_format"]
        normal = {
            "semantic": min(parts["semantic"], 2.0) / 2,
            "format": max(0.0, min(1.0, raw_format * 0.67)),
            "syntax": min(parts["syntax"], 1.0),
            "correctness": min(parts["correctness"], 2.0) / 2,
            "structure": min(parts["structure"], 2.0) / 2,
        }
        total = 2 * sum(weights[name] * value for name, value in normal.items())
        return SuiteReward(total, dict(parts), weights)

    def _run(self, code: str) -> "_Ran | None":
        query = {"text": "solve(X)", "wanted": 1, "max_rows": 1, "max_distinct": 2}
        if "\0" in code or any("\ud800" <= c <= "\udfff" for c in code):
            return _Ran(None, 0, 0)
        for _ in range(3):
            try:
                with self.verifier.engine.talk() as talk:
                    events = talk.request(
                        program=code, queries=[query], shape=True, keep_going=True
                    )
            except LostError:
                continue
            shape = find(events, "shape")
            found = read_answers(events, 1)[0]
            counts = shape["v"] if shape is not None and shape.get("kind") == "row" else {}
            refused = find(events, "refused") is not None
            value = found.rows[0][0] if found.rows and not refused else None
            return _Ran(value, counts.get("clauses", 0), counts.get("braces", 0))
        return None


class OwnSuite:
    """Our own shaping: a right program is worth 1, times its auditability; trying is worth nothing.

    A wrong program that runs gets a part of `most_partial`, by how many of the expected solutions
    it gives; the part fades to 0 along the curriculum's sigmoid. No program, one that cannot be
    read, one with side effects and one that does not end get 0. In [0, 1].
    """

    def __init__(self, *, most_partial: float = 0.2, steepness: float = 12.0) -> None:
        """Says how much shaping there is.

        Raises:
            ConfigError: `most_partial` is not in [0, 0.5).
        """
        if not 0 <= most_partial < 0.5:
            raise ConfigError(f"most_partial is in [0, 0.5), not {most_partial!r}")
        self.curriculum = Curriculum(
            early={"partial": most_partial}, late={"partial": 0.0}, steepness=steepness
        )

    def reward(self, verdict: Verdict, *, progress: float = 0.0) -> SuiteReward:
        """Returns the reward of a verdict that a `PrologVerifier` gave."""
        if verdict.score is None:
            return SuiteReward(None, {}, {})
        right = float(verdict.evidence.get("outcome") == "ok")
        audit = verdict.parts.get("auditability", 1.0)
        weights = self.curriculum.weights(progress)
        partial = verdict.parts.get("execution", 0.0) * verdict.parts.get("semantics", 0.0)
        total = right * audit if right else weights["partial"] * partial
        return SuiteReward(
            total, {"right": right, "auditability": audit, "partial": partial}, weights
        )


def syntax_reward(text: str) -> float:
    """Returns 0.2 for each `:-`, `solve(`, `use_module`, `clpq` and closing full stop, ≤ 1."""
    return min(0.2 * sum(1 for _ in _SYNTAX.finditer(text)), 1.0)


def xml_reward(text: str, *, floor: bool) -> float:
    """Returns 1/8 for each of four tags that occurs once, less 0.001 for each character after.

    Args:
        text: the completion.
        floor: suite 3's form, where the deduction never goes below 0.
    """
    count = 0.125 * (text.count("<reasoning>\n") == 1)
    count += 0.125 * (text.count("\n</reasoning>\n") == 1)
    for mark, tail, spare in (("\n<answer>\n", _CLOSE, 0), ("\n</answer>", "\n</answer>", 1)):
        if text.count(mark) == 1:
            count += 0.125
            over = 0.001 * (len(text.rsplit(tail, 1)[-1]) - spare)
            count -= min(count, over) if floor else over
    return count


def format_reward(text: str) -> float:
    """Returns 0.5 for the strict layout of reasoning and answer, and 0.5 for the loose one."""
    return 0.5 * _is_strict(text) + 0.5 * _is_soft(text)


def semantic_reward(code: str, program: str, similarity: Similarity) -> float:
    """Returns suite 3's similarity: half of max(1/2, 2 cos), half of twice the overlap of names.

    The overlap is the share of the reference's predicate names that the code has. In [0, 2].
    """
    if not code or not program:
        return 0.0
    ours, theirs = set(_NAME.findall(code)), set(_NAME.findall(program))
    overlap = len(ours & theirs) / max(1, len(theirs))
    return 0.5 * max(0.5, 2 * similarity(code, program)) + 0.5 * 2 * overlap


def structure_reward(code: str, clauses: int, braces: int) -> float:
    """Returns suite 3's structure: 0.3 a clause that is not for `solve`, ≤ 1, and 0.5 for braces.

    A fifth of it where `hardcoded_by_pattern`. In [0, 1.5].
    """
    if not code:
        return 0.0
    score = min(0.3 * clauses, 1.0) + min(0.5 * braces, 0.5)
    return max(0.0, min(score * (0.2 if hardcoded_by_pattern(code) else 1.0), 2.0))


def hardcoded_by_pattern(code: str) -> bool:
    """Returns whether a clause has the form `solve(…) :- {… = number}`: all the paper looks for."""
    seen = set()
    start = code.find("solve(")
    while start >= 0:
        end = code.find(")", start)
        if end < 0:
            return False
        if end not in seen:  # else a text of `solve(` alone would take quadratic time
            seen.add(end)
            brace = _SOLVE_BRACE.match(code, end + 1)
            close = code.find("}", brace.end()) if brace is not None else -1
            if brace is not None and close >= 0:
                inner = code[brace.end() : close].rstrip()
                if _LITERAL_END.search(inner[-200:]):
                    return True
        start = code.find("solve(", start + 6)
    return False


def token_cosine(code: str, program: str) -> float:
    """Returns the cosine of two programs' counts of tokens, in [0, 1]."""
    ours, theirs = (Counter(re.findall(r"\w+|[^\w\s]", text)) for text in (code, program))
    dot = sum(count * theirs[token] for token, count in ours.items())
    norm = math.sqrt(sum(c * c for c in ours.values()) * sum(c * c for c in theirs.values()))
    return dot / norm if norm else 0.0


@dataclass(frozen=True, slots=True)
class _Ran:
    value: Term | None
    clauses: int
    braces: int


def _first_answer(text: str) -> str:
    text = text.split("<|endoftext|>", 1)[0]
    _before, opened, rest = text.partition("<answer>")
    inner, closed, _after = rest.partition("</answer>")
    return inner.strip() if opened and closed else ""


def _correctness(value: Term | None, answer: float) -> float:
    if value is None or isinstance(value, Variable):
        return 0.5
    number = _as_float(value)
    if number is None:
        return 0.5
    return 2.0 if abs(number - answer) < 1e-6 else 1.0


def _as_float(value: Term) -> float | None:
    """Returns what Python's float reads from the printed value: no rational, as published."""
    if isinstance(value, Fraction):
        return None
    text = value.name if isinstance(value, Atom) else value.value if isinstance(value, Text) else ""
    try:
        return float(value) if isinstance(value, int | float) else float(text)
    except OverflowError:
        return math.inf
    except ValueError:
        return None


def _is_strict(text: str) -> bool:
    middle = text.find(_MIDDLE, len(_OPEN))
    body = text[:-1] if text.endswith("\n\n") else text
    return (
        text.startswith(_OPEN)
        and middle >= 0
        and body.endswith(_CLOSE)
        and middle + len(_MIDDLE) <= len(body) - len(_CLOSE)
    )


def _is_soft(text: str) -> bool:
    start = text.find("<reasoning>")
    if start < 0:
        return False
    middle = re.compile(r"</reasoning>\s*<answer>").search(text, start + 11)
    return middle is not None and text.find("</answer>", middle.end()) >= 0


def _summed(parts: Mapping[str, float]) -> SuiteReward:
    return SuiteReward(sum(parts.values()), dict(parts), dict.fromkeys(parts, 1.0))
