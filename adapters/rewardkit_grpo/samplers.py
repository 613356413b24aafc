"""Which prompts come next. Every sampler's state is plain data, so that a run resumes exactly."""

import heapq
import math
import random
from collections.abc import Sequence
from typing import Any, Protocol

from rewardkit_grpo.config import GRPOConfig

__all__ = [
    "AdaRFTSampler",
    "FrontierSampler",
    "HitRateSampler",
    "PlainSampler",
    "ReplaySampler",
    "Sampler",
    "make_sampler",
]


class Sampler(Protocol):
    """Draws prompts by index and sees how they went."""

    def draw(self, count: int, rng: random.Random) -> list[int]:
        """Returns `count` indices; different ones where there are so many."""
        ...

    def observe(self, indices: Sequence[int], rewards: Sequence[float | None]) -> None:
        """Takes the mean reward of each drawn prompt's group; None where nothing was decided."""
        ...

    def state(self) -> dict[str, Any]:
        """Returns all that `restore` needs, as plain data."""
        ...

    def restore(self, state: dict[str, Any]) -> None:
        """Goes on from what `state` returned."""
        ...


class PlainSampler:
    """Every prompt once an epoch, in an order that is new each time."""

    def __init__(self, size: int) -> None:
        self.size = size
        self.left: list[int] = []

    def draw(self, count: int, rng: random.Random) -> list[int]:
        """Returns the next prompts of the epoch."""
        drawn: list[int] = []
        while len(drawn) < count:
            if not self.left:
                self.left = list(range(self.size))
                rng.shuffle(self.left)
            drawn.append(self.left.pop())
        return drawn

    def observe(self, indices: Sequence[int], rewards: Sequence[float | None]) -> None:
        """Takes no notice."""

    def state(self) -> dict[str, Any]:
        """Returns what is left of the epoch."""
        return {"left": list(self.left)}

    def restore(self, state: dict[str, Any]) -> None:
        """Goes on in that epoch."""
        self.left = list(state["left"])


class HitRateSampler:
    """Prompts whose mean reward is inside a band: neither solved nor out of reach.

    Prompts that were never tried count as inside. One in twenty draws is from all prompts, so that
    what has left the band is seen again.

    Args:
        size: of the data set.
        band: lowest and highest mean reward.
        decay: weight of the past in each prompt's moving average.
    """

    def __init__(
        self, size: int, *, band: tuple[float, float] = (0.1, 0.9), decay: float = 0.5
    ) -> None:
        self.size, self.band, self.decay = size, band, decay
        self.rates: dict[int, float] = {}

    def draw(self, count: int, rng: random.Random) -> list[int]:
        """Returns prompts of the band, and others where it holds too few."""
        low, high = self.band
        inside = [i for i in range(self.size) if low <= self.rates.get(i, low) <= high]
        again = [i for i in range(self.size) if rng.random() < 0.05]
        pool = dict.fromkeys([*again, *rng.sample(inside, len(inside))])
        rest = [i for i in rng.sample(range(self.size), self.size) if i not in pool]
        return _first(count, [*pool, *rest])

    def observe(self, indices: Sequence[int], rewards: Sequence[float | None]) -> None:
        """Moves the averages."""
        for index, reward in zip(indices, rewards, strict=True):
            if reward is not None:
                old = self.rates.get(index, reward)
                self.rates[index] = self.decay * old + (1 - self.decay) * reward

    def state(self) -> dict[str, Any]:
        """Returns the averages."""
        return {"rates": [[index, rate] for index, rate in sorted(self.rates.items())]}

    def restore(self, state: dict[str, Any]) -> None:
        """Goes on with those averages."""
        self.rates = {int(index): rate for index, rate in state["rates"]}


class AdaRFTSampler(HitRateSampler):
    """Prompts of a difficulty that follows the model (AdaRFT, arXiv:2504.05520).

    After each step T <- clip(T + step tanh(slope (R - target)), 0, 1) with R the mean reward: a
    model that does better than the target gets harder prompts. The prompts nearest to T come next.

    Args:
        size: of the data set.
        difficulties: in [0, 1] by prompt; None to take 1 - the mean reward seen, 0.5 unseen.
        target: mean reward that is aimed at.
        step: largest change of T.
        slope: how sharp it reacts.
    """

    def __init__(
        self,
        size: int,
        *,
        difficulties: Sequence[float] | None = None,
        target: float = 0.5,
        step: float = 0.05,
        slope: float = 2.0,
    ) -> None:
        super().__init__(size)
        self.difficulties = difficulties
        self.target, self.step, self.slope = target, step, slope
        self.difficulty = 0.0 if difficulties is not None else 0.5
        """T: where the next prompts are taken from."""

    def draw(self, count: int, rng: random.Random) -> list[int]:
        """Returns the prompts nearest to the difficulty; ties in random order."""
        order = rng.sample(range(self.size), self.size)
        return _first(count, sorted(order, key=lambda i: abs(self._of(i) - self.difficulty)))

    def observe(self, indices: Sequence[int], rewards: Sequence[float | None]) -> None:
        """Moves the difficulty, and the averages."""
        super().observe(indices, rewards)
        present = [reward for reward in rewards if reward is not None]
        if present:
            gap = math.fsum(present) / len(present) - self.target
            moved = self.difficulty + self.step * math.tanh(self.slope * gap)
            self.difficulty = min(max(moved, 0.0), 1.0)

    def state(self) -> dict[str, Any]:
        """Returns the difficulty and the averages."""
        return {**super().state(), "difficulty": self.difficulty}

    def restore(self, state: dict[str, Any]) -> None:
        """Goes on from there."""
        super().restore(state)
        self.difficulty = state["difficulty"]

    def _of(self, index: int) -> float:
        if self.difficulties is not None:
            return self.difficulties[index]
        return 1 - self.rates.get(index, 0.5)


