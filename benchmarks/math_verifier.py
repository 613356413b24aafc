"""Measures the math verifier and its peers, and prints the tables that the documentation embeds.

    python -m benchmarks.math_verifier [--write-docs]

Peers are measured where they are installed; for all of them:

    pip install 'rewardkit[math]' mathruler pylatexenc tqdm ray

Optional data (a second set of labelled cases, GSM8K solutions) is looked for in
`$REWARDKIT_SHARED`, else in `../shared`. Each grader runs in a process of its own, the peers with
their default timeouts in its main thread; one that does not answer within `--limit-s` is killed.
"""

import argparse
import os
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

from benchmarks import _math_tables as tables
from benchmarks._cases import (
    HOSTILE_KINDS,
    Case,
    case_files,
    gsm8k_file,
    load_cases,
    load_gsm8k,
    long_cases,
)
from benchmarks._contexts import CONTEXTS, run_in
from benchmarks._graders import Grade, available, builder
from benchmarks._measure import Judged, Timed, judge, time_passes
from benchmarks._tables import Section, Table, describe_machine, format_number, write_sections
from rewardkit import MathVerifier

__all__ = ["main"]

BASELINE = "Math-Verify"
OURS = "rewardkit, lenient"
KNOWN = f"{OURS}, references known"
PACKAGES = ("rewardkit", "math-verify", "latex2sympy2_extended", "sympy", "mathruler", "ray")
LENGTHS = (512, 4_096, 16_384, 65_536, 262_144)
_WARM_PASSES = 2

Verdicts = dict[str, list[Judged]]


def main(arguments: Sequence[str] | None = None) -> None:
    """Runs what the arguments ask for."""
    parser = _parser()
    options = parser.parse_args(arguments)
    if unknown := set(options.graders) - set(available()):
        parser.error(f"no such grader is installed: {', '.join(sorted(unknown))}")
    names = [name for name in available() if not options.graders or name in options.graders]
    files = {path.name: path for path in options.cases} or case_files()
    cases = {name: _first(load_cases(path), options.rows) for name, path in files.items()}
    sections = measure(
        cases,
        names,
        gsm8k=None if options.no_gsm8k else gsm8k_file(),
        rows=options.rows,
        repeat=options.repeat,
        limit_s=options.limit_s,
    )
    print(sections[0].text)
    if options.write_docs:
        for path in write_sections(sections):
            print(f"written: {path}", file=sys.stderr)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        "python -m benchmarks.math_verifier", description=(__doc__ or "").partition("\n")[0]
    )
    parser.add_argument("cases", nargs="*", type=Path, help="labelled files; default: those here")
    parser.add_argument("--graders", nargs="*", default=[], help=f"of: {', '.join(available())}")
    parser.add_argument("--rows", type=int, help="only so many rows of each file, spread evenly")
    parser.add_argument(
        "--repeat", type=int, default=3, help="fresh processes for rewardkit's speed"
    )
    parser.add_argument("--limit-s", type=float, default=20.0, help="a grader is killed after this")
    parser.add_argument("--no-gsm8k", action="store_true", help="leave the GSM8K solutions out")
    parser.add_argument("--write-docs", action="store_true", help="put the tables into docs/")
    return parser


