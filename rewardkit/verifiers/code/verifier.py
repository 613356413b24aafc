"""The verifier of programs."""

import os
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from typing import Any

from rewardkit.completion import Completion, completion_text
from rewardkit.errors import ConfigError, EngineMissingError, InvalidReferenceError
from rewardkit.fences import FencePolicy, extract
from rewardkit.sandbox import Sandbox
from rewardkit.verdict import Json, Reason, Verdict
from rewardkit.verifier import Verifier, check_batch
from rewardkit.verifiers.code.calls import run_calls
from rewardkit.verifiers.code.checks import run_checks
from rewardkit.verifiers.code.languages import LANGUAGES, Toolchain, find_toolchain
from rewardkit.verifiers.code.outcome import Run, summarise
from rewardkit.verifiers.code.reference import Task, read_reference
from rewardkit.verifiers.code.remote import Backend, run_remotely
from rewardkit.verifiers.code.settings import Settings
from rewardkit.verifiers.code.signals import find_signals
from rewardkit.verifiers.code.stdio import Builder, run_stdio

__all__ = ["CodeVerifier"]

_INSIDE = "rewardkit.verifiers.code._inside."
_PROGRAM = ("codec", "frames", "streams", "serve")
_CHECKS = ("unordered", "standins", "remote", "checks")
_MODULES = tuple(_INSIDE + name for name in (*_PROGRAM, *_CHECKS))


class CodeVerifier(Verifier):
    r"""Runs the program in a completion against tests that the program never sees.

    `reference` is plain JSON, see docs/verifiers/code.md; HumanEval and MBPP rows are read as they
    are.

    >>> reference = {"format": "call", "entry": "f", "cases": [{"args": [2], "expected": 4}]}
    >>> with CodeVerifier() as verifier:
    ...     verifier.verify("```python\ndef f(x):\n    return x * x\n```", reference).score
    1.0
    """

    name = "code"

    def __init__(
        self,
        *,
        policy: str = "all",
        timeout_s: float = 10.0,
        wall_s: float | None = None,
        memory_bytes: int = 512 << 20,
        output_bytes: int = 8 << 20,
        processes: int = 64,
        fresh_process: bool = False,
        fences: FencePolicy | None = None,
        isolation: str = "auto",
        warm: tuple[str, ...] = (),
        languages: tuple[str, ...] | None = None,
        workers: int | None = None,
        backend: Backend | None = None,
    ) -> None:
        """Says how programs are run; starts nothing.

        Args:
            policy: "all" (1 if every test passes; stops after a time-out), "fraction" (the share),
                "first_failure" (as "all"; stops after any failure). In `parts` a test that is not
                run counts as not passed.
            timeout_s: processor seconds of each test.
            wall_s: seconds on the clock of each test; by default one and a half times `timeout_s`,
                and one.
            memory_bytes: memory of a program with all its processes.
            output_bytes: standard output and error of each run.
            processes: processes and threads of a program at one time.
            fresh_process: run each call in its own process; by default one process serves a
                program's calls.
            fences: which block of the completion is the program; its tags are replaced by the
                language's.
            isolation: the sandbox's tier, see `rewardkit.sandbox.Sandbox`.
            warm: modules to import ahead of time, for instance `("numpy",)`.
            languages: languages whose tools are made visible in the sandbox; by default all that
                are installed.
            backend: a remote engine that runs the programs instead of the local sandbox; only
                programs and inputs go there.
            workers: programs that `verify_batch` runs at one time; by default one more than the
                processors.

        Raises:
            ConfigError: an option outside its range; it is named.
        """
        self.settings = Settings(
            policy=policy,
            timeout_s=timeout_s,
            wall_s=1.5 * timeout_s + 1 if wall_s is None else wall_s,
            memory_bytes=memory_bytes,
            output_bytes=output_bytes,
            processes=processes,
            fresh_process=fresh_process,
        )
        self.fences = fences or FencePolicy()
        self.languages = _check_languages(languages)
        self.backend = backend
        self.workers = _check_workers(workers)
        binds = _visible(self.languages)
        self.sandbox = Sandbox(isolation=isolation, modules=_MODULES, warm=warm, binds=binds)
        self.builder = Builder(isolation, binds)

    def verify(self, completion: Completion, reference: Json, /, **context: Any) -> Verdict:
        """Returns the verdict on the program in a completion.

        `parts` holds `passed`, the share of tests passed, and `test_0`, `test_1`, … . `evidence`
        holds the tier of isolation, signals of cheating, refused system calls and resource use.

        Raises:
            InvalidReferenceError: the reference cannot be read, or its language is not enabled
                here.
            EngineMissingError: no tier of isolation, or not the language's tool, works on this
                machine.
        """
        task = read_reference(reference)
        toolchain = self._toolchain(task.language)
        return self._verify_task(completion_text(completion), task, toolchain)

    def verify_batch(
        self,
        completions: Sequence[Completion],
        references: Sequence[Json],
        /,
        **columns: Sequence[Any],
    ) -> list[Verdict]:
        """Returns one verdict a completion, in order. All processors work; equal pairs run once."""
        check_batch(completions, references, columns)
        tasks = [read_reference(reference) for reference in references]
        chains = [self._toolchain(task.language) for task in tasks]
        texts = [completion_text(completion) for completion in completions]
        first: dict[tuple[str, str], int] = {}
        places = [
            first.setdefault((text, task.key), index)
            for index, (text, task) in enumerate(zip(texts, tasks, strict=True))
        ]
        unique = list(first.values())
        with ThreadPoolExecutor(min(self.workers, max(1, len(unique)))) as pool:
            done = pool.map(lambda i: self._verify_task(texts[i], tasks[i], chains[i]), unique)
            verdicts = dict(zip(unique, done, strict=True))
        return [verdicts[place] for place in places]

    def check_reference(self, reference: Json, /) -> list[str]:
        """Returns warnings on a reference.

        Raises:
            InvalidReferenceError: the reference cannot be read.
        """
        task = read_reference(reference)
        warnings = []
        if task.count == 1:
            warnings.append("one test only: a program that prints the constant passes")
        if (
            len({repr(case.expected) for case in task.calls if case.check is None})
            == 1
            < task.count
        ):
            warnings.append("every test expects the same value: a constant passes")
        if task.stdio and len({case.output for case in task.stdio}) == 1 < task.count:
            warnings.append("every test expects the same output: a constant passes")
        return warnings

    def close(self) -> None:
        """Ends the fork servers. The verifier may be used again afterwards."""
        self.builder.close()
        self.sandbox.close()

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in self.__dict__.items() if name != "builder"}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self.builder = Builder(self.sandbox.isolation, self.sandbox.binds)

    def _toolchain(self, language: str) -> Toolchain:
        if language not in LANGUAGES:
            raise InvalidReferenceError(
                f"`language` is one of {', '.join(LANGUAGES)}, not {language!r}"
            )
        if language not in self.languages:
            raise InvalidReferenceError(f"this verifier was not given the language {language!r}")
        if self.backend is not None:
            return Toolchain(LANGUAGES[language], "", ())
        found = find_toolchain(language)
        if found is None:
            spec = LANGUAGES[language]
            raise EngineMissingError(spec.tool, spec.install)
        return found

    def _verify_task(self, text: str, task: Task, toolchain: Toolchain) -> Verdict:
        began = time.monotonic()
        policy = replace(self.fences, tags=toolchain.language.tags)
        taken = extract(text, policy)
        if taken.program is None:
            return Verdict(
                0.0,
                taken.reason or Reason.NO_ANSWER,
                detail=f"extraction: {taken.detail}",
                seconds=time.monotonic() - began,
            )
        run = self._run(_with_prelude(taken.program, task), task, toolchain)
        summary = summarise(run, self.settings.policy)
        return Verdict(
            summary.score,
            summary.reason,
            answer=taken.program,
            detail=summary.detail,
            parts=summary.parts,
            evidence=_evidence(taken.program, task, run),
            seconds=time.monotonic() - began,
        )

    def _run(self, program: str, task: Task, toolchain: Toolchain) -> Run:
        if self.backend is not None:
            return run_remotely(self.backend, program, task, self.settings)
        if task.format == "stdio":
            return run_stdio(self.sandbox, self.builder, program, task, toolchain, self.settings)
        if task.format == "call":
            return run_calls(self.sandbox, program, task, self.settings)
        return run_checks(self.sandbox, program, task, self.settings)


