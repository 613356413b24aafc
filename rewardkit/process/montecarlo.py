"""What a prefix is worth by completing it: Monte-Carlo values of steps, and a binary search."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol, TypeAlias

from rewardkit.errors import ConfigError
from rewardkit.process.scores import StepScores
from rewardkit.process.segmentation import Segmentation

__all__ = [
    "Check",
    "CompletionValues",
    "FirstError",
    "Sampler",
    "completion_values",
    "exploration_bonus",
    "locate_first_error",
    "rollout_value",
]

Check: TypeAlias = Callable[[str], float | None]
"""Takes a whole completion; returns its score (1 is right), or None for undecided."""


class Sampler(Protocol):
    """Completes prefixes: any policy, behind one function."""

    def __call__(self, prompt: str, prefix: str, n: int, /) -> Sequence[str]:
        """Returns n continuations of `prefix`, the completion of `prompt` so far."""
        ...


@dataclass(frozen=True, slots=True)
class CompletionValues:
    """How many continuations of each prefix came out right."""

    right: tuple[int, ...]
    """(K,) after each step."""
    decided: tuple[int, ...]
    """(K,) continuations that could be decided."""

    def soft(self) -> StepScores:
        """Returns the share of right continuations (Math-Shepherd's soft estimate)."""
        return StepScores(
            tuple(c / n if n else None for c, n in zip(self.right, self.decided, strict=True))
        )

    def hard(self) -> StepScores:
        """Returns 1 where any continuation is right, else 0 (Math-Shepherd's hard estimate)."""
        return StepScores(
            tuple(
                float(c > 0) if n else None for c, n in zip(self.right, self.decided, strict=True)
            ),
            "label",
        )


def completion_values(
    prompt: str, steps: Segmentation, sampler: Sampler, check: Check, *, n: int = 8
) -> CompletionValues:
    """Returns the Monte-Carlo value of the prefix that ends with each step.

    From each prefix n continuations are drawn: hard = 1 if one is right, soft = the share that is
    (Math-Shepherd, arXiv:2312.08935, equations 3 and 4). The last prefix is the whole completion,
    which is checked as it stands.

    Args:
        prompt: the task.
        steps: of one completion.
        sampler: draws continuations.
        check: says whether a whole completion is right.
        n: continuations a prefix.
    """
    right, decided = [], []
    for prefix in steps.prefixes[1:]:
        whole = prefix == steps.text
        found = [check(prefix)] if whole else _draw(prompt, prefix, sampler, check, n)
        known = [score for score in found if score is not None]
        right.append(sum(score >= 1 for score in known))
        decided.append(len(known))
    return CompletionValues(tuple(right), tuple(decided))


@dataclass(frozen=True, slots=True)
class FirstError:
    """Where a completion leaves the right way."""

    step: int | None
    """The first step from which no continuation came out right; None if there is none."""
    queries: int
    """Prefixes that were completed."""
    undecided: bool = False
    """True if a prefix had no decided continuation: then `step` is None and says nothing."""


def locate_first_error(
    prompt: str, steps: Segmentation, sampler: Sampler, check: Check, *, n: int = 8
) -> FirstError:
    """Returns the first step after which no continuation is right, by binary search.

    A prefix is good if one of n continuations is right. As if a good prefix had only good ones
    before it, ceil(log2 K) prefixes are completed in place of K (OmegaPRM, arXiv:2406.06592,
    section 3.2). A completion that is itself right has no error.

    Args:
        prompt: as in `completion_values`.
        steps: as there.
        sampler: as there.
        check: as there.
        n: as there.
    """
    whole = check(steps.text)
    if not len(steps) or whole is None or whole >= 1:
        return FirstError(None, 0, undecided=whole is None)
    good, bad, queries = 0, len(steps), 0  # prefixes of 0 steps and of all of them
    while bad - good > 1:
        middle = (good + bad) // 2
        prefix = steps.text[: steps.bounds[middle]]
        known = [s for s in _draw(prompt, prefix, sampler, check, n) if s is not None]
        queries += 1
        if not known:
            return FirstError(None, queries, undecided=True)
        if any(score >= 1 for score in known):
            good = middle
        else:
            bad = middle
    return FirstError(bad - 1, queries)


def rollout_value(
    mc: float, length: float, *, alpha: float = 0.5, beta: float = 0.9, longest: float = 500.0
) -> float:
    """Returns Q = alpha^(1 - MC) beta^(length / L): which rollout OmegaPRM looks into next.

    High for a rollout of a state that is mostly right and that is short: a likely single error.
    Source: arXiv:2406.06592, section 3.3, with its alpha 0.5, beta 0.9, L 500.

    Args:
        mc: share of right continuations of the state, in [0, 1].
        length: of the rollout.
        alpha: in (0, 1].
        beta: in (0, 1].
        longest: L, above 0.
    """
    if not (0 <= mc <= 1 and length >= 0 and 0 < alpha <= 1 and 0 < beta <= 1 and longest > 0):
        raise ConfigError("mc is in [0, 1], alpha and beta in (0, 1], lengths not negative")
    return float(alpha ** (1 - mc) * beta ** (length / longest))


def exploration_bonus(visits: int, all_visits: int, *, c_puct: float = 0.125) -> float:
    """Returns U = c sqrt(sum of visits) / (1 + visits): what is added to Q (OmegaPRM, as above)."""
    if visits < 0 or all_visits < visits:
        raise ConfigError("visits are counts, and all of them at least those of one state")
    return float(c_puct * all_visits**0.5 / (1 + visits))


def _draw(prompt: str, prefix: str, sampler: Sampler, check: Check, n: int) -> list[float | None]:
    if n < 1:
        raise ConfigError(f"n is at least 1, not {n}")
    return [check(prefix + continuation) for continuation in sampler(prompt, prefix, n)]