def _first(cases: list[Case], rows: int | None) -> list[Case]:
    return cases if rows is None else cases[:: max(1, len(cases) // rows)][:rows]


def measure(
    cases: Mapping[str, Sequence[Case]],
    names: Sequence[str],
    *,
    gsm8k: Path | None,
    rows: int | None,
    repeat: int,
    limit_s: float,
) -> list[Section]:
    """Returns the sections of the documentation.

    Args:
        cases: labelled rows by the name of their set.
        names: the graders.
        gsm8k: the file of real solutions, or None.
        rows: how many of them, None for all.
        repeat: fresh processes in which rewardkit's speed is taken.
        limit_s: wall seconds for one verdict.
    """
    verdicts = {title: _judge_all(title, rows_, names, limit_s) for title, rows_ in cases.items()}
    together: Verdicts = {n: [j for by in verdicts.values() for j in by[n]] for n in names}
    everything = [case for rows_ in cases.values() for case in rows_]
    speed = _speed(together, repeat)
    small = rows is not None
    found = [*(tables.accuracy_table(f"Labelled cases: {t}", by) for t, by in verdicts.items())]
    found += [
        tables.kinds_table(
            "Right verdicts in % on the ten kinds that are hardest for peers", together
        ),
        tables.mistakes_table(together),
        tables.speed_table(speed, BASELINE),
    ]
    if KNOWN in speed:
        found.append(tables.tiers_table(speed[KNOWN]))
    found.append(_lengths(names, LENGTHS[:2] if small else LENGTHS, 3 if small else 15))
    if gsm8k is not None:
        found.append(_gsm8k(_first(load_gsm8k(gsm8k), rows), names, limit_s))
    found.append(_contexts(everything))
    found.append(_start_table())
    text = "\n\n".join([describe_machine(PACKAGES), *(table.to_markdown() for table in found)])
    peers = "\n\n".join(
        [describe_machine(PACKAGES), *(table.to_markdown() for table in found[: len(cases)]),
         tables.speed_table(speed, BASELINE).to_markdown()]
    )  # fmt: skip
    return [Section("math", text), Section("math-peers", peers)]


@contextmanager
def _report(what: str) -> Iterator[None]:
    """Says on standard error how long a part took."""
    started = time.perf_counter()
    yield
    print(f"{what}: {time.perf_counter() - started:.0f} s", file=sys.stderr, flush=True)


def _judge_all(title: str, cases: Sequence[Case], names: Sequence[str], limit_s: float) -> Verdicts:
    verdicts: Verdicts = {}
    for name in names:
        with _report(f"{title}: {name}"):
            verdicts[name] = judge(builder(name), cases, limit_s=limit_s)
    return verdicts


def _speed(verdicts: Verdicts, repeat: int) -> dict[str, list[Timed]]:
    """Returns the cheapest pass of each grader over the ordinary rows that it answered in time."""
    speed: dict[str, list[Timed]] = {}
    for name, judged in verdicts.items():
        cases = [j.case for j in judged if j.case.kind not in HOSTILE_KINDS and not j.killed]
        with _report(f"speed: {name}"):
            if name == OURS:
                runs = [
                    time_passes(builder(name), cases, passes=1 + _WARM_PASSES)
                    for _ in range(repeat)
                ]
                speed |= _our_speed(runs)
            elif not name.startswith("rewardkit"):
                speed[name] = min(time_passes(builder(name), cases, passes=2), key=_total)
    return speed


def _our_speed(runs: Sequence[Sequence[list[Timed]]]) -> dict[str, list[Timed]]:
    new = min((run[0] for run in runs), key=_total)
    known = min((one for run in runs for one in run[1:]), key=_total)
    plain = [timed for timed in known if timed.tier in tables.NO_ALGEBRA]
    share = f"{100 * len(plain) / max(len(known), 1):.0f} % of the rows"
    return {
        f"{OURS}, references new": new,
        KNOWN: known,
        f"{KNOWN}, no algebra ({share})": plain,
    }


def _total(timed: Sequence[Timed]) -> float:
    return sum(one.cpu_ms for one in timed)


def _lengths(names: Sequence[str], lengths: Sequence[int], count: int) -> Table:
    found: dict[str, dict[int, list[Timed]]] = {}
    for name in names:
        cases = [case for length in lengths for case in long_cases(length, count)]
        with _report(f"lengths: {name}"):
            timed = time_passes(builder(name), cases, passes=1)[0]
        found[name] = {n: [t for t in timed if t.case_id.startswith(f"{n}-")] for n in lengths}
    return tables.lengths_table(found)


def _gsm8k(cases: Sequence[Case], names: Sequence[str], limit_s: float) -> Table:
    chosen = [n for n in names if n.startswith("rewardkit") or n == BASELINE]
    judged: Verdicts = {}
    rates: dict[str, str] = {}
    for name in chosen:
        with _report(f"GSM8K: {name}"):
            judged[name] = judge(builder(name), cases, limit_s=limit_s)
            timed = time_passes(builder(name), cases, passes=1)[0]
        rates[name] = f"{format_number(1e3 * len(timed) / _total(timed))} per CPU-second"
    if OURS in chosen:
        batch, rate = _gsm8k_batch(cases)
        label = f"{OURS}, `verify_batch`"
        judged[label] = batch
        cores = len(os.sched_getaffinity(0))
        rates[label] = f"{format_number(rate)} per second of wall time, {cores} cores"
    return tables.gsm8k_table(judged, rates)


def _gsm8k_batch(cases: Sequence[Case]) -> tuple[list[Judged], float]:
    completions, references = [c.completion for c in cases], [c.reference for c in cases]
    with MathVerifier(mode="lenient") as verifier:
        verifier.verify_batch(completions, references)
        started = time.perf_counter()
        verdicts = verifier.verify_batch(completions, references)
        wall_s = time.perf_counter() - started
    judged = [
        Judged(case, Grade(v.passed if v.score is not None else None), v.seconds)
        for case, v in zip(cases, verdicts, strict=True)
    ]
    return judged, len(cases) / wall_s


def _contexts(cases: Sequence[Case]) -> Table:
    found = {}
    for context in CONTEXTS:
        with _report(context):
            found[context] = run_in(context, cases)
    return tables.contexts_table(found)


def _start_table() -> Table:
    """Returns what the first use costs: of the package, and of the last tier's workers."""
    with MathVerifier() as verifier:
        first, second = (
            verifier.verify(
                r"\boxed{\frac{\oslash 1}{\oslash}}", r"\oslash \frac{\oslash}{2}"
            ).seconds
            for _ in range(2)
        )
    rows = ((f"{1e3 * first:,.0f}", f"{1e3 * second:,.1f}"),)
    columns = ("first verdict of the last tier, its worker started for it, ms", "the next one, ms")
    return Table("Start of the last tier, wall time", columns, rows)


if __name__ == "__main__":
    main()
