"""Probes: each one makes an engine do a small job and reads the answer, in a process of its own.

A version string proves nothing: a compiler without its toolchain prints one too. So a compiler
compiles and runs a program, a prover proves a lemma, a Python engine computes.
"""

import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

__all__ = ["Finding", "ProgramProbe", "PythonProbe", "SandboxProbe"]

_VERSION = re.compile(r"\d+(?:\.\d+)+[-+.\w]*")


@dataclass(frozen=True, slots=True)
class Finding:
    """What a probe found."""

    works: bool
    version: str = ""
    """As the engine states it; empty if it states none."""
    detail: str = ""
    """Why it does not work, in one line."""
    found: bool = True
    """False if it is not on this machine at all, so nothing was tried."""


@dataclass(frozen=True, slots=True)
class PythonProbe:
    """Imports a Python package in a fresh interpreter and makes it compute."""

    distribution: str
    """The name under which the package index has it."""
    code: str
    """Python that raises unless the engine works."""
    timeout_s: float = 120.0

    def __call__(self) -> Finding:
        """Returns what the package answered."""
        code = (
            "import importlib.metadata as m\n"
            f"print('version', m.version({self.distribution!r}), flush=True)\n{self.code}"
        )
        # No -I: what is asked is whether the engine works where the caller's Python finds it.
        return _judge(_run((sys.executable, "-c", code), Path.cwd(), self.timeout_s))


@dataclass(frozen=True, slots=True)
class ProgramProbe:
    """Runs a program on a small job in an empty folder and compares what it prints."""

    program: str
    """Looked up on PATH."""
    version: Sequence[str]
    """Arguments that make it print its version; empty where it has none."""
    steps: Sequence[Sequence[str]]
    """Command lines of the job, in order."""
    expect: str = "42"
    """What the last step prints somewhere in its output."""
    files: Mapping[str, str] = field(default_factory=dict)
    """The job's files, by name."""
    timeout_s: float = 120.0

    def __call__(self) -> Finding:
        """Returns how the job went."""
        if shutil.which(self.program) is None:
            return Finding(False, detail="not on PATH", found=False)
        with tempfile.TemporaryDirectory(prefix="rewardkit-probe-") as folder:
            for name, text in self.files.items():
                Path(folder, name).write_text(text, "utf-8")
            return self._judge_in(Path(folder))

    def _judge_in(self, folder: Path) -> Finding:
        version = ""
        if self.version:
            asked = _run((self.program, *self.version), folder, self.timeout_s)
            found = _VERSION.search(asked.output)
            version = found[0] if found else ""
        output = ""
        for step in self.steps:
            done = _run(step, folder, self.timeout_s)
            if done.error:
                return Finding(False, version, done.error)
            output = done.output
        if self.expect not in output:
            return Finding(False, version, f"answered {output.strip()[:80]!r}")
        return Finding(True, version)


@dataclass(frozen=True, slots=True)
class SandboxProbe:
    """Runs a program in the sandbox and reports the tier of isolation that held it."""

    timeout_s: float = 60.0

    def __call__(self) -> Finding:
        """Returns the tier as the version."""
        done = _run((sys.executable, "-m", "rewardkit.sandbox"), Path.cwd(), self.timeout_s)
        tier, _, answer = done.output.strip().partition(": ")
        works = not done.error and answer == "42"
        return Finding(works, tier if works else "", done.error)


@dataclass(frozen=True, slots=True)
class _Outcome:
    output: str
    error: str


def _run(command: Sequence[str], folder: Path, timeout_s: float) -> _Outcome:
    """Returns what the command printed, and in one line why it failed if it did."""
    try:
        done = subprocess.run(
            command,
            cwd=folder,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            timeout=timeout_s,
            check=False,
        )
    except subprocess.TimeoutExpired:
        return _Outcome("", f"no answer within {timeout_s:g} s")
    except OSError as error:
        return _Outcome("", f"{command[0]}: {error.strerror or error}")
    output = done.stdout.decode("utf-8", "replace")
    if done.returncode == 0:
        return _Outcome(output, "")
    program = os.path.basename(command[0])
    if done.returncode < 0:
        return _Outcome(output, f"{program} was killed by {signal.Signals(-done.returncode).name}")
    last = output.strip().rsplit("\n", 1)[-1][:160]
    return _Outcome(output, last or f"{program} ended with {done.returncode}")


def _judge(outcome: _Outcome) -> Finding:
    version = re.search(r"^version (\S+)$", outcome.output, re.MULTILINE)
    if version is None and "PackageNotFoundError" in outcome.error:
        return Finding(False, detail="not installed", found=False)
    return Finding(not outcome.error, version[1] if version else "", outcome.error)
