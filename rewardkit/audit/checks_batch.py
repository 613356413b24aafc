"""Contract: a value belongs to its own row, whatever stands beside it, before it or after it."""

from collections.abc import Sequence

from rewardkit.audit._jobs import BatchResult
from rewardkit.audit._subject import Case
from rewardkit.audit.baseline import PAIRS
from rewardkit.audit.context import Context, said
from rewardkit.audit.finding import Level
from rewardkit.audit.session import same

__all__ = ["check_batches", "check_flakiness"]

Values = list[tuple[float | None, ...] | str]


def _told(results: Sequence[BatchResult]) -> list[str]:
    """Returns what can be compared between runs: NaN is like NaN, and messages do not count."""
    return [
        repr(r.values) if r.ok else (r.fate or r.error.partition(":")[0] or r.shape)
        for r in results
    ]


def _rows(context: Context) -> list[Case]:
    """Returns rows in which completions and references meet in several ways."""
    from rewardkit.testing.frames import FRAMES

    session = context.session
    if context.rows is not None:
        return context.rows
    rows = []
    for pairs in PAIRS.values():
        (one, other), _, _ = pairs
        for frame in (FRAMES[0], FRAMES[2], FRAMES[6], FRAMES[7], FRAMES[-1]):
            for answer, reference in ((one, one), (one, other), (other, one), (other, other)):
                case = session.case(frame.fill(answer), reference)
                rows.append(case)
                rows.append(
                    Case([{"role": "assistant", "content": case.completion}], reference,
                         [{"role": "user", "content": case.prompt}])
                )  # fmt: skip
    (one, other), _, _ = PAIRS["math"]
    for frame in (FRAMES[0], FRAMES[1], FRAMES[6]):  # several answers: a set has no order
        rows += [session.case(frame.around(a, b), one) for a, b in ((one, other), (other, one))]
    return rows if context.baseline is None else [*context.core(), *rows[::3]]


def check_flakiness(context: Context) -> bool:
    """Returns whether the same rows get the same values: without that, nothing else can be said."""
    session = context.session
    rows = _rows(context)
    singles = [[row] for row in rows]
    first, again = (session.score(singles, timeout_s=6 * session.timeout_s) for _ in range(2))
    backward = session.fresh(singles[::-1], 2)[::-1]
    forward = backward if context.limits.quick else session.fresh(singles, 1)
    lost = [r for results in (first, again, forward, backward) for r in results if r.lost]
    if lost and not all(r.lost for r in first):
        # A busy machine must not be taken for chance: what got no answer is asked for once more.
        first, again = (session.score(singles, timeout_s=12 * session.timeout_s) for _ in range(2))
        forward = session.fresh(singles, 1)
        backward = session.fresh(singles[::-1], 2)[::-1]
    told = [_told(r) for r in (first, again, forward, backward)]
    if not all(r.lost for r in first):
        for i, results in enumerate(zip(first, again, forward, backward, strict=True)):
            if any(r.lost for r in results):
                for row in told:
                    row[i] = "no answer"
    if told[0] == told[1] == told[2] == told[3]:
        for name in ("no_state", "seeded_determinism"):
            context.holds(name)
        return True
    repeated = _told(session.fresh(singles, 1))
    if repeated != told[2]:
        cause = "random: the same row gets another value each time (unseeded randomness or a clock)"
        name, pair = "seeded_determinism", (told[2], repeated)
    elif (seeded := _told(session.fresh(singles, 2))) != told[2]:
        cause = (
            "hash_seed: the value depends on PYTHONHASHSEED (hash() of a text, or the order of a "
            "set), so processes disagree"
        )
        name, pair = "seeded_determinism", (told[2], seeded)
    elif told[0] != told[1]:
        cause = "state: a value depends on earlier calls (a counter, a set of things seen, a running mean)"
        name, pair = "no_state", (told[0], told[1])
    else:
        cause = (
            "state: a value depends on earlier calls (a cache whose key leaves out the completion "
            "or the reference, or something that is carried over)"
        )
        name, pair = "no_state", (told[2], told[3])
    index = next((i for i, (a, b) in enumerate(zip(*pair, strict=True)) if a != b), 0)
    context.add(
        name, Level.CONTRACT, cause, [rows[index]], f"now {pair[0][index]}, then {pair[1][index]}"
    )
    return False


