"""What every check of an audit is given."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from hypothesis.database import ExampleDatabase

from rewardkit.audit._jobs import BatchResult, Description
from rewardkit.audit._search import Found, Kept, Limits, T, search
from rewardkit.audit._subject import Case
from rewardkit.audit.baseline import Baseline
from rewardkit.audit.finding import Finding, Level
from rewardkit.audit.paste import paste_test
from rewardkit.audit.rates import Rate
from rewardkit.audit.session import Session
from rewardkit.audit.traits import Traits

__all__ = ["Context", "shown"]


def shown(value: Any, limit: int = 400) -> str:
    """Returns a value as a short line."""
    text = repr(value)
    return text if len(text) <= limit else f"{text[:limit]}… ({len(text):,} characters)"


@dataclass(slots=True)
class Context:
    """One audit while it runs: the reward, what is known of it, and what was found."""

    session: Session
    description: Description
    traits: Traits
    limits: Limits
    kind: str = "auto"
    database: ExampleDatabase | None = None
    """Failing cases of earlier audits."""
    reads_both: bool = False
    """True if texts and message lists are paid."""
    baseline: Baseline | None = None
    rows: list[Case] | None = None
    """Rows of a reward that runs programs."""
    scale: tuple[float, float] = (0.0, 1.0)
    """What its wrong and its right program get."""
    findings: list[Finding] = field(default_factory=list)
    checked: dict[str, str] = field(default_factory=dict)
    """By property: `holds`, `fails`, or why it was not tested."""
    notes: list[str] = field(default_factory=list)
    rates: list[Rate] = field(default_factory=list)
    attempts: dict[str, tuple[int, int]] = field(default_factory=dict)
    """By probe: cases that paid, and cases tried, before shrinking."""

    def core(self) -> list[Case]:
        """Returns rows of each sort: right, wrong, without an answer, empty, cut."""
        session, base = self.session, self.baseline
        if self.rows is not None:
            return self.rows
        if base is None:
            texts = [*SHAPES, "42", "B", "Paris", ""]
            return [session.case(text, "42") for text in texts]
        from rewardkit.audit.baseline import PAIRS

        rows = []
        for right, wrong in PAIRS[base.kind]:
            rows += [(base.frame.fill(right), right), (base.frame.fill(wrong), right)]
            rows += [(base.frame.fill(right), wrong), ("I do not know.", right)]
        right, wrong = PAIRS[base.kind][0]
        rows.append((base.frame.around(right, wrong), right))
        if base.kind == "math":  # what is lax in some places only shows where it is close
            rows.append((base.frame.fill(str(int(right) + 1)), right))
        rows += [("", PAIRS[base.kind][0][0]), (base.frame.fill(""), PAIRS[base.kind][0][0])]
        return [session.case(text, base.reference(r)) for text, r in rows]

    def slow(self) -> bool:
        """Returns whether a call takes so long that fewer cases are tried: 20 ms."""
        return self.session.seconds > 0.02 * self.session.calls

    def plain_reference(self) -> Any:
        """Returns a reference that can be graded against."""
        if self.rows is not None:
            return self.rows[0].reference
        if self.baseline is None:
            return "42"
        return self.baseline.reference(
            {"math": "42", "choice": "B"}.get(self.baseline.kind, "Paris")
        )

    def search(
        self,
        name: str,
        strategy: Any,
        ask: Callable[[Sequence[T]], Sequence[bool]],
        *,
        times: int = 1,
        seed: int = 0,
        make: Callable[[Any], T] = lambda data: data,
        always: Sequence[T] = (),
    ) -> Found[T]:
        """Returns the smallest case that `ask` says yes to; see `rewardkit.audit._search.search`.

        Args:
            name: of the search, under which its failing cases are kept.
            strategy: of hypothesis.
            ask: called with cases; says for each whether it is wrong.
            times: a multiple of the profile's cases.
            seed: of the generator.
            make: makes a case of its JSON data, for those that are kept.
            always: cases that are tried in any case.
        """
        kept = None
        if self.database is not None:
            spec, base = self.session.spec, self.baseline
            place = Path(spec.place).name if spec.place.endswith(".py") else spec.place
            shape = "" if base is None else f"{base.kind} {base.frame.name}"
            key = "\0".join(("rewardkit audit", place, spec.name, self.kind, shape, name))
            kept = Kept(self.database, key.encode("utf-8", "backslashreplace"), make)
        return search(
            strategy, ask, limits=self.limits, times=times, seed=seed, kept=kept, always=always
        )

    def holds(self, name: str) -> None:
        """Notes that a property was tested and held."""
        self.checked.setdefault(name, "holds")

    def skips(self, name: str, why: str) -> None:
        """Notes that a property was not tested."""
        self.checked.setdefault(name, why)

    def add(
        self,
        name: str,
        level: Level,
        cause: str,
        cases: Sequence[Case],
        got: str,
        *,
        expect: str = "",
        symptoms: Sequence[str] = (),
        gain: float | None = None,
    ) -> None:
        """Adds a finding, unless its cause is known already.

        Args:
            name: the property.
            level: its level.
            cause: `slug: sentence`.
            cases: the smallest rows that show it.
            got: what the reward said.
            expect: a Python condition on `scores` that should hold; empty for no more than that
                the call returns.
            symptoms: other probes of the same cause.
            gain: what it pays.
        """
        self.checked[name] = "fails"
        slug = cause.partition(":")[0]
        if any(f.root_cause.partition(":")[0] == slug for f in self.findings):
            return
        rows = "; ".join(
            f"completion {shown(c.completion)} with reference {shown(c.reference, 120)}"
            for c in cases[:3]
        )
        test = paste_test(self.session.spec, self.description, slug, cases, expect)
        example = f"{rows} -> {got}" if rows else got
        self.findings.append(Finding(name, level, cause, example, test, tuple(symptoms), gain))


SHAPES: tuple[str, ...] = (
    "<think>\nLet us see.\n</think>\n<answer>\n42\n</answer>",
    "<think>Let us see.</think><answer>42</answer>",
    "<think>\nLet us see.\n</think>\n42",
    "<answer>42</answer>",
    "\\boxed{42}",
    "Let us see.\n#### 42",
    "Answer: 42",
    '{"answer": 42}',
    "```python\nprint(42)\n```",
    "- one\n- two\n- three",
    "Let us see. " * 30,
    "Short.",
)
"""Completions of many forms, for rewards that look at the form alone."""


def said(result: BatchResult) -> str:
    """Returns in one line what the reward said about a batch."""
    if result.fate:
        return {"timeout": "hangs", "crash": "its process dies", "memory": "runs out of memory"}[
            result.fate
        ] + f" ({result.error})"
    if result.error:
        return f"raises {result.error}" + (f" at {result.where}" if result.where else "")
    if result.shape:
        return result.shape
    return "scores " + ", ".join(
        c.wrong or ("None" if c.value is None else f"{c.value:g}") for c in result.cells
    )
