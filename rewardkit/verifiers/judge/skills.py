"""Skill prototypes with checklists, and the way from a subgoal to its prototype (SCRIBE)."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Self

from rewardkit.errors import ConfigError
from rewardkit.verdict import Json
from rewardkit.verifiers.judge.rubric import Rubric

__all__ = ["SkillLibrary", "SkillPrototype"]

_WORD = re.compile(r"[^\W_]+")


@dataclass(frozen=True, slots=True)
class SkillPrototype:
    """A kind of subgoal, and the checklist that says whether it was done well."""

    name: str
    """A short identifier, as `unit_conversion`."""
    checklist: Rubric
    keywords: tuple[str, ...] = ()
    """Words of subgoals that it is for, in lower case."""

    def __post_init__(self) -> None:
        if not re.fullmatch(r"[A-Za-z][\w-]{0,40}", self.name):
            raise ConfigError(f"a skill's name is a short identifier, not {self.name!r}")


@dataclass(frozen=True, slots=True)
class SkillLibrary:
    """Prototypes by name, and the router.

    Source: SCRIBE, arXiv 2601.03555: each subgoal is routed to a prototype, and the judge answers
    that prototype's checklist and nothing else. How a subgoal is routed is ours: by name, else by
    keywords, else the judge chooses a name from the closed list.

    Raises:
        ConfigError: no prototype, or two of one name.
    """

    prototypes: tuple[SkillPrototype, ...]

    def __post_init__(self) -> None:
        names = [one.name.upper() for one in self.prototypes]
        if not names or len(set(names)) != len(names):
            raise ConfigError("a skill library has prototypes, each with a name of its own")

    @classmethod
    def from_json(cls, value: Json) -> Self:
        """Returns a library from a list of `{"name", "checklist", "keywords"}`.

        Raises:
            ConfigError: it is of another shape.
        """
        if not isinstance(value, list | tuple):
            raise ConfigError("a skill library is a list of {name, checklist, keywords} objects")
        found = []
        for one in value:
            name = one.get("name") if isinstance(one, Mapping) else None
            if not isinstance(one, Mapping) or not isinstance(name, str):
                raise ConfigError("a skill is an object {name, checklist, keywords}")
            words = one.get("keywords") or []
            if not isinstance(words, list):
                raise ConfigError("'keywords' is a list of words")
            checklist = Rubric.from_json(one.get("checklist"))
            found.append(
                SkillPrototype(name, checklist, tuple(str(word).lower() for word in words))
            )
        return cls(tuple(found))

    def get(self, name: str) -> SkillPrototype | None:
        """Returns the prototype of a name in any case, or None."""
        return next((one for one in self.prototypes if one.name.upper() == name.upper()), None)

    def route(self, subgoal: str) -> SkillPrototype | None:
        """Returns the prototype with the most keywords in a subgoal; None if none leads.

        >>> library = SkillLibrary.from_json(
        ...     [{"name": "add", "checklist": ["adds"], "keywords": ["sum", "total"]}]
        ... )
        >>> library.route("Find the total").name
        'add'
        """
        words = set(_WORD.findall(subgoal.lower()))
        hits = sorted((len(words & set(p.keywords)), p.name) for p in self.prototypes)
        best, name = hits[-1]
        leads = best > 0 and (len(hits) == 1 or hits[-2][0] < best)
        return self.get(name) if leads else None
