"""A small verifier for the tests of scoring: real, deterministic, and without an engine."""

import time
from typing import Any

from rewardkit import Completion, Json, Reason, Verdict, Verifier, completion_text
from rewardkit.errors import ConfigError, InvalidReferenceError

__all__ = ["ExactVerifier"]


class ExactVerifier(Verifier):
    """Passes if the last word of the completion is the reference.

    Args:
        fold_case: ignore upper and lower case.
        delay_s: seconds that each verdict takes.
        kill_at: a completion at which the process dies.
    """

    name = "exact"

    def __init__(
        self, *, fold_case: bool = False, delay_s: float = 0.0, kill_at: str | None = None
    ) -> None:
        if delay_s < 0:
            raise ConfigError(f"delay_s is at least 0, not {delay_s}")
        self.fold_case = fold_case
        self.delay_s = delay_s
        self.kill_at = kill_at

    def verify(self, completion: Completion, reference: Json, /, **context: Any) -> Verdict:
        start = time.perf_counter()
        expected = self._read(reference)
        text = completion_text(completion)
        if self.kill_at is not None and text == self.kill_at:
            raise SystemExit("killed")
        time.sleep(self.delay_s)
        words = text.split()
        evidence: dict[str, Json] = {"tier": "word" if len(text) < 100 else "long"}
        if not words:
            return Verdict(0.0, Reason.NO_ANSWER, detail="word: nothing there", evidence=evidence)
        if words[-1] == "unsure":
            return Verdict(None, Reason.UNPROVED, "unsure", "word: cannot tell", evidence=evidence)
        same = self._fold(words[-1]) == self._fold(expected)
        return Verdict(
            float(same),
            Reason.MATCH if same else Reason.MISMATCH,
            answer=words[-1],
            detail="word: compared",
            evidence=evidence,
            seconds=time.perf_counter() - start,
        )

    def check_reference(self, reference: Json, /) -> list[str]:
        text = self._read(reference)
        return ["upper case never matches lower case"] if text != text.lower() else []

    def _read(self, reference: Json) -> str:
        if not isinstance(reference, str) or not reference:
            raise InvalidReferenceError(f"a reference is one word, not {reference!r}")
        return reference

    def _fold(self, text: str) -> str:
        return text.casefold() if self.fold_case else text
