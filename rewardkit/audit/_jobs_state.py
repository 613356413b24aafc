"""What a worker does to see what the reward touches besides its result."""

import copy
import gc
import locale
import multiprocessing
import os
import pickle
import random
import signal
import subprocess
import sys
import tempfile
import threading
import warnings
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from rewardkit.audit._jobs import BatchResult, run_batch
from rewardkit.audit._subject import Case, Spec, Subject, load
from rewardkit.runtime._link import import_path
from rewardkit.runtime._tasks import describe as describe_error

__all__ = [
    "concurrent",
    "daemonic",
    "effects",
    "forked",
    "fresh",
    "mutations",
    "pickled",
    "threaded",
]


def mutations(spec: Spec, cases: Sequence[Case]) -> list[str]:
    """Returns which of its inputs the reward has changed."""
    subject = load(spec)
    columns = subject.columns(cases, meta=[{"tags": ["x"]} for _ in cases])
    if not subject.plan.extra:
        columns.pop("meta")
    rows = copy.deepcopy(list(cases))
    given = dict(columns)
    before = copy.deepcopy(columns)
    completions = [case.completion for case in rows]
    held = _Held(subject, completions)
    try:
        held.call(rows, given)
    except Exception:  # what it raises is looked at elsewhere
        return []
    changed = [] if completions == [case.completion for case in cases] else ["completions"]
    return changed + [name for name, column in before.items() if columns[name] != column]


class _Held:
    """A call that keeps hold of the very list that the reward was given."""

    def __init__(self, subject: Subject, completions: list[Any]) -> None:
        self.subject = subject
        self.completions = completions

    def call(self, rows: Sequence[Case], columns: dict[str, Any]) -> None:
        subject = self.subject
        if subject.sort == "function" and subject.plan.batched:
            subject.finish(subject._invoke(self.completions, columns))
            return
        subject.call(
            [Case(c, r.reference, r.prompt) for c, r in zip(self.completions, rows, strict=True)],
            columns,
        )


def effects(spec: Spec, cases: Sequence[Case]) -> list[str]:
    """Returns what of the process is different after the reward was called."""
    subject = load(spec)
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        untouched = _snapshot()
        # The first call may import, which changes some of these too.
        first = run_batch(subject, cases)
        seen = _snapshot()
        _set_marks()
        before = {**seen, **{name: _snapshot()[name] for name in _MARKED}}
        open_before = _count_open()
        seeds = [_reseeded(subject, cases, seed) for seed in (1, 2)]
        after = _snapshot()
        second = [run_batch(subject, cases) for _ in range(_LEFT_OPEN)]
        open_after = _count_open()
        changed = [name for name, value in before.items() if after[name] != value]
        changed += [n for n in _NOT_BY_IMPORT if n not in changed and seen[n] != untouched[n]]
        set_here = {
            k: v
            for k, v in before["the environment"].items()
            if untouched["the environment"].get(k) != v
        }
        if set_here and "the environment" not in changed:
            for name in set_here:
                os.environ.pop(name, None)
            run_batch(subject, cases)
            if any(name in os.environ for name in set_here):
                changed.append("the environment")
        changed += [
            f"the random generator{of} is seeded anew"
            for of in seeds[0]
            if seeds[0][of] == seeds[1].get(of)
        ]
        changed += [
            name for name in open_before if open_after[name] - open_before[name] >= _LEFT_OPEN
        ]
        if first.ok and all(result.ok for result in second) and first.values != second[0].values:
            changed.append(FIRST_CALL)
        if os.path.exists(folder) and os.listdir(folder):
            changed.append("a file is left in the working directory")
        os.chdir("/")
    return changed


_NOT_BY_IMPORT = (
    "the working directory",
    "a signal handler",
    "standard output",
    "the recursion limit",
)


FIRST_CALL = "the first call of a process gives other values than later ones"

_LEFT_OPEN = 4
"""Calls after which so many more things are open, if each call leaves one."""
_MARKED = ("the recursion limit", "the limit on integer digits", "the warning filters")


