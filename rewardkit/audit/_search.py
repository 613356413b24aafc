"""The smallest case that is wrong, by hypothesis: generated, asked in one go, then shrunk."""

import json
import time
from collections.abc import Callable, Sequence
from dataclasses import astuple, dataclass, is_dataclass
from random import Random
from typing import Any, Generic, TypeVar

from hypothesis import HealthCheck, Phase, find, settings
from hypothesis.database import ExampleDatabase
from hypothesis.errors import NoSuchExample, Unsatisfiable

__all__ = ["Found", "Kept", "Limits", "search"]

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Limits:
    """How hard a profile looks."""

    examples: int
    """Cases of each property."""
    seconds: float
    """For the shrinking of one case, on the clock."""
    rate_cases: int
    """Cases of each family whose rate is measured."""
    rounds: int
    """Rounds of calls side by side."""
    quick: bool = False
    """True: a part of the fixed cases too, and one new process instead of three."""

    @classmethod
    def of(cls, profile: str) -> "Limits":
        """Returns the limits of `smoke`, `fast` or `deep`."""
        if profile == "smoke":
            return cls(4, 1.0, 4, 2, quick=True)
        return cls(200, 30.0, 200, 200) if profile == "deep" else cls(14, 2.0, 16, 12)

    def some(self, cases: Sequence[T]) -> Sequence[T]:
        """Returns the fixed cases that are tried: all, or each fourth."""
        return cases[::4] if self.quick else cases


@dataclass(frozen=True, slots=True)
class Kept(Generic[T]):
    """Where the failing cases of one search are kept between audits.

    They are kept as JSON: hypothesis's own entries are choices, which mean something else once a
    strategy changes, and are not kept at all for a search with a seed.
    """

    database: ExampleDatabase
    key: bytes
    """The same on every machine."""
    make: Callable[[Any], T]
    """Makes a case of its JSON data."""

    def load(self) -> dict[bytes, T]:
        """Returns the cases by their entries; an entry that cannot be read is dropped."""
        found = {}
        for entry in list(self.database.fetch(self.key)):
            try:
                found[entry] = self.make(json.loads(entry))
            except (ValueError, TypeError, RecursionError):
                self.database.delete(self.key, entry)
        return found

    def save(self, case: T) -> None:
        """Keeps a case."""
        data = astuple(case) if is_dataclass(case) and not isinstance(case, type) else case
        self.database.save(self.key, json.dumps(data).encode())


@dataclass(frozen=True, slots=True)
class Found(Generic[T]):
    """What a search has come to."""

    example: T | None
    """The smallest case, None if none was found."""
    tried: int
    hits: int
    """Of the `tried` generated cases, before any shrinking."""


def search(
    strategy: Any,
    ask: Callable[[Sequence[T]], Sequence[bool]],
    *,
    limits: Limits,
    times: int = 1,
    seed: int = 0,
    kept: Kept[T] | None = None,
    always: Sequence[T] = (),
) -> Found[T]:
    """Returns the smallest case that `ask` says yes to.

    All cases are generated first and asked together, which costs one exchange with the worker; only
    a hit is then shrunk, case by case. Which cases are tried depends on the seed alone, not on how
    busy the machine is.

    Args:
        strategy: of hypothesis.
        ask: called with cases; says for each whether it is wrong.
        limits: how many cases, and how long a hit is shrunk.
        times: a multiple of the cases.
        seed: of the generator.
        kept: failing cases of earlier audits, which are tried first; a hit is added to them, and
            one that is wrong no longer is dropped.
        always: cases that are tried in any case.
    """
    saved = {} if kept is None else kept.load()
    drawn: dict[str, T] = {repr(case): case for case in (*saved.values(), *always)}

    def note(case: T) -> bool:
        drawn.setdefault(repr(case), case)
        return False

    _find(strategy, note, limits.examples * times, seed)
    cases = list(drawn.values())
    answers = dict(zip(drawn, ask(cases), strict=True))
    hits = [drawn[key] for key, wrong in answers.items() if wrong]
    if kept is not None:
        for entry, case in saved.items():
            if not answers[repr(case)]:
                kept.database.delete(kept.key, entry)
    if not hits:
        return Found(None, len(cases), 0)
    best = list(hits)
    ends = time.monotonic() + limits.seconds

    def known(case: T) -> bool:
        key = repr(case)
        if key not in answers:
            # Out of time, nothing new is asked; what is known stays, so the search ends in order.
            if time.monotonic() > ends:
                return False
            answers[key] = bool(ask([case])[0])
            if answers[key]:
                best.append(case)
        return answers[key]

    example = _find(strategy, known, limits.examples * times, seed)
    if example is None:
        example = min(best, key=lambda case: (len(repr(case)), repr(case)))
    if kept is not None:
        kept.save(example)
    return Found(example, len(cases), len(hits))


def _find(strategy: Any, condition: Callable[[T], bool], examples: int, seed: int) -> T | None:
    try:
        found: T = find(
            strategy,
            condition,
            settings=settings(
                max_examples=examples,
                database=None,
                deadline=None,
                suppress_health_check=list(HealthCheck),
                phases=(Phase.generate, Phase.shrink),
            ),
            random=Random(seed),
        )
    except (NoSuchExample, Unsatisfiable):
        return None
    return found
