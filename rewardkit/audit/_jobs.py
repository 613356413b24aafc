"""What a worker does with the reward: score batches, and say exactly what came back."""

import ast
import inspect
import math
import os
import sys
import traceback
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from rewardkit.audit._signature import CallPlan
from rewardkit.audit._subject import Case, Spec, Subject, load, read_scores
from rewardkit.errors import RewardkitError
from rewardkit.runtime._tasks import describe as describe_error

__all__ = ["BatchResult", "Cell", "Description", "describe", "run_batch", "score", "settle"]


@dataclass(frozen=True, slots=True)
class Cell:
    """The reward of one row."""

    value: float | None
    """None for an abstention, and where what came back is no number."""
    wrong: str = ""
    """What is wrong with its type, if anything is."""

    @property
    def finite(self) -> bool:
        """True for a usable number."""
        return self.value is not None and math.isfinite(self.value)


@dataclass(frozen=True, slots=True)
class BatchResult:
    """What one call gave: cells, or an error, or a wrong shape."""

    cells: tuple[Cell, ...] = ()
    error: str = ""
    """Type and message of what it raised."""
    where: str = ""
    """Innermost line of the reward's own code that raised."""
    shape: str = ""
    """What is wrong with the shape of the result."""
    refused: bool = False
    """True if it raised on purpose, about a reference or a column."""
    fate: str = ""
    """`timeout`, `crash` or `memory` where the call ended its process."""
    lost: bool = False
    """True if no process gave an answer, for a reason that may lie with the machine."""

    @property
    def ok(self) -> bool:
        """True if there is one cell per row."""
        return not (self.error or self.shape)

    @property
    def values(self) -> tuple[float | None, ...]:
        """The numbers."""
        return tuple(cell.value for cell in self.cells)


@dataclass(frozen=True, slots=True)
class Description:
    """What can be known of a reward without a call."""

    sort: str
    plan: CallPlan
    is_async: bool
    name: str
    documentation: str
    source: str
    routine: bool = False
    """True for a function, False for an object."""
    bounds: tuple[float, float] | None = None
    literals: tuple[str, ...] = field(default=())
    """Texts in its module."""


def settle(folder: str, environment: dict[str, str]) -> None:
    """Makes a fresh worker quiet and gives it a folder and variables of its own."""
    os.environ.update(environment)
    quiet = os.open(os.devnull, os.O_RDWR)
    for stream in (0, 1, 2):
        os.dup2(quiet, stream)
    # A reward that writes beside itself must not write into the caller's folder.
    os.chdir(folder)
    sys.dont_write_bytecode = True


def describe(spec: Spec) -> Description:
    """Returns what can be known of the reward without a call."""
    subject = load(spec)
    target = subject.target
    routine = target if inspect.isroutine(target) else type(target)
    documentation = "\n".join(
        filter(None, [inspect.getdoc(routine), inspect.getdoc(subject.module)])
    )
    try:
        source = inspect.getsource(subject.module)
    except (OSError, TypeError):
        source = ""
    own = inspect.getdoc(routine) or ""
    if subject.sort == "reward":  # its class tells what any reward may do, and nothing of this one
        own = documentation = _components(target)
    return Description(
        subject.sort,
        subject.plan,
        subject.is_async,
        getattr(target, "__name__", type(target).__name__),
        own if inspect.isroutine(target) or own or subject.sort == "reward" else documentation,
        source if len(source) < 100_000 else "",
        inspect.isroutine(target),
        getattr(target, "clip", None) if subject.sort == "reward" else None,
        _literals(source),
    )


def _components(reward: Any) -> str:
    """Returns what the components of a reward are called and say of themselves."""
    lines = []
    for name, component in getattr(reward, "components", {}).items():
        routine = component if inspect.isroutine(component) else type(component)
        group = "Compares a group." if hasattr(component, "group_column") else ""
        lines.append(f"{name}: {inspect.getdoc(routine) or ''} {group}")
    return "\n".join(lines)


def _literals(source: str) -> tuple[str, ...]:
    """Returns the short texts in a module: what it looks for is often among them."""
    try:
        tree = ast.parse(source)
    except (SyntaxError, RecursionError):
        return ()
    texts = [
        n.value for n in ast.walk(tree) if isinstance(n, ast.Constant) and isinstance(n.value, str)
    ]
    return tuple(dict.fromkeys(text for text in texts if 1 < len(text) <= 60))[:40]


def score(
    spec: Spec, batches: Sequence[Sequence[Case]], stray: dict[str, Any] | None = None
) -> list[BatchResult]:
    """Returns what the reward says about each batch, one call each."""
    subject = load(spec)
    return [run_batch(subject, batch, **(stray or {})) for batch in batches]


def run_batch(subject: Subject, cases: Sequence[Case], **stray: Any) -> BatchResult:
    """Returns what one call gives; what the reward raises is a result."""
    try:
        columns = subject.columns(
            cases, **{name: [value] * len(cases) for name, value in stray.items()}
        )
        return _read(subject.call(cases, columns), len(cases))
    except MemoryError:
        raise
    except RewardkitError as error:
        return BatchResult(error=describe_error(error), refused=True)
    except Exception as error:  # the boundary: a reward that raises is what is looked for
        return BatchResult(error=describe_error(error), where=_place(error))


def _place(error: BaseException) -> str:
    frames = traceback.extract_tb(error.__traceback__)
    own = [f for f in frames if f"{os.sep}rewardkit{os.sep}audit" not in f.filename]
    if not own:
        return ""
    home = [f for f in own if "site-packages" not in f.filename and "/lib/python" not in f.filename]
    last = (home or own)[-1]
    return f"{os.path.basename(last.filename)}:{last.lineno} in {last.name}"


def _read(value: Any, count: int) -> BatchResult:
    value = read_scores(value)
    if value is None:
        return BatchResult(shape="returned None instead of a list")
    if isinstance(value, str | bytes | dict | set | frozenset) or not hasattr(value, "__len__"):
        if isinstance(value, int | float):
            return BatchResult(shape="returned one number for the batch instead of a list")
        return BatchResult(shape=f"returned a {type(value).__name__} instead of a list")
    try:
        items = list(value)
    except TypeError:
        return BatchResult(shape=f"returned a {type(value).__name__} instead of a list")
    if len(items) != count:
        return BatchResult(shape=f"returned {len(items)} values for {count} completions")
    foreign = (
        ""
        if type(value).__module__ in ("builtins", "rewardkit.reward")
        else (f"in a {type(value).__module__}.{type(value).__name__}")
    )
    return BatchResult(tuple(_cell(item, foreign) for item in items))


def _cell(item: Any, foreign: str) -> Cell:
    item = read_scores(item)
    if item is None:
        return Cell(None)
    if isinstance(item, float | int):  # numpy's float64 is a float too
        try:
            return Cell(float(item), foreign)
        except OverflowError:
            return Cell(math.inf)
    name = f"{type(item).__module__}.{type(item).__name__}".removeprefix("builtins.")
    if isinstance(item, str | bytes | complex | list | tuple | dict):
        return Cell(None, f"a {name}")
    try:
        return Cell(float(item), f"a {name}")
    except (TypeError, ValueError, OverflowError):
        return Cell(None, f"a {name}")
