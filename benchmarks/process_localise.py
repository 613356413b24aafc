"""Prints how well the equality checker finds the first wrong step of labelled traces.

    python -m benchmarks.process_localise [--misses] [--write-docs]

The traces are those of BIG-Bench-Mistake, with the index of the first mistaken step. Where the
checker and the label differ, the equality that it calls wrong is worked out again by Python's own
integers, which share no code with the checker.
"""

import argparse
import ast
import json
import operator
import re
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from benchmarks._cases import gsm8k_file, load_gsm8k, shared_folder
from benchmarks._tables import Section, Table, describe_machine, format_share, write_sections
from rewardkit.process import Link, check_equalities

_KINDS = ("none wrong", "one wrong", "nothing to check")
TASKS = (
    "multistep_arithmetic",
    "dyck_languages",
    "logical_deduction",
    "tracking_shuffled_objects",
    "word_sorting",
)
_OPERATORS: dict[type, Callable[[int, int], int]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
}


@dataclass(frozen=True, slots=True)
class Trace:
    """A labelled trace, and what the checker says of it."""

    index: int
    steps: tuple[str, ...]
    target: str
    answer: str
    label: int | None
    """The first mistaken step; None for none."""
    links: tuple[Link, ...]

    @property
    def wrong(self) -> Link | None:
        """The first equality that does not hold."""
        return next((link for link in self.links if link.same is False), None)

    @property
    def found(self) -> int | None:
        """Its step."""
        return None if self.wrong is None else self.wrong.step


def read_traces(path: Path, limit: int | None = None) -> list[Trace]:
    """Returns the traces of a file with the checker's findings."""
    lines = path.read_text("utf-8").splitlines()[:limit]
    rows = [json.loads(line) for line in lines]
    return [
        Trace(
            index,
            tuple(row["steps"]),
            row["target"],
            row["answer"],
            row["mistake_index"],
            tuple(check_equalities(row["steps"])),
        )
        for index, row in enumerate(rows)
    ]


def integer(text: str) -> int:
    """Returns the value of an expression of integers, as Python works it out."""
    surplus = text.count("(") - text.count(")")
    text = text[surplus:] if surplus > 0 else text[: len(text) + surplus]

    def value(node: ast.expr) -> int:
        match node:
            case ast.Constant(value=int() as number):
                return number
            case ast.UnaryOp(op=ast.USub(), operand=inner):
                return -value(inner)
            case ast.BinOp(left=left, op=op, right=right):
                return _OPERATORS[type(op)](value(left), value(right))
        raise ValueError(text)

    return value(ast.parse(text.strip(), mode="eval").body)


@dataclass(frozen=True, slots=True)
class Scores:
    """How many traces the checker and the label agree on: with a mistake, and without."""

    bad_hits: int
    bad: int
    good_hits: int
    good: int

    @property
    def harmonic(self) -> float:
        """The F1 of ProcessBench (arXiv:2412.06559): the harmonic mean of both accuracies."""
        on_bad, on_good = self.bad_hits / max(self.bad, 1), self.good_hits / max(self.good, 1)
        return 2 * on_bad * on_good / (on_bad + on_good) if on_bad + on_good else 0.0


def scores(traces: Sequence[Trace]) -> Scores:
    """Returns the counts."""
    bad = [trace.found == trace.label for trace in traces if trace.label is not None]
    good = [trace.found == trace.label for trace in traces if trace.label is None]
    return Scores(sum(bad), len(bad), sum(good), len(good))


def localisation(traces: Sequence[Trace]) -> Table:
    """Returns the figures on the arithmetic traces."""
    found = scores(traces)
    hits, bad, good = found.bad_hits + found.good_hits, found.bad, found.good
    flagged = [trace for trace in traces if trace.found is not None]
    labelled = sum(trace.label is not None for trace in flagged)
    rows = (
        ("traces", f"{len(traces)}"),
        (
            "first wrong step right, or none where there is none",
            f"{format_share(hits, bad + good)} %",
        ),
        (f"the same on the {bad} traces with a mistake", f"{format_share(found.bad_hits, bad)} %"),
        (f"the same on the {good} traces without", f"{format_share(found.good_hits, good)} %"),
        ("F1 (harmonic mean of the two)", f"{100 * found.harmonic:.1f} %"),
        ("traces called wrong that are labelled wrong", f"{labelled} of {len(flagged)}"),
        ("traces labelled wrong that are called wrong", f"{labelled} of {bad}"),
        ("label and checker differ", f"{sum(t.found != t.label for t in traces)}"),
        ("of these, equalities that Python too finds wrong", f"{len(confirmed(traces))}"),
    )
    return Table("First wrong step, multistep arithmetic", ("", ""), rows)


