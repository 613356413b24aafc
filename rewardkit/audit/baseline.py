"""What a right answer and a wrong one get: the scale on which every trick is measured."""

import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from rewardkit.audit._jobs import Description
from rewardkit.audit.session import Session
from rewardkit.testing.frames import FRAMES, Frame, frames_of_source
from rewardkit.testing.strategies import Kind

__all__ = ["Baseline", "find_baseline"]

PAIRS: dict[Kind, tuple[tuple[str, str], ...]] = {
    "math": (("42", "58"), ("137", "286"), ("916", "254")),
    "choice": (("B", "C"), ("A", "D"), ("C", "A")),
    "text": (("Paris", "Oslo"), ("oxygen", "Mozart"), ("Jupiter", "copper")),
}
"""References and values that are another."""


def _number(text: str) -> Any:
    return int(text) if text.lstrip("-").isdigit() else _float(text)


def _float(text: str) -> Any:
    try:
        return float(text)
    except (TypeError, ValueError):
        return text


WRITINGS: dict[str, Callable[[Any], Any]] = {
    "text": lambda r: r,
    "number": lambda r: _number(r) if isinstance(r, str) else r,
    "float": lambda r: _float(r) if isinstance(r, str) else r,
    "after hashes": lambda r: f"We compute it.\n#### {r}",
    "boxed": lambda r: f"\\boxed{{{r}}}",
    "in dollars": lambda r: f"${r}$",
    "list": lambda r: [r],
    "tag": lambda r: f"<answer>{r}</answer>",
    "ground truth": lambda r: {"ground_truth": r},
    "answer": lambda r: {"answer": r},
    "index": lambda r: ord(r) - ord("A") if isinstance(r, str) and len(r) == 1 else r,
    "in brackets": lambda r: f"({r})",
    "target": lambda r: {"target": r},
}
"""How a reference is written in its column."""


@dataclass(frozen=True, slots=True)
class Baseline:
    """A frame in which right answers are paid, and what they get."""

    kind: Kind
    frame: Frame
    writing: str
    right: float
    """The least that a right answer got."""
    wrong: float
    """The most that a wrong answer got in the same frame."""
    blank: float | None
    """What a text without an answer got."""
    paying: tuple[str, ...]
    """Names of all frames in which the right answer is paid."""

    def reference(self, value: Any) -> Any:
        """Returns a reference as its column holds it."""
        return WRITINGS[self.writing](value)

    def share(self, value: float | None) -> float:
        """Returns what share of a right answer's pay a value is; 0 for none."""
        if value is None:
            return 0.0
        return (value - self.wrong) / (self.right - self.wrong)


def find_baseline(
    session: Session, description: Description, kinds: Sequence[Kind], seed: int = 0
) -> Baseline | None:
    """Returns the frame and the writing of references with the largest gain; None if none pays.

    The session is set to message lists where only those are read.
    """
    dynamic = frames_of_source(description.source)
    frames = (*FRAMES[:-1], *dynamic, FRAMES[-1])
    for kind in kinds:
        for writing in WRITINGS:
            if kind != "math" and writing in ("number", "float", "after hashes"):
                continue
            if kind != "choice" and writing in ("index", "in brackets"):
                continue
            for chat in (False, True):
                session.chat = chat
                found = _best(session, kind, frames, writing)
                if found is not None:
                    return found
    session.chat = False
    return None


def _best(session: Session, kind: Kind, frames: Sequence[Frame], writing: str) -> Baseline | None:
    write = WRITINGS[writing]
    pairs = PAIRS[kind]
    rows = [(f, g, a) for f in frames for g, w in pairs for a in (g, w)]
    order = list(range(len(rows)))
    random.Random(0).shuffle(order)  # a reward that counts its calls must not look like a frame
    results = session.score(
        [[session.case(rows[i][0].fill(rows[i][2]), write(rows[i][1]))] for i in order],
        timeout_s=6 * session.timeout_s,
    )
    values: dict[int, float | None] = {}
    for index, result in zip(order, results, strict=True):
        usable = result.ok and result.cells[0].finite
        values[index] = result.cells[0].value if usable else None
    best: tuple[float, int] | None = None
    paying = []
    for number, frame in enumerate(frames):
        start = number * 2 * len(pairs)
        right = [values[start + 2 * i] for i in range(len(pairs))]
        wrong = [values[start + 2 * i + 1] for i in range(len(pairs))]
        if any(v is None for v in right):
            continue
        gain = min(v for v in right if v is not None) - max(
            (v for v in wrong if v is not None), default=0.0
        )
        if gain <= 1e-9:
            gains = [
                r - w for r, w in zip(right, wrong, strict=True) if r is not None and w is not None
            ]
            if sum(g > 1e-9 for g in gains) < 2 or len(set(right)) > 1:
                continue
            gain = 1e-6  # paid now and then: a fault that the probes name
        paying.append(frame.name)
        if best is None or gain > best[0] + 1e-9:
            best = (gain, number)
    if best is None:
        return None
    start = best[1] * 2 * len(pairs)
    good = [v for i in range(len(pairs)) if (v := values[start + 2 * i]) is not None]
    bad = [v for i in range(len(pairs)) if (v := values[start + 2 * i + 1]) is not None]
    low = min(bad, default=0.0) if best[0] <= 1e-6 else max(bad, default=0.0)
    blank = session.value("I do not know.", write(pairs[0][0]))
    return Baseline(kind, frames[best[1]], writing, min(good), low, blank, tuple(paying))
