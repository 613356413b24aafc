"""Prints how right and how fast the SQL verifier is, and what a long run leaves behind.

    python -m benchmarks.sql_verifier [--cases FILE] [--test-suite FOLDER] [--soak 50000]
        [--write-docs]

`--test-suite` is a checkout of taoyds/test-suite-sql-eval (with sqlparse, nltk and tqdm installed):
it is timed on the same pairs and the same databases, in turn with ours.
"""

import argparse
import importlib
import json
import os
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import sqlglot.parser

from benchmarks._measure import descendants, resident_kib
from benchmarks._tables import Section, Table, describe_machine, write_sections
from rewardkit.verdict import Json
from rewardkit.verifiers.sql import SqlVerifier
from rewardkit.verifiers.sql._guard import parse_query
from rewardkit.verifiers.sql._judge import grade
from rewardkit.verifiers.sql._prepare import prepare
from rewardkit.verifiers.sql._settings import Settings
from rewardkit.verifiers.sql.reference import read_reference

FIXTURES = Path(__file__).resolve().parents[1] / "fixtures" / "sql" / "cases.jsonl"
COUNTS = (0, 1, 3, 5, 10, 20, 50)
_POLICIES = ("order_matters", "column_order", "extra_columns", "duplicates", "ties", "tie_key")


@dataclass(frozen=True, slots=True)
class Pair:
    """A labelled completion."""

    id: str
    completion: str
    reference: dict[str, Json]
    label: bool


def read_pairs(path: Path = FIXTURES) -> list[Pair]:
    """Returns the labelled completions of a file."""
    pairs = []
    for line in path.read_text("utf-8").splitlines():
        row = json.loads(line)
        reference = {key: row[key] for key in ("schema", "rows", "dialect")}
        reference["sql"] = row["sql"] if "sql" in row else row["gold"]
        reference |= {key: row[key] for key in _POLICIES if row.get(key) is not None}
        reference |= row.get("opts") or {}
        completion = row["completion"] if "completion" in row else row["pred"]
        pairs.append(Pair(row["id"], completion, reference, row["label"]))
    return pairs


