"""A step's completions with what they are worth: generated and judged side by side."""

import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace

from rewardkit_grpo import parallel
from rewardkit_grpo.actor import Rollouts
from rewardkit_grpo.scoring import Scored

__all__ = ["Experience", "explore"]


@dataclass(frozen=True, slots=True)
class Experience:
    """Completions and their rewards, in the order of their groups."""

    rollouts: Rollouts
    scored: Scored
    generated_s: float
    """Wall time of generation."""
    waited_s: float
    """Wall time after it, until the last reward was there."""

    def gathered(self) -> "Experience":
        """Returns the experience of all ranks, in the order of the groups; all ranks call it."""
        if parallel.world_size() == 1:
            return self
        sent = replace(self.rollouts, logps=[[] for _ in self.rollouts.texts])
        parts = parallel.gather([replace(self, rollouts=sent)])
        rollouts = Rollouts.joined(part.rollouts for part in parts)
        scored = Scored.joined([part.scored for part in parts])
        scored.seconds = max(part.scored.seconds for part in parts)
        order = sorted(range(len(rollouts.groups)), key=rollouts.groups.__getitem__)
        return Experience(
            rollouts.taken(order),
            scored.taken(order),
            max(part.generated_s for part in parts),
            max(part.waited_s for part in parts),
        )


def explore(
    parts: Iterator[Rollouts], score: Callable[[Rollouts], Scored], *, overlap: bool
) -> Experience:
    """Returns some completions with their rewards.

    Args:
        parts: completions as they are generated.
        score: what they are worth.
        overlap: whether a part is judged, in a thread, while the next one is generated; else all
            are judged at once when all are there. One thread: parts are judged in their order.

    Raises:
        Exception: what generation or the reward raises.
    """
    start = time.perf_counter()
    if not overlap:
        rollouts = Rollouts.joined(parts)
        generated = time.perf_counter()
        scored = score(rollouts)
        end = time.perf_counter()
        return Experience(rollouts, scored, generated - start, end - generated)
    made: list[Rollouts] = []
    judge = ThreadPoolExecutor(1, thread_name_prefix="rewardkit-judge")
    try:
        waiting = []
        for part in parts:
            made.append(part)
            waiting.append(judge.submit(score, part))
        generated = time.perf_counter()
        found = [future.result() for future in waiting] or [score(Rollouts())]
    finally:
        # After an error nothing is left that nobody waits for.
        judge.shutdown(cancel_futures=True)
    end = time.perf_counter()
    return Experience(
        Rollouts.joined(made), Scored.joined(found), generated - start, end - generated
    )
