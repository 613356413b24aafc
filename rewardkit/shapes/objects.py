"""An object with fields (a trace, a state, a sample, an episode): the third shape."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from rewardkit.completion import Completion
from rewardkit.errors import ConfigError
from rewardkit.shapes.scored import ScoredRow
from rewardkit.shapes.scorer import Scorer

__all__ = ["ObjectShape", "read_path"]


def read_path(thing: object, path: str) -> Any:  # noqa: ANN401 # whatever the framework put there
    """Returns what stands at a dotted path of attributes, keys and list places.

    Raises:
        ConfigError: there is nothing; the part of the path that is missing is named.

    >>> read_path({"task": {"answers": ["4"]}}, "task.answers.0")
    '4'
    """
    found: Any = thing
    for name in path.split("."):
        try:
            if isinstance(found, Mapping):
                found = found[name]
            elif isinstance(found, Sequence) and name.lstrip("-").isdigit():
                found = found[int(name)]
            else:
                found = getattr(found, name)
        except (KeyError, IndexError, AttributeError):
            raise ConfigError(
                f"the path {path!r} ends at {name!r}, which a {type(found).__name__} does not have"
            ) from None
    return found


@dataclass(frozen=True, slots=True)
class ObjectShape:
    """Where in a framework's object a reward finds what it reads.

    >>> shape = ObjectShape("output.text", {"reference": "task.answer"})
    >>> shape.context({"output": {"text": "4"}, "task": {"answer": "4"}})
    {'reference': '4'}
    """

    completion: str
    """The path of the completion: a string or a chat message list."""
    columns: Mapping[str, str] = field(default_factory=dict)
    """By a column's name, the path of its value."""

    def text(self, thing: object) -> Completion:
        """Returns the completion of an object."""
        found: Completion = read_path(thing, self.completion)
        return found

    def context(self, thing: object) -> dict[str, Any]:
        """Returns the columns of an object."""
        return {name: read_path(thing, path) for name, path in self.columns.items()}

    def score(self, scorer: Scorer, thing: object) -> ScoredRow:
        """Returns what a scorer says about one object."""
        return scorer.one(self.text(thing), self.context(thing))

    async def ascore(self, scorer: Scorer, thing: object) -> ScoredRow:
        """Returns what `score` returns, off the event loop."""
        return await scorer.aone(self.text(thing), self.context(thing))
