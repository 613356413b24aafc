"""The verifier of Prolog programs."""

import os
import time
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from typing import Any

from rewardkit.completion import Completion, completion_text
from rewardkit.errors import ConfigError
from rewardkit.fences import FencePolicy
from rewardkit.verdict import Json, Reason, Verdict
from rewardkit.verifier import Verifier, check_batch, row_contexts
from rewardkit.verifiers.prolog.engine import Engine, LostError, RunLimits
from rewardkit.verifiers.prolog.extraction import TAGS, extract_program
from rewardkit.verifiers.prolog.grading import grade
from rewardkit.verifiers.prolog.oracle import Oracle
from rewardkit.verifiers.prolog.reference import Task, read_reference

__all__ = ["PrologVerifier"]

_ATTEMPTS = 3


class PrologVerifier(Verifier):
    r"""Runs the Prolog program in a completion and compares all of its solutions.

    `reference` is plain JSON with `query` and `expect`, see docs/verifiers/prolog.md.

    >>> reference = {"query": "solve(X)", "expect": {"type": "answer", "value": 49}}
    >>> with PrologVerifier() as verifier:
    ...     verdict = verifier.verify("```prolog\nsolve(X) :- X is 6*24-95.\n```", reference)
    >>> verdict.score, verdict.parts["auditability"]
    (1.0, 1.0)
    """

    name = "prolog"

    def __init__(
        self,
        *,
        auditable: bool = False,
        audit: bool = True,
        timeout_s: float = 5.0,
        wall_s: float | None = None,
        inferences: int = 20_000_000,
        memory_bytes: int = 256 << 20,
        max_solutions: int = 1000,
        hidden_queries: int = 3,
        sandbox_signal: bool = False,
        fences: FencePolicy | None = None,
        isolation: str = "auto",
        workers: int | None = None,
    ) -> None:
        """Says how programs are run; starts nothing.

        Args:
            auditable: multiply the score by `parts["auditability"]`, where there is one.
            audit: find out `parts["auditability"]`, which takes a run for each number of the
                program.
            timeout_s: processor seconds of a program with its queries, rounded up to whole ones.
            wall_s: seconds on the clock; by default twice `timeout_s`, and five. What a
                program waits for a processor is given back.
            inferences: logical inferences of loading, and of each query.
            memory_bytes: memory of a program; its Prolog stacks have 64 MiB of it.
            max_solutions: solutions of one query; a program that gives more is unbounded.
            hidden_queries: queries made up for each query of a reference program, which the
                submission must answer as the reference does; 0 for none.
            sandbox_signal: ask SWI-Prolog's static sandbox what it thinks of the program, as
                `evidence["sandbox"]`.
            fences: which block of the completion is the program; its tags are replaced by Prolog's.
            isolation: the sandbox's tier, see `rewardkit.sandbox.Sandbox`.
            workers: programs that `verify_batch` runs at one time; by default one more than the
                processors.

        Raises:
            ConfigError: an option outside its range; it is named.
            EngineMissingError: SWI-Prolog is not installed.
        """
        if auditable and not audit:
            raise ConfigError("auditable=True needs audit=True")
        if type(max_solutions) is not int or not 1 <= max_solutions <= 100_000:
            raise ConfigError(f"max_solutions is in [1, 100000], not {max_solutions!r}")
        if type(hidden_queries) is not int or not 0 <= hidden_queries <= 20:
            raise ConfigError(f"hidden_queries is in [0, 20], not {hidden_queries!r}")
        if workers is not None and workers < 1:
            raise ConfigError(f"workers is at least 1, not {workers!r}")
        self.auditable = auditable
        self.audit = audit
        self.sandbox_signal = sandbox_signal
        self.max_solutions = max_solutions
        self.fences = replace(fences or FencePolicy(max_chars=200_000), tags=TAGS)
        self.workers = workers or len(os.sched_getaffinity(0)) + 1
        limits = RunLimits(
            inferences=inferences,
            timeout_s=timeout_s,
            wall_s=2 * timeout_s + 5 if wall_s is None else wall_s,
            memory_bytes=memory_bytes,
        )
        self.engine = Engine(limits=limits, isolation=isolation)
        self.oracle = Oracle(
            self.engine, hidden_queries=hidden_queries, max_solutions=max_solutions
        )

    def verify(self, completion: Completion, reference: Json, /, **context: Any) -> Verdict:
        """Returns the verdict on the program in a completion.

        `parts` holds `syntax`, `execution`, `semantics`, `structure` and `auditability`, each in
        [0, 1] and each where it could be found out. `evidence["outcome"]` is the outcome's class.

        Args:
            completion: what the model wrote.
            reference: see docs/verifiers/prolog.md.
            context: `problem` or `question`, the problem's text, is read where the reference has
                no `problem` of its own: its numbers are what an auditable program works from.

        Raises:
            InvalidReferenceError: the reference cannot be read, or its program is not right.
            EngineMissingError: no tier of isolation works on this machine.
        """
        return self._verify_task(completion_text(completion), _task(reference, context))

    def verify_batch(
        self,
        completions: Sequence[Completion],
        references: Sequence[Json],
        /,
        **columns: Sequence[Any],
    ) -> list[Verdict]:
        """Returns one verdict a completion, in order. All processors work; equal pairs run once."""
        check_batch(completions, references, columns)
        contexts = row_contexts(len(completions), columns)
        tasks = [_task(r, c) for r, c in zip(references, contexts, strict=True)]
        texts = [completion_text(completion) for completion in completions]
        first: dict[tuple[str, str, str], int] = {}
        places = [
            first.setdefault((text, task.key, task.problem), index)
            for index, (text, task) in enumerate(zip(texts, tasks, strict=True))
        ]
        unique = list(first.values())
        with ThreadPoolExecutor(min(self.workers, max(1, len(unique)))) as pool:
            done = pool.map(lambda i: self._verify_task(texts[i], tasks[i]), unique)
            verdicts = dict(zip(unique, done, strict=True))
        return [verdicts[place] for place in places]

    def check_reference(self, reference: Json, /) -> list[str]:
        """Returns warnings on a reference: a right program is run, and values are read.

        Raises:
            InvalidReferenceError: the reference cannot be read, or its program is not right.
        """
        task = read_reference(reference)
        asked = self.oracle.asked(task)
        own = [one for one in asked if not one.hidden]
        warnings = [
            f"the query {text} cannot be read, unless a program defines its operators"
            for text in self.oracle.unread(task)
        ]
        if any(one.expected.kind == "solutions" and not one.expected.rows for one in own):
            warnings.append("a query without any solution: a program that always fails passes")
        fixed = all(q.expect.kind == "solutions" for q in task.queries)
        if len(own) == 1 == len(asked) and fixed:
            warnings.append("one query only: a program that lists its solutions as facts passes")
        return warnings

    def close(self) -> None:
        """Ends the fork server. The verifier may be used again afterwards."""
        self.engine.close()

    def _verify_task(self, text: str, task: Task) -> Verdict:
        began = time.monotonic()
        taken = extract_program(text, self.fences)
        if taken.program is None:
            return Verdict(
                0.0,
                taken.reason or Reason.NO_ANSWER,
                detail=f"extraction: {taken.detail}",
                parts={"syntax": 0.0, "execution": 0.0, "semantics": 0.0},
                evidence={"outcome": "no_program"},
                seconds=time.monotonic() - began,
            )
        for attempt in range(_ATTEMPTS):
            try:
                verdict = grade(self, taken.program, task)
                break
            except LostError as error:
                if attempt == _ATTEMPTS - 1:
                    verdict = Verdict(
                        None,
                        Reason.ENGINE_FAILURE,
                        answer=taken.program,
                        detail=f"engine: lost {_ATTEMPTS} times; {error}"[:300],
                    )
        return replace(verdict, seconds=time.monotonic() - began)


def _task(reference: Json, context: Mapping[str, Any]) -> Task:
    task = read_reference(reference)
    if task.problem:
        return task
    given = (context.get(name) for name in ("problem", "question"))
    problem = next((text for text in given if isinstance(text, str)), "")
    return replace(task, problem=problem)
