"""The same rows in the main thread, in threads, in asyncio, in other processes, in Ray actors."""

import asyncio
import importlib.util
import multiprocessing
from collections.abc import Callable, Sequence
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from typing import Any

from benchmarks._cases import Case
from rewardkit import MathVerifier, Verdict

__all__ = ["CONTEXTS", "Outcome", "run_in"]

Outcome = tuple[float | None, str, str | None]
"""Score, reason, graded span: what must not depend on where the verifier runs."""
_THREADS = 8


def run_in(context: str, cases: Sequence[Case]) -> list[Outcome]:
    """Returns what a lenient verifier says of each case when it is called from a context."""
    return CONTEXTS[context](cases)


def _outcome(verdict: Verdict) -> Outcome:
    return verdict.score, verdict.reason.value, verdict.answer


def _verify(verifier: MathVerifier, cases: Sequence[Case]) -> list[Outcome]:
    return [_outcome(verifier.verify(case.completion, case.reference)) for case in cases]


def _main_thread(cases: Sequence[Case]) -> list[Outcome]:
    with MathVerifier(mode="lenient") as verifier:
        return _verify(verifier, cases)


def _threads(cases: Sequence[Case]) -> list[Outcome]:
    with MathVerifier(mode="lenient") as verifier, ThreadPoolExecutor(_THREADS) as pool:
        return [found[0] for found in pool.map(lambda case: _verify(verifier, [case]), cases)]


def _asyncio(cases: Sequence[Case]) -> list[Outcome]:
    async def gather() -> list[Outcome]:
        with MathVerifier(mode="lenient") as verifier:
            jobs = (verifier.averify(case.completion, case.reference) for case in cases)
            return [_outcome(verdict) for verdict in await asyncio.gather(*jobs)]

    return asyncio.run(gather())


def _batch(cases: Sequence[Case]) -> list[Outcome]:
    with MathVerifier(mode="lenient") as verifier:
        verdicts = verifier.verify_batch(
            [c.completion for c in cases], [c.reference for c in cases]
        )
    return [_outcome(verdict) for verdict in verdicts]


def _child(method: str) -> Callable[[Sequence[Case]], list[Outcome]]:
    def run(cases: Sequence[Case]) -> list[Outcome]:
        context = multiprocessing.get_context(method)
        with MathVerifier(mode="lenient") as verifier:
            # A used verifier goes into the child: its engines must not go with it.
            _verify(verifier, cases[:8])
            with ProcessPoolExecutor(1, mp_context=context) as pool:
                return pool.submit(_verify, verifier, cases).result()

    return run


class _Grader:
    """A verifier that stays, as an actor holds it."""

    def __init__(self) -> None:
        self._verifier = MathVerifier(mode="lenient")

    def grade(self, cases: Sequence[Case]) -> list[Outcome]:
        return _verify(self._verifier, cases)


def _ray_actor(cases: Sequence[Case]) -> list[Outcome]:
    import ray

    ray.init("local", num_cpus=1, include_dashboard=False, log_to_driver=False)
    try:
        # Methods of an actor with several threads do not run in the main thread.
        remote: Any = ray.remote(_Grader)
        actor = remote.options(max_concurrency=2).remote()
        found: list[Outcome] = ray.get(actor.grade.remote(list(cases)))
        return found
    finally:
        ray.shutdown()


CONTEXTS: dict[str, Callable[[Sequence[Case]], list[Outcome]]] = {
    "main thread": _main_thread,
    f"{_THREADS} threads": _threads,
    "asyncio, all at once": _asyncio,
    "`verify_batch`": _batch,
    "spawned process": _child("spawn"),
    "forked process": _child("fork"),
}
if importlib.util.find_spec("ray") is not None:
    CONTEXTS["Ray actor with two threads"] = _ray_actor
