"""QaVerifier: a short answer against one or several acceptable ones, by words."""

import re
import time
from typing import Any, Literal

from rewardkit.completion import Completion, completion_text, split_reasoning
from rewardkit.errors import ConfigError, InvalidReferenceError
from rewardkit.verdict import Json, Reason, Verdict
from rewardkit.verifier import Verifier
from rewardkit.verifiers.kb.answers import exact_match, token_f1

__all__ = ["QaVerifier"]

_ANSWER = re.compile(r"<answer>(.*?)</answer>", re.S | re.I)
_LINE = re.compile(r"^[ \t>*_#]*(?:final )?answer[ \t*_]*:[ \t*_]*(.+)$", re.M | re.I)


class QaVerifier(Verifier):
    """Grades a short answer by SQuAD's exact match or F1 of words; of several, the best counts.

    The answer is the last `<answer>` of the final part, else its last `Answer:` line, else all of
    it.

    Args:
        metric: "em" (1 or 0) or "f1"; both are in `parts`.
        max_chars: a longer answer is refused.

    Raises:
        ConfigError: an option is outside its values.

    >>> QaVerifier().verify(
    ...     "<answer>the Eiffel Tower</answer>", ["Eiffel tower", "Tour Eiffel"]
    ... ).score
    1.0
    """

    name = "qa"

    def __init__(self, *, metric: Literal["em", "f1"] = "em", max_chars: int = 1_000) -> None:
        if metric not in ("em", "f1"):
            raise ConfigError(f"metric is 'em' or 'f1', not {metric!r}")
        if max_chars < 1:
            raise ConfigError(f"max_chars is at least 1, not {max_chars!r}")
        self.metric = metric
        self.max_chars = max_chars

    def verify(self, completion: Completion, reference: Json, /, **context: Any) -> Verdict:
        """Returns the verdict on the answer in a completion.

        Args:
            completion: anything at all.
            reference: an answer, or a list of acceptable ones.
            context: not read.

        Raises:
            InvalidReferenceError: it is no text and no list of texts, or empty.
        """
        started = time.perf_counter()
        wanted = _read(reference)
        answer, reason = self._extract(completion_text(completion))
        if answer is None:
            return Verdict(0.0, reason, detail="extraction: no short answer")
        em = max(exact_match(answer, one) for one in wanted)
        f1 = max(token_f1(answer, one) for one in wanted)
        score = em if self.metric == "em" else f1
        return Verdict(
            score,
            Reason.MATCH if score == 1 else Reason.PARTIAL if score else Reason.MISMATCH,
            answer=answer,
            detail=f"words: exact match {em:.0f}, F1 {f1:.2f}",
            parts={"em": em, "f1": round(f1, 6)},
            evidence={"tier": "words"},
            seconds=time.perf_counter() - started,
        )

    def check_reference(self, reference: Json, /) -> list[str]:
        """Returns no warnings.

        Raises:
            InvalidReferenceError: it cannot be read.
        """
        _read(reference)
        return []

    def _extract(self, text: str) -> tuple[str | None, Reason]:
        start, closed = split_reasoning(text)
        if not closed:
            return None, Reason.TRUNCATED
        final = text[start:]
        found = _ANSWER.findall(final) or _LINE.findall(final[-10_000:]) or [final]
        answer = found[-1].strip()
        if not answer:
            return None, Reason.NO_ANSWER
        return (
            (answer, Reason.MATCH) if len(answer) <= self.max_chars else (None, Reason.SIZE_LIMIT)
        )


def _read(reference: Json) -> list[str]:
    wanted = [reference] if isinstance(reference, str) else reference
    if not isinstance(wanted, list) or not wanted:
        raise InvalidReferenceError("a reference is an answer, or a list of acceptable ones")
    texts = [one for one in wanted if isinstance(one, str) and one.strip()]
    if len(texts) != len(wanted):
        raise InvalidReferenceError("each acceptable answer is a text that is not empty")
    return texts
