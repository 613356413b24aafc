"""Runs SPARQL over a graph; in a worker."""

from collections.abc import Iterator
from functools import lru_cache
from typing import Any

import rdflib
from rdflib.plugins.sparql import prepareQuery
from rdflib.plugins.sparql.parserutils import CompValue
from rdflib.query import ResultRow

__all__ = ["Answers", "Refused", "run", "run_reference"]

Answers = frozenset[tuple[str, ...]]
"""Rows as N-Triples terms, without repeats."""


class Refused(Exception):
    """A query that was not run to its end.

    Args:
        why: syntax, unsafe, row_cap or runtime.
        message: one line.
    """

    def __init__(self, why: str, message: str) -> None:
        super().__init__(why, message)
        self.why = why
        self.message = " ".join(message.split())[:300]


@lru_cache(maxsize=16)
def _graph(data: str, format_: str) -> rdflib.Graph:
    graph = rdflib.Graph()
    graph.parse(data=data, format=format_)
    return graph


@lru_cache(maxsize=256)
def run_reference(data: str, format_: str, sparql: str, max_rows: int) -> Answers:
    """Returns what a reference answers; see `run`."""
    return run(data, format_, sparql, max_rows)[0]


def run(data: str, format_: str, sparql: str, max_rows: int) -> tuple[Answers, float]:
    """Returns the answers of a query, and the share of its IRIs that the graph knows.

    Args:
        data: the graph as text.
        format_: how it is written, in rdflib's words.
        sparql: a SELECT or ASK.
        max_rows: more are refused.

    Raises:
        Refused: it is something else, reaches outside, or fails.
    """
    graph = _graph(data, format_)
    try:
        query = prepareQuery(sparql, initNs=dict(graph.namespaces()))
    except RecursionError:
        raise Refused("syntax", "nested too deep") from None
    except Exception as error:  # the parser raises of many kinds, and all mean the same
        raise Refused("syntax", str(error)) from None
    algebra = query.algebra
    if algebra.name not in ("SelectQuery", "AskQuery"):
        raise Refused("unsafe", f"{algebra.name} is neither SELECT nor ASK")
    parts = list(_parts(algebra))
    for part in parts:
        if isinstance(part, CompValue) and part.name == "ServiceGraphPattern":
            raise Refused("unsafe", "SERVICE asks another server")
    if algebra.get("datasetClause"):
        raise Refused("unsafe", "FROM loads another graph")
    try:
        result = graph.query(query)
        if result.type == "ASK":
            return frozenset({(str(bool(result.askAnswer)).lower(),)}), _known(graph, parts)
        rows = set()
        for row in result:
            terms: tuple[Any, ...] = tuple(row) if isinstance(row, ResultRow) else ()
            rows.add(tuple("" if term is None else term.n3() for term in terms))
            if len(rows) > max_rows:
                raise Refused("row_cap", f"more than {max_rows:,} answers")
    except (Refused, MemoryError):
        raise
    except Exception as error:
        raise Refused("runtime", str(error)) from None
    return frozenset(rows), _known(graph, parts)


def _parts(value: Any) -> Iterator[Any]:  # noqa: ANN401
    waiting = [value]
    while waiting:
        one = waiting.pop()
        yield one
        if isinstance(one, CompValue):
            waiting += list(one.values())
        elif isinstance(one, list | tuple | set):
            waiting += list(one)
        elif isinstance(one, dict):
            waiting += list(one.values())


def _known(graph: rdflib.Graph, parts: list[Any]) -> float:
    names = {p for p in parts if isinstance(p, rdflib.URIRef)}
    names = {name for name in names if not str(name).startswith("http://www.w3.org/2001/XMLSchema")}
    if not names:
        return 1.0
    known = sum(
        any(
            pattern in graph
            for pattern in ((name, None, None), (None, name, None), (None, None, name))
        )
        for name in names
    )
    return known / len(names)
