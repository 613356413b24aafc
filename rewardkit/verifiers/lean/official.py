"""Which unknown names Lean's own library, or Mathlib, may have, where only the core library is.

Of each namespace that the core library has a part of, `official.txt` lists the names that proofs
ask for most; it is not complete. Any name of another namespace may be official.
"""

from functools import cache
from pathlib import Path

__all__ = ["may_be_official"]


def may_be_official(name: str) -> bool:
    """Returns whether a name that the core library lacks may be one of Lean's own or of Mathlib.

    >>> may_be_official("Nat.gcd_comm"), may_be_official("Finset.sum_range")
    (True, True)
    >>> may_be_official("List.length_append_comm"), may_be_official("hx")
    (False, False)
    """
    namespace, dot, rest = name.removeprefix("_root_.").partition(".")
    if not dot:
        # Lemmas outside of any namespace are words joined by underscores, local names rarely are.
        return "_" in namespace.strip("_") or namespace in _names()["_root_"]
    known = _names().get(namespace)
    return known is None or rest in known


@cache
def _names() -> dict[str, frozenset[str]]:
    text = Path(__file__).with_suffix(".txt").read_text(encoding="utf-8")
    text = text.partition("\n")[2].replace("\n  ", " ")
    lines = (line.partition(":") for line in text.splitlines())
    return {namespace: frozenset(names.split()) for namespace, _, names in lines}
