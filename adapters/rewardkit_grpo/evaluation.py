"""Evaluation: pass@k without bias."""

import math
from collections.abc import Callable, Sequence

from rewardkit.errors import ConfigError
from rewardkit_grpo import parallel
from rewardkit_grpo.actor import Actor, Rollouts
from rewardkit_grpo.data import Prompt
from rewardkit_grpo.scoring import Scored

__all__ = ["evaluate", "pass_at_k", "pass_metrics"]


def pass_at_k(samples: int, passed: int, k: int) -> float:
    """Returns the probability that one of k completions passes, estimated from more of them.

    1 - C(n - c, k) / C(n, k) (Chen et al. 2021, arXiv:2107.03374, equation 1): the mean over all
    subsets of k of the n samples, and so unbiased.

    Args:
        samples: n, at least k.
        passed: c of them passed.
        k: at least 1.

    Raises:
        ConfigError: the numbers do not fit each other.

    >>> pass_at_k(4, 1, 2)
    0.5
    """
    if not (1 <= k <= samples and 0 <= passed <= samples):
        raise ConfigError(f"pass@{k} of {passed} passed in {samples}: give 1 <= k <= samples")
    return 1 - math.comb(samples - passed, k) / math.comb(samples, k)


def evaluate(
    actor: Actor,
    score: Callable[[Rollouts], Scored],
    prompts: Sequence[Prompt],
    *,
    updates: int,
    samples: int,
    ks: Sequence[int],
) -> dict[str, float]:
    """Returns what the policy of now does on some prompts; all ranks call it and share them.

    Args:
        actor: samples.
        score: says what completions are worth.
        prompts: of the evaluation set, not empty.
        updates: optimizer steps done.
        samples: completions of each prompt.
        ks: of pass@k.
    """
    actor.generator.refresh(updates)
    own = range(parallel.rank(), len(prompts), parallel.world_size())
    rollouts = actor.sample(
        [prompts[i] for i in own], group_size=samples, stream=-1, groups=own, explore=False
    )
    scores = score(rollouts).result.scores
    by_prompt = [scores[i : i + samples] for i in range(0, len(scores), samples)]
    of_all = parallel.gather(by_prompt)
    return pass_metrics(of_all, ks)


def pass_metrics(scores: Sequence[Sequence[float | None]], ks: Sequence[int]) -> dict[str, float]:
    """Returns the mean reward and pass@k.

    A completion passes if its reward is 1 or more; one that is undecided does not.

    Args:
        scores: of each prompt's completions, as many for each.
        ks: each at most that number.
    """
    plain = [[score or 0.0 for score in own] for own in scores]
    count = len(plain[0])
    passed = [sum(score >= 1 for score in own) for own in plain]
    found = {"eval/reward": sum(map(sum, plain)) / (len(plain) * count)}
    for k in ks:
        found[f"eval/pass@{k}"] = sum(pass_at_k(count, own, k) for own in passed) / len(passed)
    return found
