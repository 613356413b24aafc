"""Cascade: a cheap verifier decides, and a dear one hears appeals and what was left open."""

import hashlib
import json
import time
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, Literal, TypeAlias

from rewardkit.completion import Completion, completion_text
from rewardkit.errors import ConfigError, InvalidReferenceError
from rewardkit.verdict import Json, Reason, Verdict
from rewardkit.verifier import Verifier, check_batch, row_contexts
from rewardkit.verifiers.catalog import make_verifier

__all__ = ["APPEALABLE", "Cascade"]

APPEALABLE: tuple[Reason, ...] = (
    Reason.MISMATCH,
    Reason.AMBIGUOUS,
    Reason.UNPARSABLE,
    Reason.NO_ANSWER,
)
"""Rejections that may be a rule's mistake; one for cheating or size is none."""

_Asked: TypeAlias = Literal["appeal", "audit", "undecided"]


class Cascade(Verifier):
    """Grades by a rule verifier; a judge sees only what it rejected or left undecided.

    The second stage decides what the first left undecided. It overturns a rejection if it accepts,
    and changes nothing about what was accepted: an audit only counts. Where it abstains, the first
    stage's verdict stays. `evidence["cascade"]` says which stage decided, and `count_appeals` makes
    of it what `rewardkit.noise` estimates error rates from.

    Args:
        first: a verifier, or its name in the catalog.
        second: the same; a judge as a rule.
        first_options: options of the first, where it is given by name.
        second_options: options of the second.
        undecided: the second stage decides abstentions of the first.
        appeal_share: of appealable rejections, the share that is heard, in [0, 1].
        appeal_reasons: which rejections may appeal.
        audit_share: of accepted completions, the share that the second stage sees too, in [0, 1].
        accept_at: the smallest score that counts as accepted.
        second_reference: the column that holds the second stage's references, where they differ.
        seed: of the draw. It depends on the row alone, not on its place or its batch.

    Raises:
        ConfigError: an option is outside its values.
        EngineMissingError: a stage's engine is not installed.
    """

    name = "cascade"

    def __init__(
        self,
        *,
        first: Verifier | str = "math",
        second: Verifier | str = "judge",
        first_options: dict[str, object] | None = None,
        second_options: dict[str, object] | None = None,
        undecided: bool = True,
        appeal_share: float = 1.0,
        appeal_reasons: tuple[Reason, ...] = APPEALABLE,
        audit_share: float = 0.0,
        accept_at: float = 1.0,
        second_reference: str | None = None,
        seed: int = 0,
    ) -> None:
        for name, value in (("appeal_share", appeal_share), ("audit_share", audit_share)):
            if not 0 <= value <= 1:
                raise ConfigError(f"{name} is in [0, 1], not {value!r}")
        if not 0 < accept_at <= 1:
            raise ConfigError(f"accept_at is in (0, 1], not {accept_at!r}")
        self.first = _make("first", first, first_options)
        self.second = _make("second", second, second_options)
        self.undecided = undecided
        self.appeal_share = appeal_share
        self.appeal_reasons = tuple(Reason(one) for one in appeal_reasons)
        self.audit_share = audit_share
        self.accept_at = accept_at
        self.second_reference = second_reference
        self.seed = seed

    def verify(self, completion: Completion, reference: Json, /, **context: Any) -> Verdict:
        """Returns the verdict on one completion; reference and context as the stages take them.

        Raises:
            InvalidReferenceError: a stage cannot read its reference.
        """
        started = time.perf_counter()
        first = self.first.verify(completion, reference, **context)
        asked = self._choose(first, completion, reference)
        second = None
        if asked is not None:
            own = self._second_reference(reference, context)
            second = self.second.verify(completion, own, **context)
        return self._join(first, second, asked, seconds=time.perf_counter() - started)

    async def averify(self, completion: Completion, reference: Json, /, **context: Any) -> Verdict:
        """Returns the verdict on one completion without blocking the event loop."""
        started = time.perf_counter()
        first = await self.first.averify(completion, reference, **context)
        asked = self._choose(first, completion, reference)
        second = None
        if asked is not None:
            own = self._second_reference(reference, context)
            second = await self.second.averify(completion, own, **context)
        return self._join(first, second, asked, seconds=time.perf_counter() - started)

    def verify_batch(
        self,
        completions: Sequence[Completion],
        references: Sequence[Json],
        /,
        **columns: Sequence[Any],
    ) -> list[Verdict]:
        """Returns one verdict a completion, in order; each stage sees its rows as one batch.

        Raises:
            ConfigError: a column is no list, or has another length than `completions`.
            InvalidReferenceError: a stage cannot read a reference.
        """
        check_batch(completions, references, columns)
        contexts = row_contexts(len(completions), columns)
        firsts = self.first.verify_batch(completions, references, **columns)
        asked = [self._choose(*row) for row in zip(firsts, completions, references, strict=True)]
        heard = [i for i, why in enumerate(asked) if why is not None]
        verdicts = (
            []
            if not heard
            else self.second.verify_batch(
                [completions[i] for i in heard],
                [self._second_reference(references[i], contexts[i]) for i in heard],
                **{name: [column[i] for i in heard] for name, column in columns.items()},
            )
        )
        seconds: dict[int, Verdict] = dict(zip(heard, verdicts, strict=True))
        return [
            self._join(first, seconds.get(i), asked[i], seconds=None)
            for i, first in enumerate(firsts)
        ]

    def check_reference(self, reference: Json, /) -> list[str]:
        """Returns what both stages have to say about a reference.

        Raises:
            InvalidReferenceError: a stage cannot read it.
        """
        warnings = self.first.check_reference(reference)
        if self.second_reference is None:
            warnings = warnings + self.second.check_reference(reference)
        return warnings

    def close(self) -> None:
        """Closes both stages."""
        self.first.close()
        self.second.close()

    def _choose(self, first: Verdict, completion: Completion, reference: Json) -> _Asked | None:
        """Returns why the second stage sees a row, or None."""
        if first.score is None:
            return "undecided" if self.undecided else None
        if first.score >= self.accept_at:
            return "audit" if self._draw(completion, reference) < self.audit_share else None
        if first.reason not in self.appeal_reasons:
            return None
        return "appeal" if self._draw(completion, reference) < self.appeal_share else None

    def _draw(self, completion: Completion, reference: Json) -> float:
        """Returns a number in [0, 1) that depends on the row and the seed alone."""
        row = json.dumps([self.seed, completion_text(completion), reference], sort_keys=True)
        digest = hashlib.sha256(row.encode("ascii")).digest()
        return int.from_bytes(digest[:7], "big") / 2**56

    def _second_reference(self, reference: Json, context: Mapping[str, Any]) -> Json:
        if self.second_reference is None:
            return reference
        if self.second_reference not in context:
            raise InvalidReferenceError(
                f"there is no column {self.second_reference!r}, which second_reference names"
            )
        own: Json = context[self.second_reference]
        return own

    def _join(
        self,
        first: Verdict,
        second: Verdict | None,
        asked: _Asked | None,
        *,
        seconds: float | None,
    ) -> Verdict:
        said = None if second is None else second.score
        overturns = asked == "appeal" and said is not None and said >= self.accept_at
        decides = asked == "undecided" and said is not None
        by_second = second is not None and (overturns or decides)
        chosen = second if by_second and second is not None else first
        stage: Json = {
            "stage": "second" if by_second else "first",
            "asked": asked,
            "first": first.score,
            "first_reason": first.reason.value,
            "second": said,
            "second_detail": None if second is None else second.detail,
        }
        total = first.seconds + (second.seconds if second is not None else 0.0)
        names = (self.first.name, self.second.name)
        return replace(
            chosen,
            detail=f"cascade: {names[by_second]}: {chosen.detail}",
            evidence={**chosen.evidence, "cascade": stage},
            seconds=total if seconds is None else seconds,
        )


def _make(which: str, stage: Verifier | str, options: dict[str, object] | None) -> Verifier:
    if isinstance(stage, str):
        return make_verifier(stage, **(options or {}))
    if options:
        raise ConfigError(f"{which}_options go with a verifier that is given by name")
    return stage
