"""Names that a caller got wrong: keys of references, and options."""

import difflib
from collections.abc import Iterable, Mapping
from typing import Any

from rewardkit.errors import InvalidReferenceError

__all__ = ["check_keys", "did_you_mean"]

_NEAR = 0.75
"""How like two names are when one is a slip for the other, in [0, 1]."""


def did_you_mean(name: object, known: Iterable[str]) -> str:
    """Returns a question that ends a sentence: which known name is nearest, or nothing.

    >>> did_you_mean("tolerence", ["tolerance", "format"]), did_you_mean("x", ["tolerance"])
    (' (did you mean tolerance?)', '')
    """
    near = difflib.get_close_matches(str(name), list(known), n=1)
    return f" (did you mean {near[0]}?)" if near else ""


def check_keys(
    what: str, reference: Mapping[str, Any], known: Iterable[str], *, strict: bool = False
) -> None:
    """Checks that no key of a reference, or of a part of one, is a slip for a known one.

    A misspelt key would be a test that is never run, or a tolerance that does not hold. What a data
    set carries along (`id`, `source`) is like no known key, and is left alone.

    Args:
        what: how the message calls it, as in `a code reference`.
        reference: the object.
        known: all keys that are read.
        strict: take every other key for a slip.

    Raises:
        InvalidReferenceError: it has a key that nearly is a known one, and not that one; the
            message names it and the known ones.
    """
    names = list(known)
    missing = [name for name in names if name not in reference]
    for key in reference:
        near = difflib.get_close_matches(str(key)[:80], missing, n=1, cutoff=_NEAR)
        if key not in names and (near or strict):
            question = f" (did you mean {near[0]}?)" if near else ""
            raise InvalidReferenceError(
                f"{what} has no key {str(key)[:80]!r}{question}; there are: {', '.join(names)}"
            )
