"""The modes that compare: two responses, two references, reasoning with answer, skills."""

from dataclasses import dataclass
from typing import Literal

from rewardkit.errors import InvalidReferenceError
from rewardkit.verdict import Json, Reason
from rewardkit.verifiers.choice.reading import read_choice
from rewardkit.verifiers.judge.modes import Settled, Steps, base_data, checklist_queries, rate
from rewardkit.verifiers.judge.query import Query
from rewardkit.verifiers.judge.reference import Job, JudgeReference, Subgoal
from rewardkit.verifiers.judge.skills import SkillLibrary, SkillPrototype

__all__ = ["Consistency", "Contrastive", "Pairwise", "Skills"]

_SIDES = {"verdict": ("A", "B", "TIE")}


@dataclass(frozen=True, slots=True)
class Pairwise:
    """Is the response better than its rival: asked in both orders, and only agreement counts."""

    guideline: str | None = None
    disagreement: Literal["abstain", "tie"] = "abstain"
    """What becomes of two orders that disagree."""

    def check(self, reference: JudgeReference) -> None:
        """Checks that there is a rival."""
        if reference.rival is None and reference.answer is None:
            raise InvalidReferenceError("mode 'pairwise' needs a 'rival' in the reference")

    def steps(self, job: Job) -> Steps:
        """Asks with the response first, and with the rival first."""
        rival = job.reference.rival or job.reference.answer
        data = base_data(job, self.guideline)
        task = (
            "Compare the fields `A` and `B`, two responses to the same question, by the guideline "
            "where there is one. A: A is better. B: B is better. TIE: neither is. Length, order "
            "and confidence are no merits."
        )
        queries = [
            Query(task, data | {"A": job.response, "B": rival}, _SIDES),
            Query(task, data | {"A": rival, "B": job.response}, _SIDES),
        ]
        first, second = [answers["verdict"] for answers in (yield queries)]
        return _settle_orders(first, second, self.disagreement)


@dataclass(frozen=True, slots=True)
class Contrastive:
    """Does the response agree with the reference rather than with a wrong one.

    Each wrong reference is set against the right one in both orders. The score is the share of
    wrong references over which the right one wins twice; one that loses or ties gives nothing.
    """

    guideline: str | None = None

    def check(self, reference: JudgeReference) -> None:
        """Checks that there are a right and a wrong answer."""
        if reference.answer is None or not reference.wrong:
            raise InvalidReferenceError("mode 'contrastive' needs 'answer' and 'wrong'")

    def steps(self, job: Job) -> Steps:
        """Asks twice for each wrong reference."""
        data = base_data(job, self.guideline)
        task = (
            "Decide with which of the fields `A` and `B` the field `response` agrees in what it "
            "commits to. A: with A. B: with B. TIE: with both or with neither."
        )
        queries = []
        for wrong in job.reference.wrong:
            for a, b in ((job.reference.answer, wrong), (wrong, job.reference.answer)):
                fields: dict[str, Json] = {"A": a, "B": b, "response": job.response}
                queries.append(Query(task, data | fields, _SIDES))
        said = [answers["verdict"] for answers in (yield queries)]
        settled = [
            _settle_orders(first, second, "abstain")
            for first, second in zip(said[::2], said[1::2], strict=True)
        ]
        if any(one.score is None for one in settled):
            return Settled(None, Reason.UNPROVED, "the two orders disagree")
        wins = [float(one.score == 1) for one in settled]
        score = sum(wins) / len(wins)
        parts = {f"against_{i}": one for i, one in enumerate(wins, 1)}
        return Settled(score, rate(score), f"{sum(wins):.0f} of {len(wins)} contrasts won", parts)


def _settle_orders(first: str, second: str, disagreement: str) -> Settled:
    """Returns the worth of the side that was A in the first order and B in the second."""
    swapped = {"A": "B", "B": "A", "TIE": "TIE"}[second]
    if first != swapped:
        if disagreement == "tie":
            return Settled(0.5, Reason.PARTIAL, "the two orders disagree: a tie")
        return Settled(None, Reason.UNPROVED, f"the two orders disagree: {first} and {swapped}")
    score = {"A": 1.0, "B": 0.0, "TIE": 0.5}[first]
    return Settled(score, rate(score), {"A": "wins", "B": "loses", "TIE": "ties"}[first])


