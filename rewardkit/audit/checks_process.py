"""Contract: what the reward leaves behind, and where it can run."""

from rewardkit.audit._jobs import BatchResult
from rewardkit.audit._jobs_effects import FIRST_CALL
from rewardkit.audit._subject import Case
from rewardkit.audit.context import Context, said
from rewardkit.audit.finding import Level

__all__ = ["check_effects", "check_places"]


def check_effects(context: Context) -> None:
    """Inputs and process are as they were."""
    rows = context.core()
    changed = context.session.mutations(rows)
    if context.reads_both and not changed:
        rows = [
            Case([{"role": "assistant", "content": c.completion}], c.reference, c.prompt)
            if isinstance(c.completion, str)
            else c
            for c in rows
        ]
        changed = context.session.mutations(rows)
    if changed:
        context.add(
            "inputs_not_mutated",
            Level.CONTRACT,
            f"mutates_inputs: the call changes what it was given: {', '.join(changed)}",
            rows[:1],
            f"changed: {', '.join(changed)}",
        )
    context.holds("inputs_not_mutated")
    if not context.limits.quick:
        context.session.restart()  # what the first call of a process leaves is looked at too
    left = context.session.effects(rows)
    if FIRST_CALL in left:
        left.remove(FIRST_CALL)
        context.add(
            "no_state",
            Level.CONTRACT,
            "state: a value depends on earlier calls (the first call of a process is another)",
            rows[:1],
            FIRST_CALL,
        )
    if left:
        context.add(
            "no_side_effects",
            Level.CONTRACT,
            f"side_effects: the call changes its process: {', '.join(left)}",
            rows[:1],
            f"different afterwards: {', '.join(left)}",
        )
    context.holds("no_side_effects")


def _differs(result: BatchResult, serial: BatchResult) -> bool:
    return result.ok != serial.ok or repr(result.values) != repr(serial.values)


_PLACES = {
    "threaded": (
        "thread_safety",
        "thread: it does not work outside of the main thread (signal.alarm and its kin)",
    ),
    "pickled": ("pickle", "pickle: the object does not survive pickling, so no worker can have it"),
    "forked": ("fork", "fork: it does not work in a forked child"),
    "daemonic": (
        "child_processes",
        "daemonic: it does not work in a daemonic pool worker (it starts multiprocessing children)",
    ),
}


def check_places(context: Context) -> None:
    """Threads, forked children, daemonic workers and pickled copies give the same values."""
    session = context.session
    rows = context.core()
    serial = session.score([rows])[0]
    # A closure is one by design; an object that holds one was meant to travel.
    may_be_local = context.description.routine or context.description.sort == "reward"
    for where, (name, cause) in _PLACES.items():
        result = session.elsewhere(where, rows)
        if not _differs(result, serial):
            context.holds(name)
        elif where == "pickled" and _is_local(result) and may_be_local:
            context.notes.append(f"It cannot be pickled ({result.error}): trainers that send it to "
                                 "other processes need a function or class at the top of a module.")  # fmt: skip
            context.skips(name, "a closure or lambda")
        else:
            context.add(
                name,
                Level.CONTRACT,
                cause,
                rows[:1],
                f"there it {said(result)}, here it {said(serial)}",
            )
    if any(f.property == "thread_safety" for f in context.findings):
        return
    _check_race(context)


_SLOW_S = 0.02


def _check_race(context: Context) -> None:
    """Calls side by side give what each gives alone."""
    session, rows = context.session, context.core()
    before = session.seconds
    session.score([rows])
    slow = session.seconds - before > _SLOW_S * len(rows)
    # A slow reward has deadlines of its own, which calls side by side may reach: few rows then.
    batches = [rows[:1], rows[1:2]] if slow else [rows[i:] + rows[:i] for i in range(4)]
    apart = session.score(batches)
    at = 0
    for _ in range(2):  # seen twice, it is no accident of a busy machine
        beside = session.concurrent(batches, 4 if slow else context.limits.rounds)
        at = next((i for i in range(len(batches)) if _differs(beside[i], apart[i])), -1)
        if at < 0 or not apart[at].ok or beside[at].fate == "timeout":
            context.holds("concurrency_safety")
            return
    context.add(
        "concurrency_safety",
        Level.CONTRACT,
        "race: calls side by side disturb each other (shared mutable state without a lock)",
        batches[at][:2],
        f"side by side it {said(beside[at])}, alone it {said(apart[at])}",
    )


def _is_local(result: BatchResult) -> bool:
    return (
        "local object" in result.error
        or "<lambda>" in result.error
        or "not the same object" in result.error
    )
