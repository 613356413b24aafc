"""What a worker does to see what a call of the reward leaves behind in its process."""

import contextlib
import gc
import locale
import os
import random
import signal
import sys
import tempfile
import threading
import time
import warnings
from collections.abc import Iterator, Sequence
from typing import Any

from rewardkit.audit._jobs import BatchResult, run_batch
from rewardkit.audit._subject import Case, Spec, Subject, load

__all__ = ["FIRST_CALL", "effects"]


def effects(spec: Spec, cases: Sequence[Case]) -> list[str]:
    """Returns what of the process is different after the reward was called."""
    subject = load(spec)
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        untouched = _snapshot()
        started = time.monotonic()
        first = run_batch(subject, cases)
        slow = time.monotonic() - started > 1.0
        # The first call may import, which changes some of these too.
        seen = _snapshot()
        with _marks():
            before = {**seen, **{name: _snapshot()[name] for name in _MARKED}}
            seeds = [_reseeded(subject, cases, seed) for seed in (1, 2)]
            after = _snapshot()
        changed = [name for name, value in before.items() if after[name] != value]
        changed += [n for n in _NOT_BY_IMPORT if n not in changed and seen[n] != untouched[n]]
        if "the environment" not in changed and _sets_again(subject, cases, untouched, seen):
            changed.append("the environment")
        changed += [
            f"the random generator{of} is seeded anew"
            for of in seeds[0]
            if seeds[0][of] == seeds[1].get(of)
        ]
        changed += [] if slow else _left_open(subject, cases)
        if _differ(first, run_batch(subject, cases)):
            changed.append(FIRST_CALL)
        if os.path.exists(folder) and os.listdir(folder):
            changed.append("a file is left in the working directory")
        os.chdir("/")
    return changed


def _sets_again(
    subject: Subject, cases: Sequence[Case], untouched: dict[str, Any], seen: dict[str, Any]
) -> bool:
    """Returns whether variables that the first call has set are set by each call."""
    old, new = untouched["the environment"], seen["the environment"]
    names = [name for name, value in new.items() if old.get(name) != value]
    for name in names:
        os.environ.pop(name, None)
    if names:
        run_batch(subject, cases)
    return any(name in os.environ for name in names)


def _left_open(subject: Subject, cases: Sequence[Case]) -> list[str]:
    """Returns what each call leaves one more of."""
    before = _count_open()
    for _ in range(_CALLS):
        run_batch(subject, cases)
    after = _count_open()
    return [name for name in before if after[name] - before[name] >= _CALLS]


def _differ(first: BatchResult, later: BatchResult) -> bool:
    """Returns whether two calls gave different numbers; an abstention may be the machine's."""
    pairs = zip(first.values, later.values, strict=False)
    return (
        first.ok
        and later.ok
        and any(a is not None and b is not None and a != b and (a == a or b == b) for a, b in pairs)
    )


_NOT_BY_IMPORT = (
    "the working directory",
    "a signal handler",
    "standard output",
    "the recursion limit",
)


FIRST_CALL = "the first call of a process gives other values than later ones"

_CALLS = 4
"""Calls after which four more things are open, if each call leaves one."""
_MARKED = ("the recursion limit", "the limit on integer digits", "the warning filters")


@contextlib.contextmanager
def _marks() -> Iterator[None]:
    """Sets what the first call may have set already to values of our own, to see it set again."""
    recursion, digits, filters = (
        sys.getrecursionlimit(),
        sys.get_int_max_str_digits(),
        list(warnings.filters),
    )
    sys.setrecursionlimit(recursion + 7)
    sys.set_int_max_str_digits(5_000)
    warnings.resetwarnings()
    try:
        yield
    finally:
        sys.setrecursionlimit(recursion)
        sys.set_int_max_str_digits(digits)
        warnings.filters[:] = filters  # type: ignore[index]


def _count_open() -> dict[str, int]:
    gc.collect()
    return {
        "files stay open": len(os.listdir("/proc/self/fd"))
        if os.path.isdir("/proc/self/fd")
        else 0,
        "threads keep running": threading.active_count(),
    }


def _reseeded(subject: Subject, cases: Sequence[Case], seed: int) -> dict[str, str]:
    """Returns the states of the random generators after a call, by whose they are."""
    numpy, torch = sys.modules.get("numpy"), sys.modules.get("torch")
    random.seed(seed)
    if numpy is not None:
        numpy.random.seed(seed)
    if torch is not None:
        torch.manual_seed(seed)
    run_batch(subject, cases)
    states = {"": repr(random.getstate())}
    if numpy is not None:
        states[" of numpy"] = repr([part.tolist() if hasattr(part, "tolist") else part
                                    for part in numpy.random.get_state()])  # fmt: skip
    if torch is not None:
        states[" of torch"] = repr(torch.random.get_rng_state().tolist())
    return states


def _snapshot() -> dict[str, Any]:
    return {
        "the working directory": os.getcwd(),
        "the environment": dict(os.environ),
        "a signal handler": [
            str(signal.getsignal(s)) for s in (signal.SIGALRM, signal.SIGINT, signal.SIGTERM)
        ],
        "the recursion limit": sys.getrecursionlimit(),
        "the limit on integer digits": sys.get_int_max_str_digits(),
        "the warning filters": len(warnings.filters),
        "standard output": id(sys.stdout),
        "standard error": id(sys.stderr),
        "the locale": locale.setlocale(locale.LC_ALL),
        "a running alarm": signal.getitimer(signal.ITIMER_REAL)[0] > 0,
        "the module search path": list(sys.path),
    }
