"""Prints what the HTTP service costs beside a batch in the same process.

    python -m benchmarks.serve_load [--rows 8192] [--requests 200000] [--write-docs]

Rows are math answers; the load comes from this process, over loopback, with bodies made beforehand.
The service runs in a process of its own, with as many workers as the batch has.
"""

import argparse
import contextlib
import http.client
import json
import os
import random
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from benchmarks._tables import ROOT, Section, Table, describe_machine, format_number, write_sections
from rewardkit import MathVerifier
from rewardkit.runtime import PoolRunner

WORKERS = 2
BATCH = 256
Row = tuple[str, str]


def make_rows(count: int, seed: int) -> list[Row]:
    """Returns completions of about 400 characters, each different, with their references."""
    rng = random.Random(seed)
    rows = []
    for number in range(count):
        a, b = rng.randint(2, 999), rng.randint(2, 999)
        value = a * b + (0 if rng.random() < 0.6 else rng.randint(1, 9))
        spelled = rng.choice((f"{value}", f"{value}.0", f"\\frac{{{2 * value}}}{{2}}"))
        text = f"Multiply {a} by {b} step by step, sample {number}. " + "Split the factor. " * 18
        rows.append((f"{text}So the answer is \\boxed{{{spelled}}}.", str(a * b)))
    return rows


def body_of(rows: Sequence[Row]) -> bytes:
    """Returns a request for a batch."""
    completions, references = [row[0] for row in rows], [row[1] for row in rows]
    return json.dumps({"completions": completions, "references": references}).encode()


@dataclass(frozen=True, slots=True)
class Running:
    """A service that runs."""

    port: int
    pid: int

    def connect(self) -> http.client.HTTPConnection:
        """Returns a connection."""
        return http.client.HTTPConnection("127.0.0.1", self.port, timeout=120)


@contextlib.contextmanager
def service() -> Iterator[Running]:
    """Runs `rewardkit serve`."""
    with tempfile.NamedTemporaryFile("w", suffix=".json") as config:
        config.write('{"verifier": "math"}')
        config.flush()
        command = [sys.executable, "-m", "rewardkit", "serve", config.name, "--port", "0"]
        process = subprocess.Popen(
            [*command, "--workers", str(WORKERS)],
            cwd=ROOT,
            stdout=subprocess.PIPE,
            text=True,
        )
        try:
            assert process.stdout is not None
            line = process.stdout.readline()
            yield Running(int(line.rpartition(":")[2]), process.pid)
        finally:
            process.terminate()
            process.wait(60)
            if process.stdout is not None:
                process.stdout.close()


def post(connection: http.client.HTTPConnection, body: bytes) -> bytes:
    """Returns the answer to a request that must succeed."""
    connection.request("POST", "/verify", body, {"Content-Type": "application/json"})
    response = connection.getresponse()
    data = response.read()
    if response.status != 200:
        raise RuntimeError(f"{response.status}: {data[:200]!r}")
    return data


def in_threads(count: int, work: Callable[[int], None]) -> float:
    """Returns the wall time of `work(0)` … `work(count - 1)`, side by side."""
    threads = [threading.Thread(target=work, args=(index,)) for index in range(count)]
    started = time.perf_counter()
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return time.perf_counter() - started


def send_all(running: Running, bodies: Sequence[bytes], connections: int) -> float:
    """Returns the wall time of sending all bodies over some connections."""

    def work(index: int) -> None:
        with contextlib.closing(running.connect()) as connection:
            for body in bodies[index::connections]:
                post(connection, body)

    return in_threads(connections, work)


def cpu_s(pid: int) -> float:
    """Returns the processor time of a process and of all below it that live."""
    ticks, todo = 0, [pid]
    while todo:
        one = todo.pop()
        with contextlib.suppress(FileNotFoundError, ProcessLookupError):
            fields = Path(f"/proc/{one}/stat").read_text().rpartition(")")[2].split()
            ticks += int(fields[11]) + int(fields[12])
            for path in Path(f"/proc/{one}/task").glob("*/children"):
                todo += [int(word) for word in path.read_text().split()]
    return ticks / os.sysconf("SC_CLK_TCK")


@dataclass(slots=True)
class Best:
    """The best of several passes."""

    rows_per_s: float = 0.0
    cpu_us: float = float("inf")

    def note(self, rows: int, pid: int, work: Callable[[], object]) -> None:
        """Runs the work, whose processor time is that of a process and of all below it."""
        cpu, started = cpu_s(pid), time.perf_counter()
        work()
        self.rows_per_s = max(self.rows_per_s, rows / (time.perf_counter() - started))
        self.cpu_us = min(self.cpu_us, 1e6 * (cpu_s(pid) - cpu) / rows)


