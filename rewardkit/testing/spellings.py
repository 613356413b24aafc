"""Answers with their equals: by kind, a value written in two ways, and another value."""

from collections.abc import Mapping

from hypothesis import strategies as st

from rewardkit.errors import ConfigError
from rewardkit.testing import _spelled_formulas as formulas
from rewardkit.testing import _spelled_numbers as numbers
from rewardkit.testing import _spelled_quantities as quantities
from rewardkit.testing._spelled import Spelled

__all__ = ["SPELLINGS", "Spelled", "spellings"]

SPELLINGS: Mapping[str, st.SearchStrategy[Spelled]] = {
    "integers": numbers.integers(),
    "fractions": numbers.fractions(),
    "decimals": numbers.decimals(),
    "repeating decimals": numbers.repeating(),
    "radicals": formulas.radicals(),
    "polynomials": formulas.polynomials(),
    "sets": formulas.sets(),
    "tuples": formulas.tuples(),
    "intervals": formulas.intervals(),
    "matrices": formulas.matrices(),
    "quantities": quantities.quantities(),
    "dates": quantities.dates(),
    "times": quantities.times(),
    "number words": numbers.number_words(),
    "complex numbers": numbers.complex_numbers(),
    "angles": quantities.angles(),
    "binomials": numbers.binomials(),
}
"""By kind of value, pairs of spellings as mathematicians and models write them."""


def spellings(kind: str | None = None) -> st.SearchStrategy[Spelled]:
    """Returns answers in LaTeX or plain text: two spellings of one value, and one of another.

    Args:
        kind: a key of `SPELLINGS`; None for any of them.

    Raises:
        ConfigError: there is no such kind.
    """
    if kind is None:
        return st.sampled_from(sorted(SPELLINGS)).flatmap(SPELLINGS.__getitem__)
    if kind not in SPELLINGS:
        raise ConfigError(f"spellings exist of {', '.join(SPELLINGS)}, not {kind!r}")
    return SPELLINGS[kind]
