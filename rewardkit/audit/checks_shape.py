"""Contract: any text gets one finite number or an abstention, in a batch of any size."""

from collections.abc import Sequence

from hypothesis import strategies as st

from rewardkit.audit._jobs import BatchResult
from rewardkit.audit._subject import Case
from rewardkit.audit.baseline import PAIRS
from rewardkit.audit.context import Context, said
from rewardkit.audit.finding import Level
from rewardkit.audit.session import same
from rewardkit.testing.frames import FRAMES
from rewardkit.testing.strategies import EDGES, hostile_texts

__all__ = ["check_columns", "check_contents", "check_results", "check_sizes", "check_totality"]


def check_sizes(context: Context) -> None:
    """Batches of 0, 1, 2 and many rows come back with as many values."""
    rows = context.core()
    sizes = [rows[:1], rows[:2], rows, rows[3:4], rows[:0]]
    for batch, result in zip(sizes, context.session.score(sizes), strict=True):
        if result.shape:
            context.add(
                "one_value_per_completion",
                Level.CONTRACT,
                f"wrong_shape: a batch of {len(batch)} rows {_generic(result.shape)}",
                _smallest(context, batch),
                said(result),
                expect=f"len(scores) == {len(_smallest(context, batch))}",
            )
        elif not batch and result.error and not result.refused:
            context.add(
                "one_value_per_completion",
                Level.CONTRACT,
                "empty_batch_raises: a batch without rows raises instead of giving an empty list",
                [],
                f"an empty batch {said(result)}",
                expect="scores == []",
            )
    context.holds("one_value_per_completion")


def _generic(shape: str) -> str:
    return f"does not give one value per completion: it {shape}"


def _smallest(context: Context, batch: Sequence[Case]) -> list[Case]:
    """Returns the fewest rows of a batch that still come back in a wrong shape."""
    kept = list(batch)
    index = 0
    while index < len(kept) and len(kept) > 1:
        fewer = kept[:index] + kept[index + 1 :]
        if context.session.score([fewer])[0].shape:
            kept = fewer
        else:
            index += 1
    return kept


def check_results(context: Context) -> None:
    """Every value is a plain finite number, or None; and within the range that is claimed."""
    rows, base = context.core(), context.baseline
    if base is not None:  # a bonus may hang on a form that is not the one that is attacked
        right = PAIRS[base.kind][0][0]
        rows = [
            *rows,
            *(context.session.case(f.fill(right), base.reference(right)) for f in FRAMES),
        ]
    for case, result in zip(rows, context.session.score([[c] for c in rows]), strict=True):
        _judge_value(context, case, result)
    context.holds("real_finite_number")


def _judge_value(context: Context, case: Case, result: BatchResult) -> bool:
    """Adds a finding if a value is no number or out of range; returns whether it is."""
    if not result.ok:
        return False
    cell = result.cells[0]
    if cell.wrong:
        number = cell.value is not None
        name = "plain_scalars" if number else "real_finite_number"
        cause = (
            f"foreign_type: values come back as {cell.wrong} instead of a plain float"
            if number
            else f"not_a_number: a value comes back as {cell.wrong} instead of a float"
        )
        context.add(
            name, Level.CONTRACT, cause, [case], said(result), expect="isinstance(scores[0], float)"
        )
        return True
    if cell.value is not None and not cell.finite:
        context.add(
            "real_finite_number",
            Level.CONTRACT,
            f"not_finite: a value is {cell.value} (NaN or infinity) instead of a number or None",
            [case],
            said(result),
            expect="scores[0] is None or abs(scores[0]) < float('inf')",
        )
        return True
    bounds = context.traits.range or context.description.bounds
    if bounds and cell.value is not None and not bounds[0] - 1e-9 <= cell.value <= bounds[1] + 1e-9:
        context.add(
            "declared_range",
            Level.DECLARED,
            f"out_of_range: a value leaves the range from {bounds[0]:g} to {bounds[1]:g} that is declared",
            [case],
            said(result),
            expect=f"{bounds[0]:g} <= scores[0] <= {bounds[1]:g}",
        )
        return True
    return False


