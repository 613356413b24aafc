"""The ways of judging: what each asks, and what the answers are worth.

A mode is a generator: it yields lists of queries that are asked side by side, is sent their
answers, and returns what they are worth. Whoever drives it sees to it that every query has an
answer from its closed set: where one has none, the row is an abstention and the mode is dropped.
"""

from collections.abc import Generator, Sequence
from dataclasses import dataclass, field
from typing import Literal, Protocol, TypeAlias

from rewardkit.errors import ConfigError, InvalidReferenceError
from rewardkit.verdict import Json, Reason
from rewardkit.verifiers.judge.query import Answers, Query
from rewardkit.verifiers.judge.reference import Job, JudgeReference
from rewardkit.verifiers.judge.rubric import Rubric

__all__ = ["Equivalence", "Mode", "RubricMode", "Scale", "Settled", "Steps", "base_data", "rate"]


@dataclass(frozen=True, slots=True)
class Settled:
    """What the answers of a row are worth."""

    score: float | None
    reason: Reason
    detail: str
    parts: dict[str, float] = field(default_factory=dict)


Steps: TypeAlias = Generator[list[Query], Sequence[Answers], Settled]
"""Yields queries, is sent an answer for each, returns what they are worth."""


class Mode(Protocol):
    """A way of judging."""

    def check(self, reference: JudgeReference) -> None:
        """Checks that a reference has what this mode needs.

        Raises:
            InvalidReferenceError: it has not.
        """
        ...

    def steps(self, job: Job) -> Steps:
        """Returns the generator that judges a job."""
        ...


def base_data(job: Job, guideline: str | None = None) -> dict[str, Json]:
    """Returns the question and the guidelines, as far as there are any."""
    data: dict[str, Json] = {}
    if job.question is not None:
        data["question"] = job.question
    notes = [note for note in (guideline, job.reference.guideline) if note]
    if notes:
        data["guideline"] = "\n".join(notes)
    return data


def rate(score: float) -> Reason:
    """Returns the reason that fits a score: match, partial or mismatch."""
    return Reason.MATCH if score == 1 else Reason.PARTIAL if score else Reason.MISMATCH


@dataclass(frozen=True, slots=True)
class Equivalence:
    """Does the response give the reference answer: CORRECT, INCORRECT or NOT_ATTEMPTED."""

    guideline: str | None = None
    both_orders: bool = False
    """Ask a second time with the reference after the response; only agreement counts."""

    def check(self, reference: JudgeReference) -> None:
        """Checks that there is an answer."""
        if reference.answer is None:
            raise InvalidReferenceError("mode 'equivalence' needs a reference answer")

    def steps(self, job: Job) -> Steps:
        """Asks once, or once in each order."""
        first: dict[str, Json] = {"reference": job.reference.answer, "response": job.response}
        orders = [first]
        if self.both_orders:
            orders.append({"response": job.response, "reference": job.reference.answer})
        queries = [
            Query(_EQUIVALENCE, base_data(job, self.guideline) | order, _GRADES, _GRADE_VALUES)
            for order in orders
        ]
        grades = [answers["verdict"] for answers in (yield queries)]
        if len(set(grades)) > 1:
            said = " and ".join(grades)
            return Settled(None, Reason.UNPROVED, f"the two orders disagree: {said}")
        return Settled(*_GRADE_WORTH[grades[0]], detail=grades[0])


_EQUIVALENCE = (
    "Decide whether the field `response` gives the same final answer as the field `reference`, "
    "which is right. Wording, order and notation do not matter; the value or meaning does. "
    "CORRECT: it commits to an answer that is equivalent to the reference. INCORRECT: it commits "
    "to another one, or to several. NOT_ATTEMPTED: it commits to none. A response that only "
    "announces an answer, or only speaks about grading, is NOT_ATTEMPTED."
)
_GRADES = {"verdict": ("CORRECT", "INCORRECT", "NOT_ATTEMPTED")}
_GRADE_VALUES = {"CORRECT": 1.0, "INCORRECT": 0.0, "NOT_ATTEMPTED": 0.0}
_GRADE_WORTH = {
    "CORRECT": (1.0, Reason.MATCH),
    "INCORRECT": (0.0, Reason.MISMATCH),
    "NOT_ATTEMPTED": (0.0, Reason.NO_ANSWER),
}


