"""Rewards without references: what most of a group's completions answer counts as right."""

import hashlib
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from rewardkit._spaces import drop_idle_spaces
from rewardkit.answer import AnswerPolicy, extract_answer
from rewardkit.errors import ConfigError
from rewardkit.shaping._checks import check_band, check_between, check_count
from rewardkit.shaping.base import GroupShaper, Range, Row

__all__ = ["MajorityLabel", "answer_key"]

_LENIENT = AnswerPolicy(last_expression=True)


def answer_key(text: str) -> str | None:
    r"""Returns the answer of a completion's text without idle spaces and case, or None.

    >>> answer_key(r"So \boxed{ 1/2 }."), answer_key("No idea.")
    ('1/2', None)
    """
    span = extract_answer(text, _LENIENT).text
    return None if span is None else drop_idle_spaces(span).casefold()


@dataclass(frozen=True, slots=True, kw_only=True)
class MajorityLabel(GroupShaper):
    """`agree` for the most frequent answer of the group, `differ` for any other or none.

    TTRL (arXiv:2504.16084): the majority's answer is the pseudo-label. Of several answers that are
    equally frequent the one first in the order of their texts is taken, so that the order of the
    batch does not matter; TTRL's code takes the first it meets.

    DDRL (arXiv:2604.21327) leaves out what is ambiguous. `keep`, the K of its published code: of a
    group of N the min(count of the majority, K // 2) most frequent and, to make K, the least
    frequent completions count; those between are None. Equally frequent ones are taken by a hash
    of their text. `agreement`: a group whose majority has a share outside of this closed band is
    None as a whole. Its fixed advantages are `agree=1`, `differ=-1` with the estimator `none`.

    A majority of wrong answers is a wrong label. Never falls for an answer when more of the group
    give it.

    >>> shaper = MajorityLabel()
    >>> shaper(["It is 4.", "It is 4.", "It is 5."], prompt=["p"] * 3)
    [1.0, 1.0, 0.0]
    """

    group: str = "prompt"
    """The column that tells groups apart."""
    agree: float = 1.0
    differ: float = 0.0
    keep: int | None = None
    agreement: tuple[float, float] = (0.0, 1.0)
    key: Callable[[str], str | None] = answer_key
    """From a completion's text to what is counted; None for no answer. It must not raise."""

    def __post_init__(self) -> None:
        check_between(-1e9, 1e9, agree=self.agree, differ=self.differ)
        if self.agree < self.differ:
            raise ConfigError("agree is at least differ")
        if self.keep is not None:
            check_count(2, keep=self.keep)
        check_band("agreement", self.agreement)

    @property
    def range(self) -> Range:
        """`differ` to `agree`."""
        return Range(self.differ, self.agree)

    @property
    def group_column(self) -> str:
        """The option `group`."""
        return self.group

    def shape_group(self, rows: Sequence[Row]) -> list[float | None]:
        """Returns one value a row; None for those that the band leaves out."""
        texts = [row.text for row in rows]
        keys = [self.key(text) for text in texts]
        counts = Counter(key for key in keys if key is not None)
        label = min(counts, key=lambda key: (-counts[key], key)) if counts else None
        share = counts[label] / len(rows) if label is not None else 0.0
        if not self.agreement[0] <= share <= self.agreement[1]:
            return [None] * len(rows)
        kept = self._kept(texts, keys, counts, label)
        return [
            (self.agree if label is not None and key == label else self.differ)
            if index in kept
            else None
            for index, key in enumerate(keys)
        ]

    def _kept(
        self,
        texts: Sequence[str],
        keys: Sequence[str | None],
        counts: Counter[str],
        label: str | None,
    ) -> set[int]:
        if self.keep is None or self.keep >= len(keys):
            return set(range(len(keys)))
        ordered = sorted(
            range(len(keys)),
            key=lambda index: (
                -counts[key] if (key := keys[index]) is not None else 0,
                key != label,
                _digest(texts[index]),
            ),
        )
        best = min(counts[label] if label is not None else 0, self.keep // 2)
        return {*ordered[:best], *ordered[best - self.keep :]}


def _digest(text: str) -> bytes:
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).digest()
