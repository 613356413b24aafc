"""Did the model know the benchmark? It gets the first part of a prompt, and is to write the rest.

Source: Reasoning or Memorization, arXiv 2507.10532: the partial-prompt completion rate, there with
the first 60 % of each question and greedy decoding.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from rewardkit.errors import ConfigError
from rewardkit.noise import Interval, wilson_interval

__all__ = ["Completed", "Contamination", "Sampler", "probe_contamination", "split_prompt"]

_WORD = re.compile(r"\s*\S+")
_MAX_WORDS = 2000


class Sampler(Protocol):
    """What continues texts: a model with greedy decoding and without a chat template."""

    def __call__(self, texts: Sequence[str], /, *, max_chars: int) -> Sequence[str]:
        """Returns for each text what comes after it, without the text itself.

        Args:
            texts: what is to be continued.
            max_chars: as much as is read; more does no harm.
        """
        ...


@dataclass(frozen=True, slots=True)
class Completed:
    """One prompt of the probe."""

    prompt: str
    shown: str
    """The first part, which the model was given."""
    hidden: str
    """The rest."""
    written: str
    """What the model wrote, as far as it was read."""
    verbatim: bool
    """It begins with the rest, but for the width of white space."""
    overlap: float
    """The share of the rest's words that it has in the same order (ROUGE-L's recall), in [0, 1]."""


@dataclass(frozen=True, slots=True)
class Contamination:
    """How much of a benchmark a model completes."""

    rows: list[Completed]
    skipped: int
    """Prompts too short to be cut."""
    confidence: float

    @property
    def verbatim(self) -> int:
        """Prompts whose rest it wrote word for word."""
        return sum(row.verbatim for row in self.rows)

    @property
    def rate(self) -> float | None:
        """Share of them; None without a prompt."""
        return self.verbatim / len(self.rows) if self.rows else None

    @property
    def interval(self) -> Interval:
        """Wilson's interval of the rate."""
        return wilson_interval(self.verbatim, len(self.rows), self.confidence)

    @property
    def overlap(self) -> float | None:
        """Mean overlap; None without a prompt."""
        return sum(row.overlap for row in self.rows) / len(self.rows) if self.rows else None


def split_prompt(prompt: str, *, share: float = 0.6, min_words: int = 5) -> tuple[str, str] | None:
    """Returns a prompt's first part and the rest, cut between words; None if either is too short.

    Args:
        prompt: the text.
        share: of the words that come first, in (0, 1).
        min_words: fewest words of either part; fewer could be guessed.

    >>> split_prompt("one two three four five", min_words=2)
    ('one two three', ' four five')

    Raises:
        ConfigError: the share or the number is impossible.
    """
    if not 0 < share < 1:
        raise ConfigError(f"share is in (0, 1), not {share!r}")
    if min_words < 1:
        raise ConfigError(f"min_words is at least 1, not {min_words!r}")
    words = list(_WORD.finditer(prompt))
    first = round(share * len(words))
    if min(first, len(words) - first) < min_words:
        return None
    cut = words[first].start()
    return prompt[:cut], prompt[cut:].rstrip()


def probe_contamination(
    prompts: Sequence[str],
    sampler: Sampler,
    *,
    share: float = 0.6,
    min_words: int = 5,
    batch_size: int = 16,
    confidence: float = 0.95,
) -> Contamination:
    """Returns how often the model completes a prompt's second part word for word.

    Args:
        prompts: the benchmark's questions as they were published, without a template.
        sampler: continues texts.
        share: of the words that are shown.
        min_words: fewest words of either part; shorter prompts are left out.
        batch_size: texts in one call of the sampler.
        confidence: of the interval.

    Raises:
        ConfigError: an option is impossible, or the sampler does not return one text for each.

    >>> def knows_it(texts, /, *, max_chars):
    ...     return [" many apples does she have left in the end?" for _ in texts]
    >>> prompt = (
    ...     "Ann has 7 apples and eats 2 of them. How many apples does she have left in the end?"
    ... )
    >>> found = probe_contamination([prompt], knows_it, share=0.55)
    >>> found.rate, round(found.interval.low, 2)
    (1.0, 0.21)
    """
    if batch_size < 1:
        raise ConfigError(f"batch_size is at least 1, not {batch_size!r}")
    parts = [split_prompt(prompt, share=share, min_words=min_words) for prompt in prompts]
    asked = [(p, *part) for p, part in zip(prompts, parts, strict=True) if part is not None]
    rows: list[Completed] = []
    for start in range(0, len(asked), batch_size):
        batch = asked[start : start + batch_size]
        limit = 2 * max(len(hidden) for _, _, hidden in batch) + 16
        written = sampler([shown for _, shown, _ in batch], max_chars=limit)
        if isinstance(written, str) or len(written) != len(batch):
            raise ConfigError(f"the sampler is to return one text for each of {len(batch)}")
        rows += [
            _compared(prompt, shown, hidden, text[:limit])
            for (prompt, shown, hidden), text in zip(batch, written, strict=True)
        ]
    return Contamination(rows, len(prompts) - len(asked), confidence)


def _compared(prompt: str, shown: str, hidden: str, written: str) -> Completed:
    wanted, got = hidden.split(), written.split()
    common = _longest_common(wanted[:_MAX_WORDS], got[:_MAX_WORDS])
    overlap = common / min(len(wanted), _MAX_WORDS)
    return Completed(prompt, shown, hidden, written, got[: len(wanted)] == wanted, overlap)


def _longest_common(one: Sequence[str], two: Sequence[str]) -> int:
    """The length of the longest common subsequence."""
    row = [0] * (len(two) + 1)
    for word in one:
        before = 0
        for place, other in enumerate(two, 1):
            above = row[place]
            row[place] = before + 1 if word == other else max(above, row[place - 1])
            before = above
    return row[-1]
