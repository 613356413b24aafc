"""Contract: time and memory are bounded on texts that are made to cost."""

from rewardkit.audit.checks_shape import _FATES
from rewardkit.audit.context import Context, said
from rewardkit.audit.finding import Level

__all__ = ["BOMBS", "check_bounds"]

_ENOUGH_S = 25.0

BOMBS: tuple[str, ...] = (
    "9**9**9",
    "9^{9^{9^{9}}}",
    "9^9^9^9",
    "10**10**9",
    "99999999999",
    "2**99999999",
    "(10**9)!",
    "999999999!",
    "\\binom{999999999}{400000000}",
    "'a'*10**11",
    "1e999999999",
    "9" * 5_000,
    "(" * 3_000 + "1" + ")" * 3_000,
    "{" * 3_000,
    "[" * 400,
    "\\frac{" * 2_000,
    "\\boxed{" * 2_000,
    "<answer>" * 2_000,
    "<think>" * 2_000,
    "a" * 40 + "!",
    "1" * 40 + "x",
    "word " * 40 + "!",
    "1," * 60 + "x",
    "1 " * 60 + "x",
    "-" * 3_000 + "1",
    " " * 4_000 + "x",
    "\n" * 4_000 + "x",
    "x" * 50_000,
    "\\sqrt{" * 400 + "2" + "}" * 400,
    "1+" * 4_000 + "1",
)
"""Towers of powers, deep nesting, long runs, and what makes a regular expression backtrack."""


def check_bounds(context: Context) -> None:
    """Each bomb ends in time, within the memory, and without a raise."""
    session, base = context.session, context.baseline
    reference = context.plain_reference()
    slowest, started = 0.0, session.seconds
    for number, bomb in enumerate(context.limits.some(BOMBS)):
        if session.seconds - started > _ENOUGH_S:
            context.notes.append(
                f"{number} of {len(BOMBS)} hostile texts took {_ENOUGH_S:g} s, so the rest was left out."
            )
            break
        texts = [bomb, f"<think>\n{bomb}"]
        if base is not None:
            texts = [base.frame.fill(bomb), bomb]
        for text in texts:
            case = session.case(text, reference)
            before = session.seconds
            result = session.row(case)
            slowest = max(slowest, session.seconds - before)
            slow = session.seconds - before > 1.0
            if slow and base is not None and result.ok and base.share(result.cells[0].value) >= 0.6:
                context.add(
                    "wall_bound",
                    Level.CONTRACT,
                    "timeout_passes: an answer that takes too long to work out is paid",
                    [case],
                    said(result),
                    gain=round(base.share(result.cells[0].value), 4),
                )
            if not result.error or result.refused:
                continue
            if result.fate:
                name = {"timeout": "wall_bound", "memory": "memory_bound"}.get(
                    result.fate, "totality"
                )
                context.add(name, Level.CONTRACT, _FATES[result.fate], [case], said(result))
                return
            if "daemonic" not in result.error:
                kind = result.error.partition(":")[0]
                memory = kind == "MemoryError"
                context.add(
                    "memory_bound" if memory else "totality",
                    Level.CONTRACT,
                    _FATES["memory"]
                    if memory
                    else f"raises: {kind} on a text of the model, which ends a training run",
                    [case],
                    said(result),
                )
    context.notes.append(f"Slowest hostile text: {slowest * 1e3:.3g} ms.")
    for name in ("wall_bound", "memory_bound"):
        context.holds(name)
