"""The options of a judge, checked, and the mode that they name."""

from collections.abc import Mapping
from typing import Literal, TypeAlias

from rewardkit.errors import ConfigError
from rewardkit.verifiers.judge.comparisons import Consistency, Contrastive, Pairwise, Skills
from rewardkit.verifiers.judge.modes import Equivalence, Mode, RubricMode, Scale
from rewardkit.verifiers.judge.rubric import Rubric
from rewardkit.verifiers.judge.skills import SkillLibrary

__all__ = [
    "ModeName",
    "RubricOption",
    "SkillsOption",
    "check_choice",
    "check_prices",
    "check_range",
    "make_mode",
]

ModeName: TypeAlias = Literal[
    "equivalence", "scale", "rubric", "pairwise", "contrastive", "consistency", "skills"
]
RubricOption: TypeAlias = Rubric | list[dict[str, object]] | str | None
"""Criteria as a `Rubric`, as a list or as its JSON text; or a guideline in words."""
SkillsOption: TypeAlias = SkillLibrary | list[dict[str, object]] | None


def make_mode(
    name: ModeName,
    *,
    rubric: RubricOption = None,
    scale: tuple[int, ...] = (1, 5),
    skills: SkillsOption = None,
    both_orders: bool = False,
    apart: bool = False,
    disagreement: Literal["abstain", "tie"] = "abstain",
) -> Mode:
    """Returns a mode.

    Raises:
        ConfigError: no such mode, or an option is outside its values.
    """
    guideline, criteria = _split_rubric(rubric)
    if criteria is not None and name != "rubric":
        raise ConfigError(f"criteria are for mode 'rubric', not for {name!r}")
    if disagreement not in ("abstain", "tie"):
        raise ConfigError(f"disagreement is 'abstain' or 'tie', not {disagreement!r}")
    if len(scale) != 2:
        raise ConfigError(f"scale is the lowest and the highest number, not {scale!r}")
    if name == "skills":
        if skills is None:
            raise ConfigError("mode 'skills' needs skills: a SkillLibrary")
        library = skills if isinstance(skills, SkillLibrary) else SkillLibrary.from_json(skills)  # type: ignore[arg-type] # a list of objects is JSON
        return Skills(library, guideline)
    made: Mapping[str, Mode] = {
        "equivalence": Equivalence(guideline, both_orders),
        "scale": Scale(guideline, scale[0], scale[1]),
        "rubric": RubricMode(criteria, guideline, "apart" if apart else "together"),
        "pairwise": Pairwise(guideline, disagreement),
        "contrastive": Contrastive(guideline),
        "consistency": Consistency(guideline),
    }
    if name not in made:
        raise ConfigError(f"mode is one of {', '.join([*made, 'skills'])}, not {name!r}")
    return made[name]


def check_range(
    name: str, value: float, *, above: float | None = None, at_least: float = 0
) -> None:
    """Checks a number.

    Raises:
        ConfigError: it is outside its range.
    """
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise ConfigError(f"{name} is a number, not {value!r}")
    if above is not None and not value > above:
        raise ConfigError(f"{name} is above {above:g}, not {value!r}")
    if above is None and not value >= at_least:
        raise ConfigError(f"{name} is at least {at_least:g}, not {value!r}")


def check_choice(name: str, value: str, allowed: tuple[str, ...]) -> None:
    """Checks a word.

    Raises:
        ConfigError: it is none of the allowed ones.
    """
    if value not in allowed:
        raise ConfigError(f"{name} is one of {', '.join(allowed)}, not {value!r}")


def check_prices(prices: tuple[float, ...] | None) -> tuple[float, float] | None:
    """Returns the prices of a million prompt and completion tokens.

    Raises:
        ConfigError: they are not two numbers from 0.
    """
    if prices is None:
        return None
    if len(prices) != 2 or not all(price >= 0 for price in prices):
        raise ConfigError(f"price_per_million is two prices from 0, not {prices!r}")
    return prices[0], prices[1]


def _split_rubric(rubric: RubricOption) -> tuple[str | None, Rubric | None]:
    if rubric is None or isinstance(rubric, Rubric):
        return None, rubric
    if isinstance(rubric, str) and not rubric.lstrip().startswith("["):
        if not rubric.strip():
            raise ConfigError("the rubric is empty")
        return rubric.strip(), None
    return None, Rubric.from_json(rubric)  # type: ignore[arg-type] # a list of objects is JSON
