"""How a `CodeVerifier` runs programs: its options, checked."""

import math
from dataclasses import dataclass

from rewardkit.errors import ConfigError
from rewardkit.sandbox import Limits
from rewardkit.sandbox.job import MEBIBYTE
from rewardkit.verdict import Reason
from rewardkit.verifiers.code.outcome import POLICIES, Outcome

__all__ = ["Settings"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """Options of a verifier."""

    policy: str = "all"
    """"all": 1 if every test passes, else 0, and the tests after a time-out do not run. "fraction":
    the share that passes. "first_failure": as "all", and the tests after any failure do not run."""
    timeout_s: float = 10.0
    """Processor seconds of each test."""
    wall_s: float = 16.0
    """Seconds on the clock of each test, so that a sleeping program ends and a busy machine harms
    nobody."""
    memory_bytes: int = 512 * MEBIBYTE
    """Memory of a program with all its processes."""
    output_bytes: int = 8 * MEBIBYTE
    """Standard output and error of each run."""
    processes: int = 64
    """Processes and threads of a program at one time."""
    fresh_process: bool = False
    """Run each call in a process of its own, instead of all calls of a program in one."""

    def __post_init__(self) -> None:
        if self.policy not in POLICIES:
            raise ConfigError(f"policy is one of {POLICIES}, not {self.policy!r}")
        if not 0 < self.timeout_s <= 3600:
            raise ConfigError(f"timeout_s is in (0, 3600], not {self.timeout_s!r}")
        if not 0 < self.wall_s <= 7200:
            raise ConfigError(f"wall_s is in (0, 7200], not {self.wall_s!r}")
        self.limits(cpu_s=self.timeout_s, wall_s=self.wall_s)

    def settles(self, outcome: Outcome) -> bool:
        """Returns whether nothing that other tests could say changes the score, at some cost.

        Under "all" that is so after any failure, but only a time-out makes the rest dear: a program
        that hangs once hangs again, and what the other tests say is worth having otherwise.
        """
        if outcome.passed or outcome.reason is Reason.ENGINE_FAILURE:
            return False
        if self.policy == "all":
            return outcome.reason is Reason.TIMEOUT
        return self.policy == "first_failure"

    def limits(self, *, cpu_s: float, wall_s: float, memory_factor: int = 1) -> Limits:
        """Returns the sandbox's limits for a run of the given length."""
        return Limits(
            cpu_s=math.ceil(cpu_s),
            wall_s=min(wall_s, 86000.0),
            memory_bytes=self.memory_bytes * memory_factor,
            output_bytes=self.output_bytes,
            processes=self.processes,
        )
