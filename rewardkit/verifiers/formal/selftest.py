"""Runs known attacks, and honest proofs, against the verifier that a user has set up."""

import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from rewardkit.errors import ConfigError
from rewardkit.verdict import Json, Verdict
from rewardkit.verifiers.formal.base import FormalVerifier

__all__ = ["SYSTEMS", "Trial", "read_suite", "run_suite"]

SYSTEMS = ("lean", "dafny", "rocq")
"""The systems that have a suite."""
_SUITES = Path(__file__).parent / "suites"


@dataclass(frozen=True, slots=True)
class Trial:
    """One known attack or honest proof, and what the verifier made of it."""

    name: str
    honest: bool
    why: str
    verdict: Verdict

    @property
    def sound(self) -> bool:
        """True if an attack is not accepted, and an honest proof is."""
        return self.verdict.passed == self.honest

    @property
    def decided(self) -> bool:
        """False if the verifier abstained."""
        return not self.verdict.abstained


def read_suite(system: str) -> list[dict[str, str]]:
    """Returns the rows of a suite: `name`, `kind`, `statement`, `submission` and `why`.

    A kind is `honest`, `attack`, or `unscanned`: an attack that the scan of the text would refuse,
    and that has to be refused without that scan.

    Raises:
        ConfigError: there is no suite for the system.
    """
    if system not in SYSTEMS:
        raise ConfigError(f"no self-test for {system!r}; there are: {', '.join(SYSTEMS)}")
    text = (_SUITES / f"{system}.jsonl").read_text(encoding="utf-8")
    return [json.loads(line) for line in text.splitlines() if line.strip()]


def run_suite(system: str, verifier: FormalVerifier) -> Iterator[Trial]:
    """Yields what a verifier makes of each row of its system's suite.

    A row that is to be run without the scan is left out where nothing stands behind the scan.

    Raises:
        ConfigError: there is no suite for the system.
    """
    for row in read_suite(system):
        reference: Json = {"statement": row["statement"]}
        verdict: Verdict | None
        if row["kind"] == "unscanned":
            verdict = verifier.verify_unscanned(row["submission"], reference)
        else:
            verdict = verifier.verify(row["submission"], reference)
        if verdict is not None:
            yield Trial(row["name"], row["kind"] == "honest", row["why"], verdict)