class FrontierSampler(HitRateSampler):
    """A heap of prompts, nearest to the target rate first, as HeaPA has it (arXiv:2601.22448).

    A prompt's key is how far its mean reward is from the target, less a bonus that grows with the
    draws since it was last seen. The heap's on-policy growth of the pool is not part of it.

    Args:
        size: of the data set.
        target: the rate at the frontier.
        bonus: a draw's worth of not having been seen.
    """

    def __init__(self, size: int, *, target: float = 0.5, bonus: float = 0.01) -> None:
        super().__init__(size)
        self.target, self.bonus = target, bonus
        self.seen: dict[int, int] = {}
        self.clock = 0

    def draw(self, count: int, rng: random.Random) -> list[int]:
        """Returns the top of the heap; ties in random order."""
        heap = [(self._key(i), rng.random(), i) for i in range(self.size)]
        drawn = [i for _, _, i in heapq.nsmallest(min(count, self.size), heap)]
        self.clock += 1
        self.seen.update(dict.fromkeys(drawn, self.clock))
        return _first(count, drawn)

    def state(self) -> dict[str, Any]:
        """Returns the averages and when each prompt was seen."""
        seen = [[index, when] for index, when in sorted(self.seen.items())]
        return {**super().state(), "seen": seen, "clock": self.clock}

    def restore(self, state: dict[str, Any]) -> None:
        """Goes on from there."""
        super().restore(state)
        self.seen = {int(index): int(when) for index, when in state["seen"]}
        self.clock = int(state["clock"])

    def _key(self, index: int) -> float:
        away = abs(self.rates.get(index, self.target) - self.target)
        return away - self.bonus * (self.clock - self.seen.get(index, 0))


class ReplaySampler:
    """Another sampler, with a share of draws from prompts whose successes are rare.

    A prompt is rare while the mean reward of its last group was above 0 and at most 0.25.

    Args:
        inner: draws the rest.
        share: of each draw, rounded down.
    """

    def __init__(self, inner: Sampler, *, share: float) -> None:
        self.inner, self.share = inner, share
        self.rare: list[int] = []

    def draw(self, count: int, rng: random.Random) -> list[int]:
        """Returns rare prompts first."""
        again = rng.sample(self.rare, min(int(self.share * count), len(self.rare)))
        return [*again, *self.inner.draw(count - len(again), rng)]

    def observe(self, indices: Sequence[int], rewards: Sequence[float | None]) -> None:
        """Notes which prompts are rare, and tells the other sampler."""
        self.inner.observe(indices, rewards)
        for index, reward in zip(indices, rewards, strict=True):
            if reward is None:
                continue
            if index in self.rare:
                self.rare.remove(index)
            if 0 < reward <= 0.25:
                self.rare.append(index)

    def state(self) -> dict[str, Any]:
        """Returns both states."""
        return {"rare": list(self.rare), "inner": self.inner.state()}

    def restore(self, state: dict[str, Any]) -> None:
        """Goes on from there."""
        self.rare = list(state["rare"])
        self.inner.restore(state["inner"])


def make_sampler(
    config: GRPOConfig, size: int, difficulties: Sequence[float] | None = None
) -> Sampler:
    """Returns the sampler that a config names."""
    made: Sampler
    if config.sampler == "hit_rate":
        made = HitRateSampler(size, band=config.hit_rate_band)
    elif config.sampler == "adarft":
        made = AdaRFTSampler(size, difficulties=difficulties, target=config.target_difficulty)
    elif config.sampler == "frontier":
        made = FrontierSampler(size, target=config.target_difficulty)
    else:
        made = PlainSampler(size)
    return ReplaySampler(made, share=config.replay_share) if config.replay_share else made


def _first(count: int, ordered: Sequence[int]) -> list[int]:
    """Returns the first `count`, over again where there are fewer."""
    return [ordered[i % len(ordered)] for i in range(count)]
