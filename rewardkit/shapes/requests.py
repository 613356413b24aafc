"""JSON over HTTP: the fourth shape."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from rewardkit.errors import DataError
from rewardkit.shapes.scored import Scored
from rewardkit.shapes.scorer import Scorer

__all__ = ["JsonShape"]


@dataclass(frozen=True, slots=True)
class JsonShape:
    """How a request names what a reward reads.

    >>> shape = JsonShape("query", {"reference": "labels"})
    >>> shape.columns_of({"query": ["4"], "labels": ["4"]})
    {'reference': ['4']}
    """

    completions: str
    """The key of the list of completions."""
    columns: Mapping[str, str] = field(default_factory=dict)
    """By a column's name, the key of its list. A key that a request lacks is left out."""

    def score(self, scorer: Scorer, body: str | bytes | Mapping[str, Any]) -> Scored:
        """Returns what a scorer says about the completions of a request.

        Raises:
            DataError: the request is not JSON of this shape: the caller's mistake, HTTP 400.
        """
        request = self.read(body)
        completions = request.get(self.completions)
        if not isinstance(completions, Sequence) or isinstance(completions, str):
            raise DataError(f"the request has no list {self.completions!r}")
        columns = self.columns_of(request)
        for name, column in columns.items():
            if not isinstance(column, Sequence) or len(column) != len(completions):
                raise DataError(
                    f"{self.columns[name]!r} is no list of {len(completions)} entries, as "
                    f"{self.completions!r} is"
                )
        return scorer.batch(completions, columns)

    def columns_of(self, request: Mapping[str, Any]) -> dict[str, Any]:
        """Returns the columns of a request by their names here."""
        return {name: request[key] for name, key in self.columns.items() if key in request}

    def read(self, body: str | bytes | Mapping[str, Any]) -> Mapping[str, Any]:
        """Returns a request as a mapping.

        Raises:
            DataError: it is no JSON object.
        """
        if isinstance(body, str | bytes):
            try:
                body = json.loads(body)
            except (ValueError, RecursionError) as error:
                raise DataError(f"the request is no JSON: {error}") from None
        if not isinstance(body, Mapping):
            raise DataError("the request is no JSON object")
        return body
