"""KbVerifier: a SPARQL query by its answers on a graph."""

import time
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from rewardkit._install import require_extra
from rewardkit.completion import Completion, completion_text
from rewardkit.errors import ConfigError, InvalidReferenceError
from rewardkit.fences import FencePolicy, extract
from rewardkit.runtime import OutcomeStatus, WorkerPool
from rewardkit.verdict import Json, Reason, Verdict
from rewardkit.verifier import Verifier
from rewardkit.verifiers._memory import worker_mebibytes
from rewardkit.verifiers._names import check_keys
from rewardkit.verifiers.kb._work import Found, Job, answer
from rewardkit.verifiers.kb.answers import set_f1

__all__ = ["KbVerifier"]

_POLICY = FencePolicy(tags=("sparql", "rq", "sql"), max_chars=20_000)
_REASONS = {
    "syntax": Reason.UNPARSABLE,
    "unsafe": Reason.FORBIDDEN,
    "row_cap": Reason.OUTPUT_LIMIT,
    "runtime": Reason.CRASH,
}
_ENDS = {
    OutcomeStatus.TIMEOUT: Reason.TIMEOUT,
    OutcomeStatus.MEMORY: Reason.MEMORY,
    OutcomeStatus.CRASH: Reason.CRASH,
}
_FORMATS = {".ttl": "turtle", ".nt": "nt", ".n3": "n3", ".rdf": "xml", ".jsonld": "json-ld"}


class KbVerifier(Verifier):
    """Grades a SPARQL query by the F1 of its answers (KBQA-R1).

    Queries run over an rdflib graph in a worker that is killed at the deadline. Only SELECT and ASK
    are run; SERVICE and FROM, which reach outside, are refused. `parts["schema"]` is the share of
    the query's IRIs that the graph knows.

    Args:
        exact: score 1 or 0 instead of the F1.
        timeout_s: seconds for one verdict, above 0.
        max_rows: more answers are refused, at least 1.
        workers: processes; None for one per core.
        memory_bytes: memory of one of them, at least 64 MiB.

    Raises:
        ConfigError: an option is outside its values.
        EngineMissingError: `rewardkit[kb]` is not installed.
    """

    name = "kb"

    def __init__(
        self,
        *,
        exact: bool = False,
        timeout_s: float = 10.0,
        max_rows: int = 10_000,
        workers: int | None = None,
        memory_bytes: int = 1 << 30,
    ) -> None:
        require_extra("kb")
        if not timeout_s > 0:
            raise ConfigError(f"timeout_s is above 0, not {timeout_s!r}")
        if max_rows < 1:
            raise ConfigError(f"max_rows is at least 1, not {max_rows!r}")
        self.exact = exact
        self.timeout_s = timeout_s
        self.max_rows = max_rows
        self._pool = WorkerPool(
            workers=workers,
            memory_mb=worker_mebibytes(memory_bytes),
            preload=("rewardkit.verifiers.kb._sparql",),
        )

    def verify(self, completion: Completion, reference: Json, /, **context: Any) -> Verdict:
        """Returns the verdict on the query in a completion.

        Args:
            completion: anything at all; the last fenced block is the query, else everything.
            reference: an object with `graph` (Turtle, or what `format` says) or `file`, and with
                `sparql` or `answers`: a list of rows, or of single terms, as N-Triples writes
                them or as plain texts.
            context: not read.

        Raises:
            InvalidReferenceError: a part is missing or of another shape.
        """
        started = time.perf_counter()
        graph, format_, sparql, answers = _read(reference)
        taken = extract(completion_text(completion), _POLICY)
        if taken.program is None:
            reason = taken.reason or Reason.NO_ANSWER
            return Verdict(0.0, reason, detail=f"extraction: {taken.detail}")
        job = Job(graph, format_, taken.program, sparql, self.max_rows)
        outcome = self._pool.call(answer, job, timeout_s=self.timeout_s)
        if outcome.value is not None:
            verdict = self._judge(outcome.value, answers)
        else:
            reason = _ENDS.get(outcome.status, Reason.ENGINE_FAILURE)
            alone = replace(job, sparql="ASK {}")
            fine = self._pool.call(answer, alone, timeout_s=self.timeout_s).value is not None
            score = 0.0 if fine and reason is not Reason.ENGINE_FAILURE else None
            verdict = Verdict(score, reason, detail=f"worker: {outcome.status.value}")
        shown = taken.program.strip()[:2_000]
        return replace(verdict, answer=shown, seconds=time.perf_counter() - started)

    def check_reference(self, reference: Json, /) -> list[str]:
        """Returns what to know before training on a reference.

        Raises:
            InvalidReferenceError: it cannot be read, or its query does not run.
        """
        graph, format_, sparql, answers = _read(reference)
        job = Job(graph, format_, "ASK {}", sparql, self.max_rows)
        found = self._pool.call(answer, job, timeout_s=self.timeout_s).value
        if found is None:
            return ["its query does not end in time"]
        if found.reference_fails:
            raise InvalidReferenceError(f"its query or graph does not run: {found.detail}")
        wanted = found.wanted if answers is None else answers
        return [] if wanted else ["it has no answers: a query for nothing passes"]

    def close(self) -> None:
        """Stops the workers. They start again at the next need."""
        self._pool.close()

    def _judge(self, found: Found, answers: tuple[tuple[str, ...], ...] | None) -> Verdict:
        if found.reference_fails:
            return Verdict(None, Reason.UNPROVED, detail=f"reference: {found.detail}")
        if found.why:
            return Verdict(0.0, _REASONS[found.why], detail=f"graph: {found.why}: {found.detail}")
        rows, wanted = found.answers, found.wanted
        if answers is not None:
            rows = tuple(tuple(map(_plain, row)) for row in rows)
            wanted = tuple(tuple(map(_plain, row)) for row in answers)
        f1 = set_f1(rows, wanted or ())
        score = float(f1 == 1) if self.exact else f1
        return Verdict(
            score,
            Reason.MATCH if score == 1 else Reason.PARTIAL if score else Reason.MISMATCH,
            detail=f"graph: {len(rows)} answers, {len(wanted or ())} are right, F1 {f1:.2f}",
            parts={"f1": round(f1, 6), "schema": round(found.schema, 6)},
            evidence={"tier": "graph", "schema_exists": found.schema == 1.0},
        )


