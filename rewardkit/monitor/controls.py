"""Spurious rewards as controls: what a run gains from a reward that does not know what is right.

Each is a component of a `Reward`, so a control run differs from the real one in its reward alone.
Source of the set: Spurious Rewards, arXiv 2506.10947.
"""

import hashlib
from collections import Counter
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, TypeAlias, get_args

from rewardkit.answer import AnswerPolicy, extract_answer
from rewardkit.completion import Completion, completion_text
from rewardkit.errors import ConfigError
from rewardkit.reward import Reward, Shaper
from rewardkit.shaping import CompletionShaper, GroupShaper, MajorityLabel, Range, Row, answer_key
from rewardkit.verifier import Verifier

__all__ = ["DeclaredAnswer", "RandomReward", "WrongAnswer", "WrongLabel", "control_rewards"]

WrongLabel: TypeAlias = Literal["any", "most_frequent"]
"""Which wrong answers are paid."""


class RandomReward:
    """1 with a probability, else 0, whatever the completion says.

    Equal seeds and equal calls give equal values, in any process. A text that comes again is drawn
    anew, else a policy with few different texts could learn which of them are paid; so this is the
    one component that is not a function of its row. What is drawn goes on from call to call, is
    kept by pickling, and starts anew in a run that is resumed.

    Args:
        rate: probability of 1, in [0, 1]; the source's default is 0.5.
        seed: of the draws; processes that share one draw differently for different texts.

    Raises:
        ConfigError: the rate is no probability.

    >>> RandomReward(seed=1)(["a"] * 6) == RandomReward(seed=1)(["a"] * 6)
    True
    """

    def __init__(self, *, rate: float = 0.5, seed: int = 0) -> None:
        if not 0 <= rate <= 1:
            raise ConfigError(f"rate is a probability in [0, 1], not {rate!r}")
        self.rate = rate
        self.seed = seed
        self.drawn = 0
        """Values given so far."""

    @property
    def range(self) -> Range:
        """0 to 1."""
        return Range(0.0, 1.0)

    def __call__(
        self, completions: Sequence[Completion], /, **columns: Sequence[Any]
    ) -> list[float]:
        """Returns one value a completion."""
        start, self.drawn = self.drawn, self.drawn + len(completions)
        return [
            float(self._uniform(start + place, completion_text(completion)) < self.rate)
            for place, completion in enumerate(completions)
        ]

    def _uniform(self, draw: int, text: str) -> float:
        digest = hashlib.blake2b(f"{self.seed}/{draw}/".encode(), digest_size=8)
        digest.update(text.encode("utf-8", "surrogatepass"))
        return int.from_bytes(digest.digest(), "big") / 2**64


@dataclass(frozen=True, slots=True, kw_only=True)
class DeclaredAnswer(CompletionShaper):
    r"""1 if the completion declares an answer that is not empty, else 0: form without content.

    >>> DeclaredAnswer()([r"\boxed{17}", r"\boxed{}", "It may be 17."])
    [1.0, 0.0, 0.0]
    """

    policy: AnswerPolicy = field(default_factory=lambda: AnswerPolicy(box_only=True))
    """What counts as declaring; the default is the source's, a box, or an answer tag."""

    @property
    def range(self) -> Range:
        """0 to 1."""
        return Range(0.0, 1.0)

    def shape(self, row: Row) -> float:
        """Returns the value."""
        answer = extract_answer(row.text, self.policy).text
        return float(answer is not None and bool(answer.strip()))


@dataclass(frozen=True, slots=True, kw_only=True)
class WrongAnswer(GroupShaper):
    r"""1 for a wrong answer, 0 for a right one and for none at all.

    With `label="most_frequent"` only the most frequent wrong answer of the group is paid, as if it
    were the label: a signal that is consistent and false. Of equally frequent ones it is the first
    in the order of their texts. None where the verdict is undecided.

    >>> shaper = WrongAnswer(correct="math")
    >>> shaper([r"\boxed{4}", r"\boxed{5}", "?"], math=[1.0, 0.0, 0.0], prompt=["2+2"] * 3)
    [0.0, 1.0, 0.0]
    """

    correct: str
    """The component, or the column, whose 1 means right."""
    label: WrongLabel = "any"
    group: str = "prompt"
    """The column that tells groups apart; read with `most_frequent` only."""

    def __post_init__(self) -> None:
        if self.label not in get_args(WrongLabel):
            raise ConfigError(
                f"label is one of {', '.join(get_args(WrongLabel))}, not {self.label!r}"
            )

    @property
    def range(self) -> Range:
        """0 to 1."""
        return Range(0.0, 1.0)

    @property
    def reads(self) -> tuple[str, ...]:
        """The component `correct`."""
        return (self.correct,)

    @property
    def group_column(self) -> str | None:
        """The option `group`; None where the group does not matter."""
        return self.group if self.label == "most_frequent" else None

    def shape_group(self, rows: Sequence[Row]) -> list[float | None]:
        """Returns one value a row."""
        scores = [row.score(self.correct) for row in rows]
        keys: list[Hashable] = [
            key if score is not None and score < 1 and (key := answer_key(row.text)) else None
            for row, score in zip(rows, scores, strict=True)
        ]
        if self.label == "most_frequent":
            counts = Counter(key for key in keys if key is not None)
            paid = min(counts, key=lambda key: (-counts[key], str(key)), default=None)
            keys = [key if key == paid else None for key in keys]
        return [
            None if score is None else float(key is not None)
            for key, score in zip(keys, scores, strict=True)
        ]


def control_rewards(
    verifier: Verifier | Reward,
    *,
    seed: int = 0,
    rate: float = 0.5,
    group: str = "prompt",
    reference: str = "reference",
) -> Mapping[str, Reward]:
    r"""Returns the true reward and its controls, by name: one run each, all else alike.

    `true`, `random`, `format`, `wrong`, `wrong_label` (the most frequent wrong answer of a group)
    and `majority`. Each keeps the verifier as the component `true` of weight 0, so that every run
    logs how often the policy is right, whatever it is paid for.

    Args:
        verifier: what is right; its 1 means so.
        seed: of the random reward.
        rate: of the random reward.
        group: the column that tells groups apart.
        reference: the column that holds the verifier's references.

    >>> from rewardkit import MathVerifier
    >>> rewards = control_rewards(MathVerifier(symbolic=False))
    >>> result = rewards["wrong"].score([r"\boxed{5}", r"\boxed{4}"], reference=["4"] * 2)
    >>> result.scores, result.components["true"]
    ([1.0, 0.0], [0.0, 1.0])
    """
    controls: dict[str, Shaper] = {
        "random": RandomReward(rate=rate, seed=seed),
        "format": DeclaredAnswer(),
        "wrong": WrongAnswer(correct="true"),
        "wrong_label": WrongAnswer(correct="true", label="most_frequent", group=group),
        "majority": MajorityLabel(group=group),
    }
    columns = {"true": reference}
    rewards = {"true": Reward({"true": verifier}, references=columns)}
    for name, control in controls.items():
        rewards[name] = Reward(
            {"true": verifier, name: control}, weights={"true": 0.0}, references=columns
        )
    return rewards
