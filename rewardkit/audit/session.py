"""The reward in a worker that can be killed, and how the audit talks to it."""

import math
import tempfile
import time
import zlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from types import TracebackType
from typing import Any, Self

from rewardkit.audit import _jobs, _jobs_effects, _jobs_state
from rewardkit.audit._jobs import BatchResult, Cell, Description
from rewardkit.audit._subject import Case, Spec
from rewardkit.errors import ConfigError
from rewardkit.runtime import Outcome, OutcomeStatus, WorkerPool

__all__ = ["Session"]

_FATES = {
    OutcomeStatus.TIMEOUT: "timeout",
    OutcomeStatus.CRASH: "crash",
    OutcomeStatus.MEMORY: "memory",
}


class Session:
    """One reward under audit: every call runs in one reused worker, which is replaced if it dies.

    Args:
        spec: which reward.
        timeout_s: seconds that a call may take.
        memory_mb: private memory of the worker, in MiB.
        environment: variables that are set in the worker before the reward is loaded.
    """

    def __init__(
        self,
        spec: Spec,
        *,
        timeout_s: float = 12.0,
        memory_mb: int = 2048,
        environment: Mapping[str, str] | None = None,
    ) -> None:
        self.spec = spec
        self.chat = False
        """True if completions are sent as message lists."""
        self.timeout_s = timeout_s
        self.memory_mb = memory_mb
        self.calls = 0
        """Calls of the reward so far."""
        self.seconds = 0.0
        """Time spent in them."""
        self._folder = tempfile.TemporaryDirectory(prefix="rewardkit-audit-")
        self._pool = WorkerPool(
            workers=1,
            memory_mb=memory_mb,
            max_tasks=10**6,
            preload=(_jobs.__name__, _jobs_effects.__name__, _jobs_state.__name__),
            initializer=_jobs.settle,
            initargs=(self._folder.name, dict(environment or {})),
        )

    def describe(self) -> Description:
        """Returns what can be known without a call.

        Raises:
            ConfigError: the reward cannot be loaded.
        """
        outcome = self._pool.call(_jobs.describe, self.spec, timeout_s=120.0)
        if outcome.value is None:
            raise ConfigError(f"{self.spec.place}:{self.spec.name}: {outcome.detail}")
        return outcome.value

    def score(
        self,
        batches: Sequence[Sequence[Case]],
        *,
        stray: dict[str, Any] | None = None,
        timeout_s: float | None = None,
    ) -> list[BatchResult]:
        """Returns what the reward says about each batch, one call of it for each."""
        self.calls += len(batches)
        outcome = self._run(_jobs.score, list(batches), stray, timeout_s=timeout_s)
        results: list[BatchResult] | None = outcome.value
        return [_lost(outcome)] * len(batches) if results is None else results

    def row(self, case: Case, *, timeout_s: float | None = None) -> BatchResult:
        """Returns what the reward says about one row alone."""
        return self.score([[case]], timeout_s=timeout_s)[0]

    def rows(self, cases: Sequence[Case]) -> list[BatchResult]:
        """Returns what the reward says about rows that are scored one by one.

        If one of them ends the process, the rest is asked apart, so that each has its own fate.
        """
        results = self.score([[case] for case in cases], timeout_s=1.5 * self.timeout_s)
        if len(cases) == 1 or not any(result.fate for result in results):
            return results
        found: list[BatchResult] = []
        for case in cases:
            found.append(self.row(case))
            if found[-1].fate:  # one is enough: each costs a process
                return [
                    *found,
                    *[BatchResult(error="not asked", refused=True)] * (len(cases) - len(found)),
                ]
        return found

    def value(self, text: str, reference: Any, prompt: Any = None) -> float | None:
        """Returns the number that a completion gets; None for anything but a finite number."""
        result = self.row(self.case(text, reference, prompt))
        if not result.ok or not result.cells[0].finite:
            return None
        return result.cells[0].value

    def case(self, text: str, reference: Any, prompt: Any = None) -> Case:
        """Returns a row with its texts in the shape that this reward reads."""
        asked = _prompt_of(reference) if prompt is None else prompt
        if self.chat:
            return Case(
                [{"role": "assistant", "content": text}],
                reference,
                [{"role": "user", "content": asked}],
            )
        return Case(text, reference, asked)

    def mutations(self, cases: Sequence[Case]) -> list[str]:
        """Returns which inputs the reward changes."""
        return self._run(_jobs_state.mutations, list(cases)).value or []

    def effects(self, cases: Sequence[Case]) -> list[str]:
        """Returns what of the process is different after a call."""
        return self._run(_jobs_effects.effects, list(cases)).value or []

    def elsewhere(self, where: str, cases: Sequence[Case]) -> BatchResult:
        """Returns what the reward says `threaded`, `pickled`, `daemonic` or `forked`."""
        job: Callable[..., BatchResult] = getattr(_jobs_state, where)
        outcome: Outcome[BatchResult] = self._run(job, list(cases), timeout_s=2 * self.timeout_s)
        return outcome.value or _lost(outcome)

    def concurrent(self, batches: Sequence[Sequence[Case]], rounds: int) -> list[BatchResult]:
        """Returns results of calls side by side; those that differ from the serial ones if any."""
        outcome = self._run(
            _jobs_state.concurrent, list(batches), rounds, timeout_s=3 * self.timeout_s
        )
        return outcome.value or [_lost(outcome)] * len(batches)

    def fresh(self, batches: Sequence[Sequence[Case]], hash_seed: int) -> list[BatchResult]:
        """Returns what the reward says in a new interpreter."""
        outcome = self._run(_jobs_state.fresh, list(batches), hash_seed, timeout_s=60.0)
        return outcome.value or [_lost(outcome)] * len(batches)

    def restart(self) -> None:
        """Ends the worker, so that the next call meets a reward that was never called."""
        self._pool.close()

    def as_batches(self, *, batched: bool) -> None:
        """Settles by what shape the reward is called."""
        self.spec = replace(self.spec, batched=batched)

    def close(self) -> None:
        """Ends the worker, and removes its folder."""
        self._pool.close()
        self._folder.cleanup()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def _run(
        self, job: Callable[..., Any], *args: Any, timeout_s: float | None = None
    ) -> Outcome[Any]:
        started = time.perf_counter()
        outcome = self._pool.call(job, self.spec, *args, timeout_s=timeout_s or self.timeout_s)
        self.seconds += time.perf_counter() - started
        return outcome


_TREES = (
    "alder ash beech birch cedar elm fir hazel hornbeam larch lime maple oak pine rowan yew".split()
)


def _prompt_of(reference: Any) -> str:
    """Returns a prompt that rows of one reference share, as in training, and others do not."""
    tree = _TREES[zlib.crc32(repr(reference).encode("utf-8", "replace")) % len(_TREES)]
    return f"Solve the task of the {tree}."


def _lost(outcome: Outcome[Any]) -> BatchResult:
    return BatchResult(error=outcome.detail, fate=_FATES.get(outcome.status, ""), lost=True)


def same(left: Sequence[Cell], right: Sequence[Cell]) -> bool:
    """Returns whether two rows of cells are the same numbers; NaN is like NaN."""
    return len(left) == len(right) and all(
        a == b or repr(a) == repr(b) or _close(a, b) for a, b in zip(left, right, strict=True)
    )


def _close(a: Cell, b: Cell) -> bool:
    """Returns whether two numbers differ by rounding alone, as sums in another order do."""
    if a.value is None or b.value is None or a.wrong != b.wrong:
        return False
    return math.isclose(a.value, b.value, rel_tol=1e-12, abs_tol=1e-15)