def check_batches(context: Context) -> None:
    """Permuting, splitting and repeating a batch changes no row's value."""
    session = context.session
    if context.description.sort == "function" and not context.description.plan.batched:
        context.skips("batch_independence", "takes one completion at a time")
        return
    rows = _interleaved(context)
    alone = session.score([[row] for row in rows])
    turned = [*rows[3:], *rows[:3]]
    whole, reverse, turn, twice = session.score([rows, rows[::-1], turned, [*rows, *rows]])
    if not all(r.ok for r in (whole, reverse, turn, twice, *alone)):
        return  # said by another check
    singles = [r.cells[0] for r in alone]
    moved = list(reverse.cells)[::-1]
    back = [*turn.cells[-3:], *turn.cells[:-3]]
    if all(same(cells, singles) for cells in (whole.cells, moved, back)) and same(
        twice.cells, singles * 2
    ):
        context.holds("batch_independence")
        context.holds("permutation_equivariance")
        context.holds("no_leak_between_samples")
        return
    equivariant = same(whole.cells, moved) and same(whole.cells, back)
    if equivariant and context.traits.group:
        context.skips("batch_independence", "compares the rows of a batch on purpose")
        return
    at = next((i for i, cell in enumerate(whole.cells) if not same([cell], [singles[i]])), 0)
    got = f"row {at}: {said(whole)} in the batch of {len(rows)}, {said(alone[at])} alone"
    batch = _smallest(context, rows)
    if equivariant:
        context.add(
            "batch_independence",
            Level.CONTRACT,
            "batch_dependence: a value depends on the other rows of the batch (normalised, ranked "
            "or compared within it)",
            batch,
            got,
        )
    elif _leaks(context, rows):
        context.add(
            "no_leak_between_samples",
            Level.CONTRACT,
            "cross_row: a row is graded against the reference of another row (wrong index, shifted "
            "or sorted rows, the first reference for all)",
            batch,
            got,
        )
    else:
        context.add(
            "permutation_equivariance",
            Level.CONTRACT,
            "order_dependence: the values of a batch do not follow its rows when these are moved "
            "(position, sorting, or something carried from row to row)",
            batch,
            got,
        )


def _interleaved(context: Context) -> list[Case]:
    base = context.baseline
    if base is None:
        return context.core()
    (a, b), (c, d), _ = PAIRS[base.kind]
    made = [(a, a), (b, a), (d, c), (c, c), (a, c), (a, a), (c, a)]
    rows = [context.session.case(base.frame.fill(t), base.reference(r)) for t, r in made]
    return [*rows, context.session.case("I do not know.", base.reference(a))]


def _leaks(context: Context, rows: list[Case]) -> bool:
    """Returns whether changing the reference of one row moves the value of another."""
    base = context.baseline
    if base is None:
        return False
    first, second, _ = (pair[0] for pair in PAIRS[base.kind])
    answers = [first, second, first]
    values = []
    for changed in range(3):
        batch = [
            context.session.case(
                base.frame.fill(a), base.reference(second if i == changed else first)
            )
            for i, a in enumerate(answers)
        ]
        values.append(context.session.score([batch])[0].values)
    # Row 2 keeps its reference in the first two batches, row 0 in the last two.
    return values[0][2:] != values[1][2:] or values[1][:1] != values[2][:1]


def _smallest(context: Context, rows: list[Case]) -> list[Case]:
    """Returns a pair of rows that shows it, or all."""
    for i in range(len(rows)):
        for j in range(i + 1, min(len(rows), i + 4)):
            pair = [rows[i], rows[j]]
            both, one, two = context.session.score([pair, pair[:1], pair[1:]])
            if both.ok and one.ok and two.ok and not same(both.cells, (*one.cells, *two.cells)):
                return pair
    return rows
