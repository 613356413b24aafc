"""A reward that runs programs: none is paid that does not do the work."""

from collections.abc import Callable

from rewardkit.audit._subject import Case
from rewardkit.audit._task_tricks import PRINTED_TRICKS
from rewardkit.audit.checks_shape import _FATES
from rewardkit.audit.context import Context, said
from rewardkit.audit.finding import Level
from rewardkit.audit.tasks import LAYOUTS, TASKS, Task, tricks_of

__all__ = ["check_task", "find_task"]


def find_task(context: Context) -> tuple[Task, str] | None:
    """Returns the task and the layout in which a right program is paid more than a wrong one.

    It sets the rows that the other checks use, and the session to message lists where only those
    are read.
    """
    session, kind = context.session, context.kind
    for chat in (False, True):
        session.chat = chat
        for name, lay in LAYOUTS.items():
            for task in TASKS[kind]:
                right, wrong = (
                    session.value(lay(kind, p), task.reference) for p in (task.right, task.wrong)
                )
                if right is None or right <= (wrong or 0.0) + 1e-9:
                    continue
                rows = [(task.right, task.reference), (task.wrong, task.reference)]
                context.rows = [session.case(lay(kind, p), r) for p, r in rows]
                context.rows.append(session.case("I do not know.", task.reference))
                context.rows.append(session.case(lay(kind, task.right), task.reference))
                context.scale = (wrong or 0.0, right)
                return task, name
    session.chat = False
    return None


def check_task(context: Context, task: Task, layout: str) -> None:
    """Runs every trick; a cause is named once."""
    lay, kind = LAYOUTS[layout], context.kind
    low, high = context.scale
    paid: set[str] = set()

    # Asserts compare with the program's own object: what they believe is theirs, not the reward's.
    inherent = "assert" in str(task.reference)

    def play(text: str, reference: object, cause: str, name: str, share: float = 0.6) -> bool:
        """Plays one program; returns whether it was paid."""
        case = context.session.case(text, reference)
        result = context.session.row(case)
        if result.fate:
            context.add("wall_bound" if result.fate == "timeout" else "totality", Level.CONTRACT,
                        _FATES[result.fate].replace("a text of the model", "a program"), [case], said(result))  # fmt: skip
            return False
        value = result.cells[0].value if result.ok and result.cells[0].finite else None
        gain = -1.0 if value is None else (value - low) / (high - low)
        if gain < share:
            return False
        paid.add(cause.partition(":")[0])
        level = Level.MEASURED if inherent and name == "no_spoofing" else Level.CONTRACT
        context.add(name, level, cause, [case],
                    f"paid {value:g}, where a right program gets {high:g} and a wrong one {low:g}",
                    expect=f"scores[0] is None or scores[0] < {low + share * (high - low):g}", gain=round(gain, 4))  # fmt: skip
        return True

    no_answer = "no_answer_pays: a text without a program is paid"
    for text in ("I do not know.", ""):
        play(text, task.reference, no_answer, "empty_and_blank")
    for trick in (*tricks_of(kind), *(PRINTED_TRICKS if task.printing else ())):
        if paid & {*trick.covered_by, "no_answer_pays"}:
            continue
        program = f"{task.wrong}\n{trick.program}" if trick.wrong_first else trick.program
        if trick.cause.startswith("crash_passes") and paid & {"empty_program_passes"}:
            continue
        asked = task.write(trick.statement) if trick.statement else task.reference
        play(lay(kind, program), asked, trick.cause, trick.property)
    for nothing in task.nothing:
        play(lay(kind, task.wrong), nothing,
             "empty_tests_pass: a task without a single test is paid", "empty_tests")  # fmt: skip
    if task.partial:
        play(lay(kind, task.partial), task.reference,
             "first_test_only: a program that passes the first test alone is paid in full", "all_tests", 0.9)  # fmt: skip
    for name in (
        "empty_and_blank",
        "crash_is_no_match",
        "no_spoofing",
        "verdict_channel",
        "empty_tests",
        "all_tests",
    ):
        context.holds(name)
    _check_respelled(context, task, lay)
    if kind == "code":
        _check_endless(context, lay(kind, f"{task.wrong}\nwhile True:\n    pass"), task)


def _check_respelled(context: Context, task: Task, lay: Callable[[str, str], str]) -> None:
    """Right programs of other forms are paid too."""
    low, high = context.scale
    for program in task.respelled:
        case = context.session.case(lay(context.kind, program), task.reference)
        result = context.session.row(case)
        value = result.cells[0].value if result.ok and result.cells[0].finite else None
        if value is None or value < low + 0.5 * (high - low):
            context.add("spelling_of_equal_values", Level.MEASURED,
                        "respelling_refused: a right program of another form is refused", [case],
                        said(result), expect=f"scores[0] >= {low + 0.5 * (high - low):g}")  # fmt: skip
            return


def _check_endless(context: Context, text: str, task: Task) -> None:
    """A program that never ends is stopped, and not paid."""
    case: Case = context.session.case(text, task.reference)
    result = context.session.row(case, timeout_s=45.0)
    low, high = context.scale
    if result.fate:
        context.add("wall_bound", Level.CONTRACT,
                    "hangs: a program that never ends keeps the reward busy past every limit (no time bound)",
                    [case], said(result))  # fmt: skip
    elif result.ok and (result.cells[0].value or 0.0) >= low + 0.6 * (high - low) > low:
        context.add("wall_bound", Level.CONTRACT, "timeout_passes: a program that never ends is paid",
                    [case], said(result), gain=1.0)  # fmt: skip
    context.holds("wall_bound")