def _plain(term: str) -> str:
    """Returns a term without the marks of N-Triples: `<iri>` and `"text"@en` as plain text."""
    if term.startswith("<") and term.endswith(">"):
        return term[1:-1]
    if term.startswith('"') and '"' in term[1:]:
        return term[1 : term.rindex('"')]
    return term


def _read(
    reference: Json,
) -> tuple[str, str, str | None, tuple[tuple[str, ...], ...] | None]:
    if not isinstance(reference, Mapping):
        raise InvalidReferenceError("a reference is an object with 'graph' and 'sparql'")
    check_keys("a reference", reference, ("graph", "file", "format", "sparql", "answers"))
    graph, format_ = reference.get("graph"), reference.get("format", "turtle")
    file = reference.get("file")
    if graph is None and isinstance(file, str):
        try:
            graph = Path(file).read_text("utf-8")
        except (OSError, ValueError) as error:
            raise InvalidReferenceError(f"'file' cannot be read: {error}") from None
        format_ = reference.get("format", _FORMATS.get(Path(file).suffix, "turtle"))
    if not isinstance(graph, str) or not isinstance(format_, str):
        raise InvalidReferenceError("a reference has 'graph' (text) or 'file' (a path)")
    sparql, answers = reference.get("sparql"), reference.get("answers")
    if isinstance(sparql, str) and sparql.strip():
        return graph, format_, sparql, None
    if isinstance(answers, list):
        rows = [one if isinstance(one, list) else [one] for one in answers]
        return graph, format_, None, tuple(tuple(str(v) for v in row) for row in rows)
    raise InvalidReferenceError("a reference has 'sparql' (a query) or 'answers' (a list)")
