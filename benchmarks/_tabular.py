"""A tabular policy whose clean gradient is known exactly, and noisy verifiers of it.

A prompt is a row of logits and a response is one action. The clean objective is the mean pass rate,
so its gradient is written down; what an estimator gives is compared with that.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from rewardkit.noise import Channel, Rates

__all__ = ["Batch", "Direction", "World", "hackable", "heavy", "iid", "measure", "two_verifiers"]

Array = NDArray[np.float64]
GROUP = 8


@dataclass(frozen=True, slots=True)
class World:
    """A policy, the truth, and how likely the verifier accepts each response."""

    name: str
    policy: Array
    """(prompts, actions) probabilities."""
    right: Array
    """(prompts, actions) 1 where the response is right."""
    accepts: Array
    """(prompts, actions) probability that the verifier accepts it."""
    strata: tuple[str, ...]
    """(prompts,) which verifier grades a prompt."""
    channel: Channel
    """The rates as an honest audit would find them, overall and by stratum."""

    def clean_gradient(self) -> Array:
        """Returns the gradient of the mean pass rate in the logits, (prompts, actions)."""
        pass_rate = (self.policy * self.right).sum(1, keepdims=True)
        return self.policy * (self.right - pass_rate) / len(self.policy)

    def sample(self, rng: np.random.Generator, groups: int) -> "Batch":
        """Returns `groups` groups for each prompt."""
        prompts, actions = self.policy.shape
        prompt = np.repeat(np.arange(prompts), groups * GROUP)
        uniform = rng.random((len(prompt), 1))
        action = (uniform > self.policy.cumsum(1)[prompt]).sum(1).clip(max=actions - 1)
        accepted = rng.random(len(prompt)) < self.accepts[prompt, action]
        return Batch(self, prompt, action, accepted.astype(float), self.right[prompt, action])


@dataclass(frozen=True, slots=True)
class Batch:
    """Sampled rollouts, prompt by prompt and group by group."""

    world: World
    prompt: NDArray[np.int64]
    action: NDArray[np.int64]
    score: Array
    """The noisy verdicts, 0 or 1."""
    truth: Array

    @property
    def groups(self) -> list[int]:
        """The group of each rollout."""
        return list(np.arange(len(self.prompt)) // GROUP)

    @property
    def strata(self) -> list[str]:
        """The stratum of each rollout."""
        return [self.world.strata[x] for x in self.prompt]

    def gradients(self, coefficients: object) -> Array:
        """Returns the policy gradient of each group in its prompt's logits, (groups, actions)."""
        values = np.asarray(coefficients, dtype=float).reshape(-1, GROUP)
        prompts, actions = self.world.policy.shape
        one_hot = np.eye(actions)[self.action].reshape(-1, GROUP, actions)
        policy = self.world.policy[self.prompt[::GROUP]]
        sums = np.einsum("ng,nga->na", values, one_hot) - values.sum(1, keepdims=True) * policy
        return sums / GROUP / prompts


@dataclass(frozen=True, slots=True)
class Direction:
    """An estimator beside the exact clean gradient."""

    cosine: float
    scale: float
    """Length of its mean along the clean gradient, as a share of the clean one's."""
    snr: float
    """Squared length of the mean over the variance, for one group of each prompt."""
    error: float
    """Standard error of the cosine's numerator and of the scale: Monte-Carlo noise."""


def measure(batch: Batch, coefficients: object) -> Direction:
    """Returns how the gradient of these coefficients compares with the clean one."""
    clean = batch.world.clean_gradient()
    prompts, actions = clean.shape
    each = batch.gradients(coefficients).reshape(prompts, -1, actions)
    mean, variance = each.mean(1), each.var(1).sum()
    length = math.sqrt((clean**2).sum())
    found = math.sqrt((mean**2).sum())
    return Direction(
        cosine=float((mean * clean).sum() / (found * length)),
        scale=float((mean * clean).sum() / length**2),
        snr=float((mean**2).sum() / variance),
        error=math.sqrt(variance / each.shape[1]) / length,
    )


def _world(
    name: str,
    rates: Callable[[int, Array], tuple[float, float]],
    *,
    hacked: float | None = None,
    seed: int = 5,
    prompts: int = 8,
    actions: int = 6,
) -> World:
    rng = np.random.default_rng(seed)
    logits = rng.normal(size=(prompts, actions))
    policy = np.exp(logits) / np.exp(logits).sum(1, keepdims=True)
    right = np.zeros((prompts, actions))
    for x in range(prompts):
        right[x, rng.choice(actions, 1 + x % 2, replace=False)] = 1.0
    accepts = np.zeros_like(right)
    strata, by_name = [], {}
    for x in range(prompts):
        rho0, rho1 = rates(x, right)
        accepts[x] = np.where(right[x] == 1, 1 - rho1, rho0)
        strata.append(f"{rho0:g}/{rho1:g}")
        by_name[strata[-1]] = Rates.exact(rho0, rho1)
    if hacked is not None:
        for x in range(prompts):
            accepts[x, int(np.flatnonzero(right[x] == 0)[0])] = hacked
    wrong_mass, right_mass = policy * (1 - right), policy * right
    overall = Rates.exact(
        float((wrong_mass * accepts).sum() / wrong_mass.sum()),
        float((right_mass * (1 - accepts)).sum() / right_mass.sum()),
    )
    return World(name, policy, right, accepts, tuple(strata), Channel(overall, strata=by_name))


def iid() -> World:
    """One channel for all: the verifier errs on a tenth of the wrong, a fifth of the right."""
    return _world("one channel, .1/.2", lambda x, right: (0.1, 0.2))


def heavy() -> World:
    """One channel for all, with twice the errors."""
    return _world("one channel, .2/.4", lambda x, right: (0.2, 0.4))


def two_verifiers() -> World:
    """Half of the prompts have a verifier that keeps J = 1, the others one with J = 0.2."""
    return _world("two verifiers, J 1 and .2", lambda x, right: (0.3, 0.5) if x % 2 else (0.0, 0.0))


def hackable() -> World:
    """Of each prompt's wrong responses one has a format that is accepted 60 % of the time."""
    return _world("one wrong format passes 60 %", lambda x, right: (0.02, 0.1), hacked=0.6)
