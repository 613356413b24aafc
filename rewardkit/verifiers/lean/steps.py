"""Tactic steps of a proof, and what each is worth after a check."""

import re
from collections.abc import Sequence
from dataclasses import dataclass

from rewardkit.verdict import Reason, StepVerdict
from rewardkit.verifiers.formal.scan import LEAN, Code, read_code
from rewardkit.verifiers.lean.messages import Message

__all__ = ["Step", "grade_steps", "have_blocks", "split_steps", "step_share"]

_BY = re.compile(r"(?<![\w.'])by(?![\w'])")
_HOLE = re.compile(r"(?<![\w.'])(?:sorry|admit|sorryAx)(?![\w'])")
_HAVE = re.compile(r"(?<![\w.'])(have|obtain|suffices)(?![\w'])")
_NEXT = re.compile(
    r"(?:@\[|#|(?:private|protected|theorem|lemma|def|example|end|namespace|section|instance|open|"
    r"axiom|variable|inductive|structure|abbrev|set_option)\b)"
)
_MAX_STEPS = 10_000


@dataclass(frozen=True, slots=True)
class Step:
    """One tactic step: where it stands, and whether it states an intermediate fact."""

    start: int
    end: int
    column: int
    is_have: bool


def split_steps(code: Code, begin: int = 0) -> list[Step]:
    """Returns the tactic steps of a proof: one a line of its `by` blocks, and one a `;`.

    A line that is indented deeper than its step and opens no block of its own continues it.
    Bullets and case names belong to the step that follows them on the line.

    Args:
        code: the submission.
        begin: where the target's proof begins.
    """
    found = _BY.search(code.bare, begin)
    start = found.end() if found is not None else begin
    steps: list[Step] = []
    opener = False
    for place, line in _lines_from(code.bare, start):
        if not line.strip():
            continue
        column = len(line) - len(line.lstrip())
        if steps and column == 0 and _NEXT.match(line):
            break
        deeper = bool(steps) and column > steps[-1].column and not opener
        if deeper:
            steps[-1] = Step(
                steps[-1].start, place + len(line.rstrip()), steps[-1].column, steps[-1].is_have
            )
        else:
            steps.extend(_parts(line, place, column))
        opener = re.search(r"(?:\bby|=>|\bwith|\bcalc|·)\s*$", line.rstrip()) is not None
        if len(steps) > _MAX_STEPS:
            break
    return steps


def _lines_from(bare: str, start: int) -> list[tuple[int, str]]:
    found, place = [], start
    for number, line in enumerate(bare[start:].split("\n")):
        if number == 0:
            margin = start - (bare.rfind("\n", 0, start) + 1)
            found.append((place - margin if not line.strip() else place, line))
        else:
            found.append((place, line))
        place += len(line) + 1
    return found


def _parts(line: str, place: int, column: int) -> list[Step]:
    parts, depth, begin = [], 0, column
    for at, character in enumerate(line):
        depth += (character in "([{⟨") - (character in ")]}⟩")
        if character == ";" and depth == 0 and line[max(0, at - 1)] != "<":
            parts.append((begin, at))
            begin = at + 1
    parts.append((begin, len(line.rstrip())))
    steps = []
    for first, last in parts:
        first += len(line[first:last]) - len(line[first:last].lstrip())
        if first < last:
            is_have = _HAVE.search(line, first, last) is not None
            steps.append(Step(place + first, place + last, column, is_have))
    return steps


def grade_steps(
    steps: Sequence[Step], code: Code, errors: Sequence[tuple[int, Message]], shift: int
) -> tuple[StepVerdict, ...]:
    """Returns a verdict a step: 1 before the first error, 0 at and after it, 0 for a hole.

    Args:
        steps: the steps of the proof.
        code: the submission.
        errors: place in the submission, and message, of each error.
        shift: added to places to get those of the completion.
    """
    first = min((place for place, _ in errors), default=len(code.text) + 1)
    # "unsolved goals" stands at the block's beginning, and means that its end was reached.
    unsolved = [m for p, m in errors if p == first and "unsolved goals" in m.text]
    inner = [p for p, m in errors if "unsolved goals" not in m.text]
    if unsolved:
        first = min(inner, default=len(code.text) + 1)
    graded = []
    for step in steps:
        hole = _HOLE.search(code.bare, step.start, step.end) is not None
        good = step.end <= first and not hole
        if step.start <= first < step.end and not hole:
            good = False
        reason = Reason.MATCH if good else Reason.UNPROVED if hole else Reason.MISMATCH
        detail = "a hole" if hole else "" if good else "at or after the first error"
        graded.append(
            StepVerdict(step.start + shift, step.end + shift, float(good), reason, detail)
        )
    return tuple(graded)


def step_share(steps: Sequence[StepVerdict]) -> float:
    """Returns the share of steps before the first that is not good, in [0, 1); 0 without steps.

    Below 1 even if every step is good: what the proof lacks then is its end. A full proof alone
    is worth 1, and a hole and all that follows it are worth nothing.
    """
    good = 0
    for step in steps:
        if step.score != 1.0:
            break
        good += 1
    return good / (len(steps) + 1)


def have_blocks(text: str) -> list[tuple[int, int]]:
    r"""Returns where each `have … := by …` of a proof begins and ends, in order.

    >>> text = "by\n  have a : p := by\n    simp\n  have b : q := hq\n  exact b"
    >>> [text[i:j] for i, j in have_blocks(text)]
    ['have a : p := by\n    simp', 'have b : q := hq']
    """
    code = read_code(text, LEAN)
    blocks = []
    lines = code.lines()
    for number, (place, line) in enumerate(lines):
        found = re.match(r"(\s*(?:[·.]\s*)?)have(?![\w'])", line)
        if found is None or ":=" not in code.bare[place:]:
            continue
        column, end = len(found[1]), place + len(line.rstrip())
        for later, following in lines[number + 1 :]:
            if following.strip() and len(following) - len(following.lstrip()) <= column:
                break
            if following.strip():
                end = later + len(following.rstrip())
        blocks.append((place + column, end))
    return blocks