def main() -> None:
    """Prints the tables."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--cases", type=Path, default=FIXTURES)
    parser.add_argument("--test-suite", type=Path)
    parser.add_argument("--soak", type=int, default=2_000)
    parser.add_argument("--write-docs", action="store_true")
    options = parser.parse_args()
    pairs = read_pairs(options.cases)
    tables = [accuracy(pairs), speed(pairs, options.test_suite), soak(pairs, options.soak)]
    text = "\n\n".join([*(table.to_markdown() for table in tables), describe_machine()])
    print(text)
    if options.write_docs:
        write_sections([Section("sql", text)])


def accuracy(pairs: Sequence[Pair], counts: Sequence[int] = COUNTS) -> Table:
    """Returns the errors by the number of generated databases."""
    rows = []
    for count in counts:
        with SqlVerifier(databases=count, timeout_s=30.0) as verifier:
            found = verifier.verify_batch(
                [pair.completion for pair in pairs], [pair.reference for pair in pairs]
            )
        passed = [(pair, verdict.passed) for pair, verdict in zip(pairs, found, strict=True)]
        fooled = sum(ok and not pair.label for pair, ok in passed)
        missed = sum(pair.label and not ok for pair, ok in passed)
        rows.append((str(count), str(fooled), str(missed)))
    right = sum(pair.label for pair in pairs)
    title = f"Errors on {right} right and {len(pairs) - right} wrong queries"
    return Table(title, ("generated databases", "wrong accepted", "right refused"), tuple(rows))


def speed(pairs: Sequence[Pair], peer: Path | None = None, *, passes: int = 5) -> Table:
    """Returns the time of a verdict where the reference is prepared, in this process."""
    settings = Settings()
    ours: dict[str, list[float]] = {}
    theirs: dict[str, list[float]] = {}
    first: list[float] = []
    parsing: dict[str, list[float]] = {}
    with tempfile.TemporaryDirectory() as folder:
        evaluate = None if peer is None else _test_suite(peer)
        for pair in pairs:
            # Right queries only: they run on all databases, and no clock ends them.
            if pair.reference["dialect"] != "sqlite" or not pair.label or "`" in pair.completion:
                continue
            task = read_reference(pair.reference, dialect="sqlite")
            began = time.perf_counter()
            prepared = prepare(task, settings)
            first.append(time.perf_counter() - began)
            database = Path(folder) / pair.id
            if evaluate is not None:
                _write_databases(database, task.schema, prepared)
            for _ in range(passes):
                parse_query.cache_clear()  # in training each completion is another text
                began = time.perf_counter()
                parse_query(pair.completion, "sqlite", True)
                parsing.setdefault(pair.id, []).append(time.perf_counter() - began)
                parse_query.cache_clear()
                began = time.perf_counter()
                assert grade(task, pair.completion, settings).passed
                ours.setdefault(pair.id, []).append(time.perf_counter() - began)
                if evaluate is not None:
                    began = time.perf_counter()
                    evaluate(str(database / "0.sqlite"), pair.completion, task.sql[0])
                    theirs.setdefault(pair.id, []).append(time.perf_counter() - began)
    own = statistics.median(min(times) for times in ours.values())
    rows = [("SqlVerifier, reference prepared", _ms(own), "1.0")]
    share = statistics.median(min(times) for times in parsing.values())
    rows.append((f"of which sqlglot{_compiled()} reads the query", _ms(share), ""))
    rows.append(("SqlVerifier, preparing a reference", _ms(statistics.median(first)), ""))
    if theirs:
        other = statistics.median(min(times) for times in theirs.values())
        rows.append(("test-suite-sql-eval, the same databases", _ms(other), f"{other / own:.1f}"))
    title = f"Time of a verdict, {len(ours)} right pairs on some 20 databases each"
    return Table(title, ("", "median ms", "times ours"), tuple(rows))


def _compiled() -> str:
    return ", compiled," if str(sqlglot.parser.__file__).endswith(".so") else ""


def _ms(seconds: float) -> str:
    return f"{seconds * 1e3:.2f}"


def _test_suite(folder: Path) -> Callable[[str, str, str], object]:
    sys.path.insert(0, str(folder))
    module = importlib.import_module("exec_eval")
    return lambda database, prediction, reference: _quiet(
        module.eval_exec_match, database, prediction, reference
    )


def _quiet(evaluate: Callable[..., object], database: str, prediction: str, gold: str) -> object:
    # It asserts that a reference runs, and it can fail on what its own parser cannot read.
    try:
        return evaluate(database, prediction, gold, False, True, False)
    except Exception as error:
        return error


def _write_databases(folder: Path, schema: str, prepared: Any) -> None:  # noqa: ANN401
    import sqlite3

    folder.mkdir()
    benches = [prepared.given, *prepared.generated]
    for number, bench in enumerate(benches):
        with sqlite3.connect(folder / f"{number}.sqlite") as made:
            made.executescript(schema)
            if bench.data is None:
                made.executescript(prepared.task.rows)
                continue
            for name, rows in bench.data.items():
                for row in rows:
                    made.execute(f"INSERT INTO {name} VALUES ({', '.join('?' * len(row))})", row)
        made.close()


def soak(pairs: Sequence[Pair], count: int) -> Table:
    """Returns what many verdicts on hostile and honest queries leave behind."""
    chosen = [p for p in pairs if p.reference["dialect"] == "sqlite"]
    chosen = [p for p in chosen if "RECURSIVE n(i)" not in p.completion]  # these wait for a clock
    # As many references as a worker keeps prepared: a batch of training has few.
    references = list(dict.fromkeys(str(p.reference) for p in chosen))[:25]
    chosen = [p for p in chosen if str(p.reference) in references]
    files, memory = len(os.listdir("/proc/self/fd")), []
    before = set(descendants(os.getpid()))
    wrong = done = 0
    began = time.perf_counter()
    with SqlVerifier(timeout_s=30.0) as verifier:
        while done < count:
            # A comment makes each query another one, so that none is graded once for all.
            batch = [(f"{p.completion}\n-- {done}", p) for p in chosen if "`" not in p.completion]
            batch = batch[: count - done]
            found = verifier.verify_batch([t for t, _ in batch], [p.reference for _, p in batch])
            wrong += sum(v.passed != p.label for v, (_, p) in zip(found, batch, strict=True))
            done += len(batch)
            memory.append(resident_kib([os.getpid(), *descendants(os.getpid())]))
    seconds = time.perf_counter() - began
    half = memory[len(memory) // 2 - 1 if len(memory) > 1 else 0]
    rows = (
        ("queries graded", f"{done:,}"),
        ("wrong verdicts", str(wrong)),
        ("a second", f"{done / seconds:,.0f}"),
        ("memory of all processes at half of the way, MiB", f"{half / 1024:,.0f}"),
        ("at the end, MiB", f"{memory[-1] / 1024:,.0f}"),
        ("files left open", str(len(os.listdir("/proc/self/fd")) - files)),
        ("processes left", str(len(set(descendants(os.getpid())) - before))),
    )
    return Table("A long run", ("what", "count"), rows)


if __name__ == "__main__":
    main()
