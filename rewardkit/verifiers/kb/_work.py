"""What runs in the workers of `KbVerifier`."""

from dataclasses import dataclass

__all__ = ["Found", "Job", "answer"]


@dataclass(frozen=True, slots=True)
class Job:
    """One query and its reference."""

    graph: str
    format: str
    sparql: str
    reference: str | None
    max_rows: int


@dataclass(frozen=True, slots=True)
class Found:
    """What came of a query."""

    answers: tuple[tuple[str, ...], ...] = ()
    wanted: tuple[tuple[str, ...], ...] | None = None
    schema: float = 0.0
    why: str = ""
    detail: str = ""
    reference_fails: bool = False


def answer(job: Job) -> Found:
    """Returns the answers of both, the reference's first."""
    from rewardkit.verifiers.kb._sparql import Refused, run, run_reference

    wanted = None
    if job.reference is not None:
        try:
            wanted = run_reference(job.graph, job.format, job.reference, job.max_rows)
        except Refused as error:
            return Found(why=error.why, detail=error.message, reference_fails=True)
        except (ValueError, SyntaxError) as error:  # the graph's own parser
            return Found(why="runtime", detail=str(error)[:300], reference_fails=True)
    try:
        answers, schema = run(job.graph, job.format, job.sparql, job.max_rows)
    except Refused as error:
        return Found(wanted=_sorted(wanted), why=error.why, detail=error.message)
    return Found(tuple(sorted(answers)), _sorted(wanted), schema)


def _sorted(rows: frozenset[tuple[str, ...]] | None) -> tuple[tuple[str, ...], ...] | None:
    return None if rows is None else tuple(sorted(rows))
