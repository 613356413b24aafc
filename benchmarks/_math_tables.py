"""The tables of the math benchmark, from what was measured."""

import statistics
from collections import defaultdict
from collections.abc import Mapping, Sequence

from benchmarks._cases import HARDEST_KINDS, HOSTILE_KINDS
from benchmarks._contexts import Outcome
from benchmarks._measure import Judged, Timed
from benchmarks._tables import Table, format_number, format_share

__all__ = [
    "NO_ALGEBRA",
    "accuracy_table",
    "contexts_table",
    "gsm8k_table",
    "kinds_table",
    "lengths_table",
    "mistakes_table",
    "speed_table",
    "tiers_table",
]

NO_ALGEBRA = ("canonical", "exact", "words", "extraction", "units", "structure")
"""The tiers that compute no expression."""
LATE_S = 1.0
_HARD = 0.9
_MANY = 24


def accuracy_table(title: str, judged: Mapping[str, Sequence[Judged]]) -> Table:
    """Returns how often each grader is right, and what it does to its caller."""
    columns = ("grader", "right %", "false positives %", "false negatives %", "undecided",
               "later than 1 s", "killed", "exceptions", "ran code")  # fmt: skip
    rows = [(name, *_accuracy(found)) for name, found in judged.items()]
    first = next(iter(judged.values()))
    right = sum(j.case.label for j in first)
    note = f"{len(first):,} rows: {right} right answers, {len(first) - right} wrong ones."
    return Table(title, columns, tuple(rows), note)


def _accuracy(found: Sequence[Judged]) -> tuple[str, ...]:
    positive = [j for j in found if j.case.label]
    negative = [j for j in found if not j.case.label]
    return (
        format_share(sum(j.right for j in found), len(found)),
        format_share(sum(not j.right for j in negative), len(negative)),
        format_share(sum(not j.right for j in positive), len(positive)),
        str(sum(j.grade.passed is None and not j.killed and not j.error for j in found)),
        str(sum(j.wall_s > LATE_S for j in found)),
        str(sum(j.killed for j in found)),
        str(sum(bool(j.error) for j in found)),
        str(sum(j.ran_code for j in found)),
    )


def kinds_table(title: str, judged: Mapping[str, Sequence[Judged]]) -> Table:
    """Returns the share of right verdicts on the hardest kinds, and on others below 90 %."""
    shares = {name: _by_kind(found) for name, found in judged.items()}
    first = next(iter(shares.values()))
    ours = [kinds for name, kinds in shares.items() if name.startswith("rewardkit, lenient")]
    weak = sorted(
        k for kinds in ours for k, j in kinds.items()
        if k not in HARDEST_KINDS and sum(x.right for x in j) < _HARD * len(j)
    )  # fmt: skip
    kinds = [k for k in (*HARDEST_KINDS, *dict.fromkeys(weak)) if k in first]
    rows = [
        (kind.replace("_", " "), str(len(first[kind])),
         *(format_share(sum(j.right for j in by[kind]), len(by[kind])) for by in shares.values()))
        for kind in kinds
    ]  # fmt: skip
    return Table(title, ("kind", "rows", *shares), tuple(rows))


def _by_kind(found: Sequence[Judged]) -> dict[str, list[Judged]]:
    kinds: dict[str, list[Judged]] = defaultdict(list)
    for one in found:
        kinds[one.case.kind].append(one)
    return kinds


def mistakes_table(judged: Mapping[str, Sequence[Judged]]) -> Table:
    """Returns the rows on which rewardkit is wrong or undecided."""
    title = "Where rewardkit is wrong or undecided"
    rows = [
        (
            name,
            j.case.id,
            "right" if j.case.label else "wrong",
            _said(j),
            j.case.why.replace("|", "&#124;"),
        )
        for name, found in judged.items()
        if name.startswith("rewardkit")
        for j in found
        if not j.right or j.grade.passed is None
    ]
    if not rows:
        return Table(title, ("grader", "row"), (("rewardkit", "none"),), prose=True)
    note = f"And {len(rows) - _MANY} more." if len(rows) > _MANY else ""
    columns = ("grader", "row", "the answer is", "verdict", "what the row tests")
    return Table(title, columns, tuple(rows[:_MANY]), note, prose=True)


