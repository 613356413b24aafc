"""A verifier that waits and computes nothing, in a module that the nodes of a cluster import."""

import time
from dataclasses import dataclass
from typing import Any

from rewardkit import Reason, Verdict, Verifier
from rewardkit.completion import Completion
from rewardkit.verdict import Json

__all__ = ["ROW_S", "Waits"]

ROW_S = 0.02


@dataclass(frozen=True)
class Waits(Verifier):
    """Says yes after a while."""

    name: str = "waits"

    def verify(self, completion: Completion, reference: Json, /, **context: Any) -> Verdict:
        """Returns the verdict."""
        time.sleep(ROW_S)
        return Verdict(1.0, Reason.MATCH)
