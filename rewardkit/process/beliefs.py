"""Belief probing: how likely the model finds the right answer after each step."""

import math
from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import NamedTuple, Protocol

from rewardkit.errors import ConfigError
from rewardkit.process.scores import StepScores
from rewardkit.process.segmentation import Segmentation, StepTokens

__all__ = ["Beliefs", "LogProb", "Scorer", "belief_advantages", "probe_beliefs"]


class LogProb(NamedTuple):
    """The log-probability of a continuation."""

    total: float
    """In nats, over all of its tokens."""
    tokens: int


class Scorer(Protocol):
    """Scores continuations: `TransformersScorer`, or a server that gives log-probabilities."""

    def __call__(self, pairs: Sequence[tuple[str, str]], /) -> Sequence[LogProb]:
        """Returns log p(continuation | prefix) of each pair, in order."""
        ...


@dataclass(frozen=True, slots=True)
class Beliefs:
    """C_0 to C_K: the probability of the right answer before the first step and after each.

    >>> Beliefs((0.25, 0.5, 0.75)).progress.values
    (0.25, 0.25)
    """

    values: tuple[float, ...]

    @property
    def progress(self) -> StepScores:
        """What each step adds: C_k - C_(k-1); they add up to C_K - C_0."""
        steps = pairwise(self.values)
        return StepScores(tuple(after - before for before, after in steps), "progress")


def probe_beliefs(
    prompts: Sequence[str],
    steps: Sequence[Segmentation],
    answers: Sequence[str],
    scorer: Scorer,
    *,
    glue: str = "\n\nThe answer is ",
    by_token: bool = False,
) -> list[Beliefs]:
    """Returns the belief in the right answer at every step's end, in one call of the scorer.

    C_k = p(answer | prompt, first k steps, glue) (GRPO-VPS, arXiv:2604.20659). Equal questions are
    asked once, such as C_0 of one prompt's completions.

    Args:
        prompts: (B,) as the model reads them.
        steps: (B,) of each completion.
        answers: (B,) right answers.
        scorer: of the policy.
        glue: what stands between the prefix and the answer.
        by_token: take the geometric mean over the answer's tokens, exp(total / tokens): the plain
            probability of a long answer is near 0 whatever the steps say. The paper takes the
            plain one.

    Raises:
        ConfigError: the lists differ in length, an answer is empty, or the scorer's list is short.
    """
    if not len(prompts) == len(steps) == len(answers):
        raise ConfigError("prompts, steps and answers have one entry a completion")
    if not all(answers):
        raise ConfigError("an answer is empty: there is nothing to believe in")
    asked = [
        [(prompt + prefix + glue, answer) for prefix in own.prefixes]
        for prompt, own, answer in zip(prompts, steps, answers, strict=True)
    ]
    unique = list(dict.fromkeys(pair for row in asked for pair in row))
    scored = list(scorer(unique)) if unique else []
    if len(scored) != len(unique):
        raise ConfigError(f"the scorer returned {len(scored)} numbers for {len(unique)} pairs")
    known = {
        pair: math.exp(found.total / max(found.tokens, 1) if by_token else found.total)
        for pair, found in zip(unique, scored, strict=True)
    }
    return [Beliefs(tuple(min(known[pair], 1.0) for pair in row)) for row in asked]


def belief_advantages(
    rewards: Sequence[float | None],
    groups: Sequence[Hashable],
    beliefs: Sequence[Beliefs],
    tokens: Sequence[StepTokens],
    *,
    alpha: float = 1.2,
) -> list[list[float]]:
    """Returns token advantages A_k = (r - mean r) + alpha (C_k - C_(k-1)) (GRPO-VPS).

    The progress telescopes (equation 4). No deviation divides, and the step term is not
    centred: however a completion is cut, its steps share C_K - C_0. An undecided row gets 0.

    Args:
        rewards: (B,) outcomes.
        groups: (B,) ids.
        beliefs: (B,) of K + 1 values each.
        tokens: (B,) of K steps each.
        alpha: the paper's 1.2.

    Raises:
        ConfigError: the lists do not fit each other.
    """
    from rewardkit.advantages import estimate_advantages
    from rewardkit.process.credit import step_tokens

    if not len(rewards) == len(beliefs) == len(tokens):
        raise ConfigError("rewards, beliefs and tokens have one entry a completion")
    plain = estimate_advantages(rewards, groups, estimator="mean")
    found = []
    for value, decided, belief, own in zip(
        plain.values, plain.decided, beliefs, tokens, strict=True
    ):
        progress = step_tokens([v or 0.0 for v in belief.progress.values], own)
        found.append([value + alpha * p if decided else 0.0 for p in progress])
    return found
