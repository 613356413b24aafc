"""A verifier that behaves and misbehaves, in a module that workers can import."""

import os
import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from rewardkit.completion import Completion, completion_text
from rewardkit.errors import InvalidReferenceError
from rewardkit.verdict import Json, Reason, Verdict
from rewardkit.verifier import Verifier
from tests.runtime import tasks


@dataclass(frozen=True)
class Echo(Verifier):
    """Right if the completion is the reference; its first word may make it misbehave."""

    name: str = "echo"

    def verify(self, completion: Completion, reference: Json, /, **context: Any) -> Verdict:
        text = completion_text(completion)
        if reference is None:
            raise InvalidReferenceError(f"no reference for {text!r}")
        match text.partition(" ")[0]:
            case "hang":
                tasks.hang_in_c()
            case "exit":
                os._exit(1)
            case "eat":
                tasks.eat_memory()
            case "raise":
                raise RuntimeError("broken engine")
            case "slow":
                time.sleep(0.01)
            case "nothing":
                return None  # type: ignore[return-value]
            case "pid":
                return Verdict(1.0, Reason.MATCH, answer=str(os.getpid()))
        good = text == reference
        detail = f"hint {context['hint']}" if "hint" in context else ""
        reason = Reason.MATCH if good else Reason.MISMATCH
        return Verdict(float(good), reason, answer=text, detail=detail)


class Loud(Echo):
    """A verifier with a `verify_batch` of its own."""

    def verify_batch(
        self,
        completions: Sequence[Completion],
        references: Sequence[Json],
        /,
        **columns: Sequence[Any],
    ) -> list[Verdict]:
        verdicts = super().verify_batch(completions, references, **columns)
        return [replace(verdict, detail="loud") for verdict in verdicts]
