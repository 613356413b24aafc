"""Chained equalities: every `a = b = c` of a step is checked, and the first wrong step located."""

import re
from collections.abc import Callable, Sequence
from typing import Any

from rewardkit.completion import Completion, completion_text
from rewardkit.errors import ConfigError
from rewardkit.process._chains import Chain, find_chains
from rewardkit.process._rewriting import Link, check_rewriting, read_member
from rewardkit.process.builders import by_separator
from rewardkit.process.scores import StepScores
from rewardkit.process.segmentation import MAX_TEXT_CHARS, Segmentation
from rewardkit.verdict import Json, Reason, StepVerdict, Verdict
from rewardkit.verifier import Verifier
from rewardkit.verifiers.math.expressions import Expression

__all__ = ["EqualityVerifier", "Link", "check_equalities"]

_MAX_STEP_CHARS = 8_000
_MAX_LINKS = 500
_FLOAT = re.compile(r"\.\d{12}")
"""A number as a computer prints it: its last digits are rounded."""
_HYPOTHETICAL = re.compile(
    r"\b(?:or|either|if|when|case|cases|suppose|assume|try|trying|otherwise|wait|again|instead|"
    r"alternatively|new|now|next|update|becomes|part|method|option|problem|question|similarly|"
    r"let(?!['’]s|\s+us))\b|^\s*\(?[a-h][).]\s",
    re.IGNORECASE,
)


class EqualityVerifier(Verifier):
    r"""Checks the equalities that a completion writes, step by step; it needs no reference.

    A step is right if all of its equalities that could be checked hold, wrong if one does not, and
    undecided if there is none: prose, equations to be solved, and what the math verifier's tiers
    without an engine leave open. Of equations that arrows join (`2x = 4 ⇒ x = 2`) those that are
    linear in one unknown are held against each other. Symbols that a step sets (`A = 3 + 4`) are
    known in later steps by the value that the completion gives them, so that an error is found
    where it is made and not again where it is carried on.

    The score is 0 if a step is wrong, 1 if a step was checked and none is wrong, else None.
    `evidence["first_error"]` is the index of the first wrong step, or None.

    Args:
        segment: how a completion is cut into steps; left out: by line.
        consistent_symbols: whether a symbol that is set again must keep its value. A step that
            says so (`or`, `if`, `now`, `let`, …) may set it anew.

    >>> verdict = EqualityVerifier().verify("2 + 3 = 5\n5 * 4 = 21 = 20 + 1", None)
    >>> [step.score for step in verdict.steps], verdict.evidence["first_error"]
    ([1.0, 0.0], 1)
    """

    name = "equalities"

    def __init__(
        self,
        *,
        segment: Callable[[str], Segmentation] | None = None,
        consistent_symbols: bool = True,
    ) -> None:
        if segment is not None and not callable(segment):
            raise ConfigError(f"segment is a function of the text, not {segment!r}")
        self.segment = segment
        self.consistent_symbols = consistent_symbols

    def verify(self, completion: Completion, reference: Json, /, **context: Any) -> Verdict:
        """Returns the verdict on the equalities of one completion.

        Args:
            completion: anything at all.
            reference: not read.
            context: not read.
        """
        text = completion_text(completion)
        if len(text) > MAX_TEXT_CHARS:
            detail = f"equalities: more than {MAX_TEXT_CHARS:,} characters"
            return Verdict(None, Reason.SIZE_LIMIT, detail=detail)
        steps = by_separator(text, "\n") if self.segment is None else self.segment(text)
        links = check_equalities(steps.texts, consistent_symbols=self.consistent_symbols)
        verdicts = _step_verdicts(steps, links)
        scores = StepScores.from_steps(verdicts, kind="label")
        score, first = scores.aggregate("min"), scores.first_error()
        checked = sum(link.same is not None for link in links)
        wrong = next((link for link in links if link.same is False), None)
        detail = f"{checked} equalities checked" if wrong is None else _say(wrong)
        return Verdict(
            score,
            Reason.UNPROVED if score is None else Reason.MATCH if score else Reason.MISMATCH,
            detail=f"equalities: {detail}",
            steps=verdicts,
            evidence={"first_error": first, "checked": checked, "links": len(links)},
        )


