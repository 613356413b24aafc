"""Grades very many completions with one verifier, hostile ones too, and prints what it holds.

    python -m benchmarks.math_soak [--rows 100000] [--write-docs]

Half of the rows go through `verify`, half through `verify_batch`. A third have references of their
own, so the cache of compiled references overflows; all completions differ, so none is graded for
another. Every verdict is compared with what the same case got before.
"""

import argparse
import ctypes
import gc
import itertools
import os
import resource
import statistics
import sys
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from fractions import Fraction

from benchmarks._cases import FIXTURES, HOSTILE_KINDS, Case, load_cases
from benchmarks._measure import descendants, resident_kib
from benchmarks._tables import Section, Table, describe_machine, write_sections
from rewardkit import MathVerifier, Verdict

__all__ = ["Soak", "main", "soak"]

BATCH = 1_000
FRESH = "fresh"
LATE_S = 1.0
_HOSTILE_SHARE = 20
"""One row in so many is hostile."""
_FRESH_SHARE = 3


@dataclass(frozen=True, slots=True)
class Holdings:
    """What the process holds after so many rows."""

    rows: int
    resident_mib: float
    below_mib: float
    """Of the workers, pages shared between them counted in each."""
    open_files: int
    processes: int


@dataclass(slots=True)
class Soak:
    """What a run found."""

    samples: list[Holdings] = field(default_factory=list)
    reasons: Counter[str] = field(default_factory=Counter)
    asked: int = 0
    answered: int = 0
    hostile: int = 0
    late: Counter[str] = field(default_factory=Counter)
    """By case: verdicts later than `LATE_S`."""
    wrong: int = 0
    """Verdicts that are not what the case's label says."""
    changed: int = 0
    """Verdicts that are not what the same case got before."""
    wall_s: float = 0.0
    first: dict[str, tuple[float | None, str]] = field(default_factory=dict)

    def add(self, cases: Sequence[Case], verdicts: Sequence[Verdict]) -> None:
        """Counts some verdicts."""
        self.asked += len(cases)
        self.answered += len(verdicts)
        for case, verdict in zip(cases, verdicts, strict=False):
            self.reasons[verdict.reason.value] += 1
            self.hostile += case.kind in HOSTILE_KINDS
            self.late[case.id] += verdict.seconds > LATE_S
            self.wrong += verdict.passed != case.label
            said = (verdict.score, verdict.reason.value)
            if case.kind != FRESH:
                self.changed += self.first.setdefault(case.id, said) != said

    def forget_counts(self) -> None:
        """Starts the counts anew, but keeps what each case got."""
        self.reasons.clear()
        self.late.clear()
        self.asked = self.answered = self.hostile = self.wrong = self.changed = 0

    def slope(self) -> float:
        """Returns the growth in KiB per 1,000 rows over the second half of the run."""
        half = self.samples[len(self.samples) // 2 :]
        if len(half) < 2:
            return 0.0
        fit = statistics.linear_regression([s.rows for s in half], [s.resident_mib for s in half])
        return fit.slope * 1_024 * 1_000


def main(arguments: Sequence[str] | None = None) -> None:
    """Runs what the arguments ask for."""
    parser = argparse.ArgumentParser(
        "python -m benchmarks.math_soak", description=(__doc__ or "").partition("\n")[0]
    )
    parser.add_argument("--rows", type=int, default=100_000, help="how many, at least 100")
    parser.add_argument("--write-docs", action="store_true", help="put the table into docs/")
    options = parser.parse_args(arguments)
    found = soak(options.rows)
    text = f"{describe_machine(('rewardkit',))}\n\n{_table(found).to_markdown()}"
    print(text)
    if options.write_docs:
        for path in write_sections([Section("math-soak", text)]):
            print(f"written: {path}", file=sys.stderr)


def soak(rows: int) -> Soak:
    """Returns what the process held while it graded so many rows."""
    found, stream = Soak(), _rows(load_cases(FIXTURES))
    batch = min(BATCH, rows // 10)
    with MathVerifier(mode="lenient") as verifier:
        # The first rows load what is loaded once; the measured run begins after them.
        _grade_two_batches(verifier, stream, batch, found)
        found.forget_counts()
        found.samples.append(_holdings(0))
        started = time.perf_counter()
        while found.asked < rows:
            _grade_two_batches(verifier, stream, batch, found)
            found.samples.append(_holdings(found.asked))
        found.wall_s = time.perf_counter() - started
    return found


def _grade_two_batches(
    verifier: MathVerifier, stream: Iterator[Case], size: int, found: Soak
) -> None:
    for case in itertools.islice(stream, size):
        found.add([case], [verifier.verify(case.completion, case.reference)])
    cases = list(itertools.islice(stream, size))
    completions, references = [c.completion for c in cases], [c.reference for c in cases]
    found.add(cases, verifier.verify_batch(completions, references))


def _rows(cases: Sequence[Case]) -> Iterator[Case]:
    """Yields cases without end; each completion is new, its reasoning numbered."""
    calm = itertools.cycle([c for c in cases if c.kind not in HOSTILE_KINDS])
    hostile = itertools.cycle([c for c in cases if c.kind in HOSTILE_KINDS])
    for number in itertools.count():
        if number % _HOSTILE_SHARE == 0:
            case = next(hostile)
        elif number % _FRESH_SHARE == 0:
            yield _fresh(number)
            continue
        else:
            case = next(calm)
        completion = f"<think>attempt {number}</think>\n{case.completion}"
        yield Case(case.id, case.kind, case.reference, completion, case.label)


def _fresh(number: int) -> Case:
    """Returns a case with a reference that no other row has."""
    value = Fraction(number, 7)
    forms = (
        (str(number), f"{number:,}"),
        (f"\\frac{{{value.numerator}}}{{{value.denominator}}}", f"{number}/7"),
        (f"x^2 - {number}x", f"x(x - {number})"),
        (f"\\{{{number}, {number + 1}\\}}", f"\\{{{number + 1}, {number}\\}}"),
    )
    reference, answer = forms[number % len(forms)]
    right = number % 2 == 0
    text = answer if right else f"{answer} + 1"
    return Case(f"{FRESH}-{number}", FRESH, reference, f"So \\boxed{{{text}}}.", right)


def _holdings(rows: int) -> Holdings:
    gc.collect()
    # The allocator keeps what huge completions leave; memory that is in use is what may not grow.
    if trim := getattr(ctypes.CDLL(None), "malloc_trim", None):
        trim(0)
    below = descendants(os.getpid())
    return Holdings(
        rows=rows,
        resident_mib=resident_kib([os.getpid()]) / 1_024,
        below_mib=resident_kib(below) / 1_024,
        open_files=len(os.listdir("/proc/self/fd")),
        processes=len(below),
    )


def _table(found: Soak) -> Table:
    first, last = found.samples[0], found.samples[-1]
    middle = found.samples[len(found.samples) // 2]
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1_024
    rows = (
        ("rows graded", f"{last.rows:,}"),
        ("of them hostile", f"{found.hostile:,}"),
        ("lost or doubled", str(found.asked - found.answered)),
        ("verdicts unlike an earlier one on the same case", str(found.changed)),
        ("verdicts unlike the label", f"{found.wrong:,}"),
        (f"verdicts later than {LATE_S:g} s", str(found.late.total())),
        ("memory in use at the start, MiB", f"{first.resident_mib:.0f}"),
        ("in the middle", f"{middle.resident_mib:.0f}"),
        ("at the end", f"{last.resident_mib:.0f}"),
        ("most memory at any moment, free memory of the allocator included", f"{peak:.0f}"),
        ("growth in the second half, KiB per 1,000 rows", f"{found.slope():.1f}"),
        (
            "memory of its workers, start and end, MiB",
            f"{first.below_mib:.0f}, {last.below_mib:.0f}",
        ),
        ("open files, start and end", f"{first.open_files}, {last.open_files}"),
        ("processes below, start and end", f"{first.processes}, {last.processes}"),
        ("rows per second of wall time", f"{last.rows / found.wall_s:,.0f}"),
    )
    reasons = ", ".join(f"{count:,} {reason}" for reason, count in found.reasons.most_common())
    note = f"Verdicts: {reasons}."
    if late := [f"{count} of `{case}`" for case, count in found.late.most_common(8) if count]:
        note += f" Late: {', '.join(late)}."
    return Table("A long run with hostile rows mixed in", ("", ""), rows, note)


if __name__ == "__main__":
    main()