def check_totality(context: Context) -> None:
    """No text raises, and none gets anything but a number."""
    session, base = context.session, context.baseline
    reference = context.plain_reference()

    def make(text: str) -> Case:
        return session.case(text, reference)

    texts = hostile_texts()
    if base is not None:
        texts = texts | hostile_texts().map(base.frame.fill)

    def raises(texts: Sequence[str]) -> list[bool]:
        results = session.rows([make(text) for text in texts])
        return [bool(r.error or r.shape) and not r.refused for r in results]

    # The edges are few, so each is tried: chance must not decide whether 1/0 is.
    chosen = context.limits.some(EDGES)
    edges = [] if context.slow() else [*chosen, *(base.frame.fill(e) for e in chosen if base)]
    hits = (
        [text for text, wrong in zip(edges, raises(edges), strict=True) if wrong] if edges else []
    )
    few = context.slow() or context.limits.quick
    found = context.search("totality", texts, raises, times=3 if few else 10)
    example = min(hits, key=len) if hits else found.example
    if example is not None:
        case = make(example)
        result = session.row(case)
        name = "totality" if result.error else "one_value_per_completion"
        name = {"timeout": "wall_bound", "memory": "memory_bound"}.get(result.fate, name)
        kind = result.error.partition(":")[0]
        cause = (
            f"raises: {kind} on a text of the model, which ends a training run"
            if not result.fate
            else f"{_FATES[result.fate]}"
        )
        if result.shape:
            cause = f"wrong_shape: a text of the model does not give one value: it {result.shape}"
        if "daemonic" in result.error or "main thread" in result.error:
            return
        context.add(name, Level.CONTRACT, cause, [case], said(result))
    context.holds("totality")

    def off(texts: Sequence[str]) -> list[bool]:
        return [is_off(result) for result in session.rows([make(text) for text in texts])]

    def is_off(result: BatchResult) -> bool:
        bad = result.ok and (
            bool(result.cells[0].wrong)
            or (result.cells[0].value is not None and not result.cells[0].finite)
        )
        bounds = context.traits.range or context.description.bounds
        if result.ok and bounds and result.cells[0].finite:
            value = result.cells[0].value or 0.0
            bad = bad or not bounds[0] - 1e-9 <= value <= bounds[1] + 1e-9
        return bad

    long = [context.core()[0].completion, "word " * 3000, "word " * 300]
    texts = texts | st.sampled_from([t for t in long if isinstance(t, str)])
    odd = context.search("values", texts, off, times=2 if few else 6, seed=1)
    if odd.example is not None:
        case = make(odd.example)
        _judge_value(context, case, session.row(case))
    context.holds("real_finite_number")
    if context.traits.range or context.description.bounds:
        context.holds("declared_range")
    else:
        context.skips("declared_range", "no range is declared")


_FATES = {
    "timeout": "hangs: a text of the model keeps the reward busy past every limit (no time bound)",
    "memory": "memory: a text of the model makes the reward use all its memory (no memory bound)",
    "crash": "process_dies: a text of the model ends the process of the reward (exit, crash)",
}


def check_columns(context: Context) -> None:
    """Stray columns, which trainers pass along, change nothing."""
    session, plan = context.session, context.description.plan
    if context.description.sort == "function" and not plan.batched and not plan.extra:
        context.skips("extra_columns", "takes one completion and named arguments")
        return
    rows = context.core()[:2]
    plain = session.score([rows])[0]
    stray = {"difficulty": "easy", "index": 3, "metadata": {"source": "x"}, "note": None}
    full = session.score([rows], stray=stray)[0]
    if plain.ok and (not full.ok or full.cells != plain.cells):
        context.add(
            "extra_columns",
            Level.CONTRACT,
            "stray_columns: other columns of the data set, which a trainer passes along, break it "
            "(no `**kwargs`, or they are all read)",
            rows[:1],
            f"with the columns {', '.join(stray)} it {said(full)}",
        )
    context.holds("extra_columns")


def check_contents(context: Context) -> None:
    """Texts and message lists are scored alike, where both are read."""
    session, base = context.session, context.baseline
    was_chat = session.chat
    rows = context.core()
    other = [
        Case(c.completion[0]["content"], c.reference, c.prompt[0]["content"])
        if was_chat
        else Case([{"role": "assistant", "content": c.completion}], c.reference,
                  [{"role": "user", "content": c.prompt}])
        for c in rows
    ]  # fmt: skip
    here = session.score([[c] for c in rows])
    there = session.score([[c] for c in other])
    reads_both = any(
        r.ok and base is not None and base.share(r.cells[0].value) > 0.9 for r in there
    )
    if reads_both:
        for case, mine, theirs in zip(other, here, there, strict=True):
            if mine.ok and (not theirs.ok or not same(theirs.cells, mine.cells)):
                context.add(
                    "content_types",
                    Level.CONTRACT,
                    "chat_differs: a message list is not scored like its text",
                    [case],
                    f"as a message list or text it {said(theirs)}, in the other form it {said(mine)}",
                )
                break
    context.reads_both = reads_both
    if was_chat or reads_both:
        _check_silent_turns(context, rows[0])
    else:
        context.skips("content_types", "reads texts only")
    context.holds("content_types")


def _check_silent_turns(context: Context, row: Case) -> None:
    """A turn of tool calls has content None."""
    session = context.session
    text = row.completion if isinstance(row.completion, str) else row.completion[0]["content"]
    silent = Case([{"role": "assistant", "content": None}], row.reference, row.prompt)
    parts = Case(
        [{"role": "assistant", "content": [{"type": "text", "text": text}]}],
        row.reference,
        row.prompt,
    )
    nothing, typed = session.score([[silent], [parts]])
    bad = bool(nothing.error) and not nothing.refused
    empty = session.row(Case([{"role": "assistant", "content": ""}], row.reference, row.prompt))
    if bad and empty.error.partition(":")[0] == nothing.error.partition(":")[0]:
        return  # what raises there is the empty text
    reads_parts = typed.ok and same(typed.cells, session.row(row).cells)
    if bad and (context.traits.tool_turns or reads_parts):
        context.add(
            "content_types",
            Level.CONTRACT,
            "silent_turn: a message whose content is None (a turn of tool calls) raises",
            [silent],
            said(nothing),
        )
    elif bad:
        context.notes.append(
            "A message whose content is None, as a turn of tool calls has it, raises "
            f"({nothing.error}). If your chats hold such turns, say Traits(tool_turns=True)."
        )