def throughput(running: Running, count: int, passes: int = 3) -> Table:
    """Returns the table of rows a second; each pass runs all ways, the best pass of each counts."""
    batch, pooled, served = Best(), Best(), Best()
    with MathVerifier(workers=WORKERS) as verifier, PoolRunner(workers=WORKERS) as pool:
        for number in range(passes + 1):
            rows = make_rows(count, seed=number)
            parts = [rows[start : start + BATCH] for start in range(0, count, BATCH)]
            columns = [([c for c, _ in part], [r for _, r in part]) for part in parts]
            bodies = [body_of(part) for part in parts]

            def by_batch(columns: list[tuple[list[str], list[str]]] = columns) -> None:
                for completions, references in columns:
                    verifier.verify_batch(completions, references)

            def by_pool(columns: list[tuple[list[str], list[str]]] = columns) -> None:
                for completions, references in columns:
                    pool.verify_batch(verifier, completions, references)

            def by_service(bodies: list[bytes] = bodies) -> None:
                send_all(running, bodies, connections=4)

            if number == 0:  # warms
                by_batch()
                by_pool()
                by_service()
                continue
            batch.note(count, os.getpid(), by_batch)
            pooled.note(count, os.getpid(), by_pool)
            served.note(count, running.pid, by_service)
    told = tuple(
        (
            name,
            format_number(best.rows_per_s),
            f"{100 * best.rows_per_s / batch.rows_per_s:.0f}",
            format_number(best.cpu_us),
        )
        for name, best in (
            ("`verify_batch` in this process", batch),
            ("`PoolRunner` in this process", pooled),
            ("service, 4 connections", served),
        )
    )
    title = f"Math in batches of {BATCH}, {WORKERS} workers"
    columns_told = ("way", "rows a second", "% of `verify_batch`", "CPU-µs a row")
    return Table(title, columns_told, told)


def quantile(values: Sequence[float], share: float) -> float:
    """Returns the smallest value that `share` of all stay within."""
    return sorted(values)[min(len(values) - 1, int(share * len(values)))]


def paced(running: Running, bodies: Sequence[bytes], rate: float, connections: int) -> list[float]:
    """Returns the latencies of requests that come at random moments, `rate` a second.

    From the moment at which a request was due: one that had to wait for a connection has waited.
    """
    rng = random.Random(7)
    due, at = [], 0.0
    for _ in bodies:
        at += rng.expovariate(rate)
        due.append(at)
    latencies: list[float] = []
    places = iter(range(len(bodies)))
    lock = threading.Lock()
    started = time.perf_counter()

    def work(_: int) -> None:
        with contextlib.closing(running.connect()) as connection:
            while True:
                with lock:
                    place = next(places, None)
                if place is None:
                    return
                time.sleep(max(0.0, started + due[place] - time.perf_counter()))
                post(connection, bodies[place])
                latencies.append(time.perf_counter() - started - due[place])

    in_threads(connections, work)
    return latencies


def latency(running: Running, count: int) -> Table:
    """Returns the table of latencies of single rows: unloaded, and at half of what is possible."""
    bodies = [
        json.dumps({"completion": c, "reference": r}).encode() for c, r in make_rows(count, seed=99)
    ]
    send_all(running, bodies, connections=8)
    capacity = count / send_all(running, bodies, connections=8)
    calm = paced(running, bodies[: count // 4], capacity / 50, connections=1)
    half = paced(running, bodies, capacity / 2, connections=32)
    rows = tuple(
        (
            name,
            format_number(rate),
            *(format_number(1e3 * quantile(values, share)) for share in (0.5, 0.99)),
            format_number(quantile(values, 0.99) / quantile(calm, 0.99)),
        )
        for name, rate, values in (
            ("unloaded", capacity / 50, calm),
            ("half of capacity", capacity / 2, half),
        )
    )
    columns = ("load", "requests a second", "median ms", "p99 ms", "p99 / unloaded")
    return Table(
        "Latency of one row",
        columns,
        rows,
        note=f"Capacity: {format_number(capacity)} requests a second over 8 connections.",
    )


def resident_mb(pid: int) -> float:
    """Returns the resident memory of a process and of all below it, in MiB."""
    total, todo = 0, [pid]
    while todo:
        one = todo.pop()
        try:
            pages = int(Path(f"/proc/{one}/statm").read_text().split()[1])
            for path in Path(f"/proc/{one}/task").glob("*/children"):
                todo += [int(word) for word in path.read_text().split()]
        except (FileNotFoundError, ProcessLookupError):
            continue
        total += pages * os.sysconf("SC_PAGE_SIZE")
    return total / 2**20


def memory(running: Running, count: int) -> Table:
    """Returns the table of memory over many requests, every row another."""
    marks = [(0, resident_mb(running.pid), open_files(running.pid))]
    part = max(1, count // 10)
    for number in range(10):
        rows = make_rows(part, seed=1000 + number)
        bodies = [json.dumps({"completion": c, "reference": r}).encode() for c, r in rows]
        send_all(running, bodies, connections=8)
        done = part * (number + 1)
        marks.append((done, resident_mb(running.pid), open_files(running.pid)))
    shown = (marks[0], marks[1], marks[5], marks[10])
    rows_told = tuple((f"{done:,}", f"{mb:.0f}", str(files)) for done, mb, files in shown)
    return Table(
        "Memory of the service and its workers", ("requests", "MiB", "open files"), rows_told
    )


def open_files(pid: int) -> int:
    """Returns how many files a process has open."""
    return len(os.listdir(f"/proc/{pid}/fd"))


def main() -> None:
    """Prints the tables."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=8192)
    parser.add_argument("--requests", type=int, default=200_000)
    parser.add_argument("--write-docs", action="store_true")
    options = parser.parse_args()
    sys.setswitchinterval(0.0005)  # the threads that make the load must not wait for each other
    with service() as running:
        tables = [
            throughput(running, options.rows),
            latency(running, max(400, options.rows // 4)),
            memory(running, options.requests),
        ]
    parts = [table.to_markdown() for table in tables]
    text = "\n\n".join([*parts, describe_machine(["starlette", "uvicorn"])])
    print(text)
    if options.write_docs:
        write_sections([Section("serve", text)])


if __name__ == "__main__":
    main()