def _check_languages(languages: tuple[str, ...] | None) -> tuple[str, ...]:
    names = tuple(LANGUAGES) if languages is None else ("python", *languages)
    for name in names:
        if name not in LANGUAGES:
            raise ConfigError(f"languages are among {', '.join(LANGUAGES)}, not {name!r}")
    return tuple(dict.fromkeys(names))


def _check_workers(workers: int | None) -> int:
    if workers is not None and workers < 1:
        raise ConfigError(f"workers is at least 1, not {workers!r}")
    return workers or len(os.sched_getaffinity(0)) + 1


def _visible(languages: tuple[str, ...]) -> tuple[str, ...]:
    """Returns the host's directories that the languages' tools need."""
    found = [find_toolchain(name) for name in languages]
    return tuple(dict.fromkeys(bind for chain in found if chain for bind in chain.binds))


def _with_prelude(program: str, task: Task) -> str:
    if not task.prelude or f"def {task.entry}(" in program:
        return program
    return task.prelude + program


def _evidence(program: str, task: Task, run: Run) -> dict[str, Json]:
    denied = sorted({name for result in run.results for name in result.denied})
    evidence: dict[str, Json] = {
        "isolation": run.results[-1].isolation if run.results else "",
        "language": task.language,
        "cpu_s": round(sum(result.cpu_s for result in run.results), 4),
        "max_rss_bytes": max((result.max_rss_bytes for result in run.results), default=0),
    }
    signals = find_signals(program, task, denied)
    if signals:
        evidence["signals"] = list(signals)
    if denied:
        evidence["denied_calls"] = list(denied)
    return evidence