def _said(judged: Judged) -> str:
    if judged.error or judged.killed:
        return judged.error or "killed"
    words = {True: "passed", False: "not passed", None: "undecided"}
    return words[judged.grade.passed]


def speed_table(passes: Mapping[str, Sequence[Timed]], baseline: str) -> Table:
    """Returns verifications per CPU-second over ordinary rows, and the ratio to one grader."""
    rates = {name: _rate(timed) for name, timed in passes.items()}
    columns = ("grader", "rows", "per CPU-second", f"× {baseline}", "p50 CPU-ms", "p99 CPU-ms")
    rows = [
        (
            name,
            f"{len(timed):,}",
            format_number(rates[name]),
            format_number(rates[name] / rates[baseline]) if baseline in rates else "–",
            format_number(_quantile(timed, 0.5)),
            format_number(_quantile(timed, 0.99)),
        )
        for name, timed in passes.items()
    ]
    kinds = ", ".join(f"`{kind}`" for kind in HOSTILE_KINDS)
    note = f"Ordinary rows: all but the kinds {kinds}. The cheapest of several passes counts."
    return Table("Speed on ordinary rows, one process", columns, tuple(rows), note)


def _rate(timed: Sequence[Timed]) -> float:
    return 1e3 * len(timed) / max(sum(t.cpu_ms for t in timed), 1e-9)


def _quantile(timed: Sequence[Timed], share: float) -> float:
    ordered = sorted(t.cpu_ms for t in timed)
    return ordered[min(int(share * len(ordered)), len(ordered) - 1)]


def tiers_table(timed: Sequence[Timed]) -> Table:
    """Returns how many rows each tier decides, and at what cost; known references."""
    tiers: dict[str, list[Timed]] = defaultdict(list)
    for one in timed:
        tiers[one.tier].append(one)
    rows = [
        (
            f"`{tier}`",
            str(len(found)),
            format_share(len(found), len(timed)),
            format_number(_rate(found)),
            format_number(_quantile(found, 0.99)),
        )
        for tier, found in sorted(tiers.items(), key=lambda item: -len(item[1]))
    ]
    columns = ("tier that decided", "rows", "share %", "per CPU-second", "p99 CPU-ms")
    return Table("Cost by tier, references known", columns, tuple(rows))


def lengths_table(passes: Mapping[str, Mapping[int, Sequence[Timed]]]) -> Table:
    """Returns the median CPU time by the length of the completion."""
    lengths = list(next(iter(passes.values())))
    rows = [
        (name, *(format_number(statistics.median(t.cpu_ms for t in by[n])) for n in lengths))
        for name, by in passes.items()
    ]
    columns = ("median CPU-ms by length", *(f"{n / 1024:g}k" for n in lengths))
    return Table("Length of the completion", columns, tuple(rows), "k is 1,024 characters.")


def gsm8k_table(agreements: Mapping[str, Sequence[Judged]], rates: Mapping[str, str]) -> Table:
    """Returns the agreement with published labels, and rates as text."""
    rows = [
        (
            name,
            f"{len(found):,}",
            format_share(sum(j.right for j in found), len(found)),
            str(sum(not j.right for j in found)),
            rates[name],
        )
        for name, found in agreements.items()
    ]
    columns = ("grader", "solutions", "agreement %", "disagreements", "rate")
    return Table("Real model solutions of GSM8K with published correctness", columns, tuple(rows))


def contexts_table(found: Mapping[str, Sequence[Outcome]]) -> Table:
    """Returns in how many rows a context gives another verdict than the main thread."""
    main = next(iter(found.values()))
    rows = [
        (name, f"{len(outcomes):,}", str(sum(a != b for a, b in zip(main, outcomes, strict=True))))
        for name, outcomes in found.items()
    ]
    columns = ("called from", "rows", "other verdicts than in the main thread")
    note = "Compared are score, reason and graded span; all kinds are in it, the hostile ones too."
    return Table("The same verdicts everywhere", columns, tuple(rows), note)