def check_equalities(steps: Sequence[str], *, consistent_symbols: bool = True) -> list[Link]:
    """Returns the equalities of steps in order, with what is known of each.

    Args:
        steps: texts; one of more than 8,000 characters is not read, nor more than 500 equalities.
        consistent_symbols: as in `EqualityVerifier`.

    >>> [link.same for link in check_equalities(["A = 2 * 3 = 6", "A + 1 = 7"])]
    [None, True, True]
    """
    known: dict[str, Expression] = {}
    links: list[Link] = []
    for index, step in enumerate(steps):
        relation = "=" in step or "≈" in step or "\\" in step
        if len(step) > _MAX_STEP_CHARS or not relation:
            continue
        strict = consistent_symbols and not _HYPOTHETICAL.search(step)
        for chain in find_chains(step):
            if len(links) >= _MAX_LINKS:
                return links
            links += _check_chain(index, chain, known, strict)
        links += check_rewriting(index, step)
    return links


def _check_chain(step: int, chain: Chain, known: dict[str, Expression], strict: bool) -> list[Link]:
    read = [read_member(member) for member in chain.members]
    values = [None if one is None else one.substitute(known) for one in read]
    names = [None if one is None else one.symbol for one in read]
    texts = [member.text for member in chain.members]
    links = []
    for place, relation in enumerate(chain.relations):
        left, right = values[place], values[place + 1]
        name = names[place]
        if name is not None and (name not in known or not strict):
            left = None  # it is being set here
        last = names[place + 1]
        if last is not None and last not in known:
            right = None
        same = _holds(left, right, approximate=relation == "≈")
        if same is False and _FLOAT.search(f"{texts[place]} {texts[place + 1]}"):
            same = _nearly(left, right)
        links.append(Link(step, chain.members[place].text, chain.members[place + 1].text, same))
    _learn(names, values, known)
    return links


def _nearly(left: Expression | None, right: Expression | None) -> bool:
    """Returns whether two values differ by no more than a computer's rounding."""
    one, two = (None if side is None else side.value for side in (left, right))
    return one is not None and two is not None and abs(one - two) * 10**14 <= abs(one)


def _learn(
    names: Sequence[str | None],
    values: Sequence[Expression | None],
    known: dict[str, Expression],
) -> None:
    """Notes the value of a symbol that a chain sets: the last member that has none but known."""
    for name in {name for name in names if name is not None}:
        for value, own in zip(reversed(values), reversed(names), strict=True):
            if own is None and value is not None and name not in value.symbols:
                known[name] = value
                break


def _holds(left: Expression | None, right: Expression | None, *, approximate: bool) -> bool | None:
    if left is None or right is None or left.is_relation or right.is_relation:
        return None
    same = left.same_as(right)
    if same or left.rounds_to(right) or right.rounds_to(left):
        return True
    if approximate or left.symbols or right.symbols:
        return None  # an equation, or a value that is not known here
    return same


def _step_verdicts(steps: Segmentation, links: Sequence[Link]) -> tuple[StepVerdict, ...]:
    by_step: dict[int, list[Link]] = {}
    for link in links:
        by_step.setdefault(link.step, []).append(link)
    found = []
    for index, (start, end) in enumerate(steps.spans):
        own = [link for link in by_step.get(index, ()) if link.same is not None]
        wrong = next((link for link in own if not link.same), None)
        if wrong is not None:
            found.append(StepVerdict(start, end, 0.0, Reason.MISMATCH, _say(wrong)))
        elif own:
            found.append(StepVerdict(start, end, 1.0, Reason.MATCH, f"{len(own)} equalities hold"))
        else:
            found.append(StepVerdict(start, end, None, Reason.UNPROVED, "no equality to check"))
    return tuple(found)


def _say(link: Link) -> str:
    return f"{link.left[:80]} is not {link.right[:80]}"