@dataclass(frozen=True, slots=True)
class Consistency:
    """Does the reasoning support the option that the response chose.

    The judge sees the question, the options and the reasoning, not the final part: it names the
    option to which the reasoning leads, and code compares it with the chosen one. So no verdict on
    the choice itself can be talked into. Source: CLARity (consistency-aware reward for multiple
    choice); the masking of the final part is ours.
    """

    guideline: str | None = None

    def check(self, reference: JudgeReference) -> None:
        """Checks nothing: the options may come from the row's columns."""

    def steps(self, job: Job) -> Steps:
        """Asks once, if an option was chosen and something was reasoned."""
        choices = job.reference.choices
        if len(choices) < 2:
            raise InvalidReferenceError("mode 'consistency' needs 'choices', two or more")
        reasoning, final = _split_final(job)
        chosen = read_choice(final, choices)
        if len(chosen.chosen) != 1:
            return Settled(0.0, chosen.reason or Reason.AMBIGUOUS, f"choice: {chosen.detail}")
        if not reasoning:
            return Settled(0.0, Reason.NO_ANSWER, "no reasoning before the choice")
        data = base_data(job, self.guideline)
        data |= {"options": dict(choices), "reasoning": reasoning}
        query = Query(
            "Decide to which of the field `options` the field `reasoning` leads, whether it is "
            "right or not. NONE: it leads to no option, to several, or contradicts itself.",
            data,
            {"verdict": (*choices, "NONE")},
        )
        [answers] = yield [query]
        led, own = answers["verdict"], chosen.chosen[0]
        score = float(led == own)
        return Settled(score, rate(score), f"the reasoning leads to {led}, chosen is {own}")


def _split_final(job: Job) -> tuple[str, str]:
    """Returns the reasoning and the part that chooses: the last paragraph where no tag splits."""
    if job.reasoning.strip():
        return job.reasoning.strip(), job.response
    head, newline, last = job.response.rpartition("\n")
    return (head.strip(), last) if newline else ("", job.response)


@dataclass(frozen=True, slots=True)
class Skills:
    """How many subgoals were done as their skills ask, by the prototypes' checklists (SCRIBE)."""

    library: SkillLibrary
    guideline: str | None = None

    def check(self, reference: JudgeReference) -> None:
        """Checks that there are subgoals, and that the named skills exist."""
        if not reference.subgoals:
            raise InvalidReferenceError("mode 'skills' needs 'subgoals' in the reference")
        for one in reference.subgoals:
            if one.skill is not None and self.library.get(one.skill) is None:
                names = ", ".join(p.name for p in self.library.prototypes)
                raise InvalidReferenceError(f"no skill {one.skill!r}; there are: {names}")

    def steps(self, job: Job) -> Steps:
        """Asks for the skills of subgoals that nothing else routes, then for the checklists."""
        subgoals = job.reference.subgoals
        routed = [self._route(one) for one in subgoals]
        open_ones = [one for one, skill in zip(subgoals, routed, strict=True) if skill is None]
        if open_ones:
            answers = iter((yield [self._ask_skill(one) for one in open_ones]))
            routed = [one or self.library.get(next(answers)["verdict"]) for one in routed]
        data = base_data(job, self.guideline)
        response = f"{job.reasoning}\n{job.response}".strip()
        skills = [one for one in routed if one is not None]
        queries = [
            checklist_queries(
                skill.checklist, data | {"subgoal": subgoal.text, "response": response}
            )[0]
            for skill, subgoal in zip(skills, subgoals, strict=True)
        ]
        parts = {}
        said = yield queries
        for number, (skill, answers_) in enumerate(zip(skills, said, strict=True), 1):
            met = [one == "MET" for one in answers_.values()]
            parts[f"{number}_{skill.name}"] = skill.checklist.score(met)
        score = sum(parts.values()) / len(parts)
        return Settled(score, rate(score), f"{len(parts)} subgoals by their checklists", parts)

    def _route(self, subgoal: Subgoal) -> SkillPrototype | None:
        if subgoal.skill is not None:
            return self.library.get(subgoal.skill)
        return self.library.route(subgoal.text)

    def _ask_skill(self, subgoal: Subgoal) -> Query:
        return Query(
            "Decide which skill the field `subgoal` asks for.",
            {"subgoal": subgoal.text},
            {"verdict": tuple(one.name for one in self.library.prototypes)},
        )
