"""What a worker does to see what the reward touches besides its result."""

import copy
import multiprocessing
import os
import pickle
import subprocess
import sys
import threading
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