def _set_marks() -> None:
    """Sets what the first call may have set already to values of our own, to see it set again."""
    sys.setrecursionlimit(sys.getrecursionlimit() + 7)
    sys.set_int_max_str_digits(5_000)
    warnings.resetwarnings()


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


def threaded(spec: Spec, cases: Sequence[Case]) -> BatchResult:
    """Returns what the reward says when it is called in another thread."""
    subject = load(spec)
    with ThreadPoolExecutor(1) as threads:
        return threads.submit(run_batch, subject, cases).result()


def concurrent(spec: Spec, batches: Sequence[Sequence[Case]], rounds: int) -> list[BatchResult]:
    """Returns the first results that differ from the serial ones, one per batch, else the serial."""
    subject = load(spec)
    serial = [run_batch(subject, batch) for batch in batches]
    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-5)  # a race shows in a few rounds instead of once a week
    try:
        for _ in range(rounds):
            found: list[BatchResult] = [BatchResult()] * len(batches)
            barrier = threading.Barrier(len(batches))

            def work(index: int, out: list[BatchResult] = found, gate: Any = barrier) -> None:
                gate.wait(10)
                out[index] = run_batch(subject, batches[index])

            threads = [threading.Thread(target=work, args=(i,)) for i in range(len(batches))]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()
            if found != serial:
                return found
    finally:
        sys.setswitchinterval(interval)
    return serial


def pickled(spec: Spec, cases: Sequence[Case]) -> BatchResult:
    """Returns what the reward's pickled copy says; an error says why there is none."""
    subject = load(spec)
    try:
        copied = pickle.loads(pickle.dumps(subject.target))
    except Exception as error:
        return BatchResult(error=f"pickle: {describe_error(error)}")
    return run_batch(Subject(copied, subject.plan, subject.sort, subject.module), cases)


def daemonic(spec: Spec, cases: Sequence[Case]) -> BatchResult:
    """Returns what the reward says inside a daemonic process, which may have no children."""
    process = multiprocessing.current_process()
    config: dict[str, Any] = process._config  # type: ignore[attr-defined]
    before = config.get("daemon")
    config["daemon"] = True
    try:
        return run_batch(load(spec), cases)
    finally:
        config["daemon"] = before


def forked(spec: Spec, cases: Sequence[Case]) -> BatchResult:
    """Returns what the reward says in a forked child of a process that has used it."""
    subject = load(spec)
    run_batch(subject, cases)
    reading, writing = os.pipe()
    pid = os.fork()
    if pid == 0:
        try:
            os.close(reading)
            with os.fdopen(writing, "wb") as out:
                pickle.dump(run_batch(subject, cases), out)
        finally:
            os._exit(0)
    os.close(writing)
    with os.fdopen(reading, "rb") as source:
        data = source.read()
    os.waitpid(pid, 0)
    if not data:
        return BatchResult(error="the forked child died")
    result: BatchResult = pickle.loads(data)
    return result


_FRESH = (
    "import sys, pickle, json; sys.path[:] = json.loads(sys.argv[1]); "
    "from rewardkit.audit._jobs import score; "
    "spec, batches = pickle.load(sys.stdin.buffer); out = sys.stdout.buffer; "
    "import os; keep = os.fdopen(os.dup(1), 'wb'); os.dup2(2, 1); r = score(spec, batches); "
    "keep.write(pickle.dumps(r)); keep.flush()"
)


def fresh(spec: Spec, batches: Sequence[Sequence[Case]], hash_seed: int) -> list[BatchResult]:
    """Returns what the reward says in a new interpreter with this PYTHONHASHSEED."""
    import json

    done = subprocess.run(
        [sys.executable, "-c", _FRESH, json.dumps(import_path())],
        input=pickle.dumps((spec, [list(batch) for batch in batches])),
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        env={**os.environ, "PYTHONHASHSEED": str(hash_seed)},
        check=False,
    )
    if done.returncode or not done.stdout:
        text = f"a new interpreter ended with {done.returncode}"
        return [BatchResult(error=text, lost=True)] * len(batches)
    results: list[BatchResult] = pickle.loads(done.stdout)
    return results
