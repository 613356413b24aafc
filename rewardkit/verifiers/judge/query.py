"""What is asked of a judge: data, a task, and a closed set of answers for each item."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TypeAlias

from rewardkit.verdict import Json

__all__ = ["Answers", "Query", "answer_schema"]

Answers: TypeAlias = Mapping[str, str]
"""Item -> the allowed answer that the judge gave."""


@dataclass(frozen=True, slots=True)
class Query:
    """One question to a judge.

    >>> Query("Is it right?", {"response": "4"}, {"verdict": ("YES", "NO")}).items["verdict"]
    ('YES', 'NO')
    """

    task: str
    """What to decide, in the words of whoever wrote the rubric: trusted text."""
    data: Mapping[str, Json]
    """What it is decided on, in this order; none of it is trusted."""
    items: Mapping[str, tuple[str, ...]]
    """Item -> its allowed answers; an item is a short identifier such as `verdict` or `c1`."""
    values: Mapping[str, float] = field(default_factory=dict)
    """Score of each answer, where there is one item: a local judge can take the expectation."""


def answer_schema(query: Query, *, reasoning: bool) -> dict[str, Json]:
    """Returns the JSON schema of a reply: each item with its allowed answers, all of them required.

    Args:
        query: what is asked.
        reasoning: the reply begins with a free text.
    """
    properties: dict[str, Json] = {"reasoning": {"type": "string"}} if reasoning else {}
    for name, allowed in query.items.items():
        properties[name] = {"type": "string", "enum": list(allowed)}
    return {
        "type": "object",
        "properties": properties,
        "required": list(properties),
        "additionalProperties": False,
    }