def confirmed(traces: Sequence[Trace]) -> list[Trace]:
    """Returns the traces whose label differs although the equality found is wrong indeed."""
    return [
        trace
        for trace in traces
        if trace.found != trace.label
        and trace.wrong is not None
        and integer(trace.wrong.left) != integer(trace.wrong.right)
    ]


def misses(traces: Sequence[Trace]) -> Table:
    """Returns every trace where label and checker differ."""
    rows = []
    for trace in traces:
        if trace.found == trace.label:
            continue
        if trace.wrong is None:
            said, values = "nothing", f"answer {trace.answer}, right one {trace.target}"
        else:
            left, right = trace.wrong.left, trace.wrong.right
            said = f"`{left}` = `{right}`"
            values = f"{integer(left)} and {integer(right)}"
        rows.append((f"{trace.index}", f"{trace.label}", f"{trace.found}", said, values))
    columns = ("trace", "label", "checker", "called wrong", "values by Python")
    return Table("Where they differ", columns, tuple(rows), prose=True)


def coverage(folder: Path, limit: int | None = None) -> Table:
    """Returns what there is to check in each task, and what it costs."""
    rows = []
    for task in TASKS:
        started = time.process_time()
        traces = read_traces(folder / f"bbm_{task}.jsonl", limit)
        spent = time.process_time() - started
        steps = sum(len(trace.steps) for trace in traces)
        links = [link for trace in traces for link in trace.links]
        decided = {(t.index, k.step) for t in traces for k in t.links if k.same is not None}
        rows.append(
            (
                task.replace("_", " "),
                f"{len(traces)}",
                f"{steps}",
                f"{format_share(len(decided), steps)} %",
                f"{len(links)}",
                f"{sum(link.same is False for link in links)}",
                f"{1e3 * spent / len(traces):.1f}",
            )
        )
    columns = ("task", "traces", "steps", "decided", "equalities", "wrong", "CPU ms a trace")
    return Table("What there is to check", columns, tuple(rows))


def real_solutions(path: Path, limit: int | None = None) -> Table:
    """Returns what the checker says of model solutions whose final answers are labelled.

    The notes in double angle brackets, by which these solutions call a calculator, are taken out.
    """
    counts: dict[tuple[bool, str], int] = {}
    for case in load_gsm8k(path)[:limit]:
        text = re.sub(r"<<[^<>]*>>", "", case.completion)
        known = [link.same for link in check_equalities(text.split("\n")) if link.same is not None]
        found = "nothing to check" if not known else "none wrong" if all(known) else "one wrong"
        counts[case.label, found] = counts.get((case.label, found), 0) + 1
    rows = []
    for label, name in ((True, "right"), (False, "wrong")):
        own = [counts.get((label, kind), 0) for kind in _KINDS]
        checked = own[0] + own[1]
        share = f"{format_share(own[1], checked)} %"
        rows.append((f"final answer {name}", *map(str, own), share))
    columns = ("GSM8K solutions", *_KINDS, "one wrong, of those checked")
    return Table("Solutions of four models", columns, tuple(rows))


def main() -> None:
    """Prints the tables."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--misses", action="store_true", help="list every difference")
    parser.add_argument("--write-docs", action="store_true")
    options = parser.parse_args()
    folder = shared_folder() / "data" / "process"
    traces = read_traces(folder / "bbm_multistep_arithmetic.jsonl")
    tables = [localisation(traces), coverage(folder)]
    solutions = gsm8k_file()
    if solutions is not None:
        tables.append(real_solutions(solutions))
    text = "\n\n".join(table.to_markdown() for table in tables) + f"\n\n{describe_machine()}"
    print(text)
    listed = misses(traces).to_markdown()
    if options.misses:
        print(f"\n{listed}")
    if options.write_docs:
        sections = [Section("process-localise", text), Section("process-misses", listed)]
        print(*write_sections(sections), sep="\n")


if __name__ == "__main__":
    main()