@dataclass(frozen=True, slots=True)
class Scale:
    """How good the response is, on a scale of whole numbers; the score is its place on it."""

    guideline: str | None = None
    lowest: int = 1
    highest: int = 5

    def __post_init__(self) -> None:
        if not -1000 <= self.lowest < self.highest <= 1000 or self.highest - self.lowest > 100:
            raise ConfigError(
                f"a scale has 2 to 101 whole numbers, not {self.lowest} to {self.highest}"
            )

    def check(self, reference: JudgeReference) -> None:
        """Checks that something says what is good."""
        if self.guideline is None and reference.guideline is None and reference.answer is None:
            raise InvalidReferenceError(
                "mode 'scale' needs a rubric, or a 'guideline' or an answer in the reference"
            )

    def steps(self, job: Job) -> Steps:
        """Asks once."""
        data = base_data(job, self.guideline)
        if job.reference.answer is not None:
            data["reference"] = job.reference.answer
        steps = range(self.lowest, self.highest + 1)
        width = self.highest - self.lowest
        values = {str(step): (step - self.lowest) / width for step in steps}
        task = (
            "Rate the field `response` by the guideline, and by the reference where there is one, "
            f"with a whole number from {self.lowest} (worst) to {self.highest} (best)."
        )
        query = Query(task, data | {"response": job.response}, {"verdict": tuple(values)}, values)
        [answers] = yield [query]
        step = answers["verdict"]
        score = values[step]
        return Settled(score, rate(score), f"{step} of {self.lowest} to {self.highest}")


@dataclass(frozen=True, slots=True)
class RubricMode:
    """Which criteria the response meets: MET or UNMET for each; points may be negative."""

    rubric: Rubric | None = None
    guideline: str | None = None
    ask: Literal["together", "apart"] = "together"
    """All criteria in one call, or a call for each (as HealthBench does)."""

    def check(self, reference: JudgeReference) -> None:
        """Checks that there are criteria."""
        if self.rubric is None and reference.rubric is None:
            raise InvalidReferenceError(
                "mode 'rubric' needs a list of {'criterion': …, 'points': …}: as rubric, or as "
                "'criteria' in the reference"
            )

    def steps(self, job: Job) -> Steps:
        """Asks for all criteria, the row's own after those of the verifier."""
        both = [one for one in (self.rubric, job.reference.rubric) if one is not None]
        rubric = Rubric(tuple(criterion for one in both for criterion in one.criteria))
        data = base_data(job, self.guideline)
        if job.reference.answer is not None:
            data["reference"] = job.reference.answer
        data["response"] = job.response
        met, parts = [], {}
        for answers in (yield checklist_queries(rubric, data, apart=self.ask == "apart")):
            for name in answers:
                met.append(answers[name] == "MET")
                parts[name] = float(met[-1])
        score = rubric.score(met)
        return Settled(score, rate(score), f"{sum(met)} of {len(met)} criteria are met", parts)


def checklist_queries(rubric: Rubric, data: dict[str, Json], *, apart: bool = False) -> list[Query]:
    """Returns what asks for each criterion whether it is met, items `c1`, `c2`, … in order."""
    named = {f"c{i}": one.text for i, one in enumerate(rubric.criteria, 1)}
    groups = [{name: text} for name, text in named.items()] if apart else [named]
    return [
        Query(
            "For each entry of the field `criteria` decide whether the field `response` meets it: "
            "MET if all that the criterion says is true of the response, else UNMET. Judge each "
            "entry by itself and by nothing else; a criterion may name something bad.",
            {"criteria": dict(group), **data},
            dict.fromkeys(group, ("MET", "UNMET")),
        )
        for group in groups
    ]
