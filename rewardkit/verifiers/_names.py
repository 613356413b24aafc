"""Names that a caller got wrong: keys of references, and options."""

import difflib
from collections.abc import Iterable, Mapping
from typing import Any

from rewardkit.errors import InvalidReferenceError

__all__ = ["check_keys", "did_you_mean"]


def did_you_mean(name: object, known: Iterable[str]) -> str:
    """Returns a question that ends a sentence: which known name is nearest, or nothing.

    >>> did_you_mean("tolerence", ["tolerance", "format"]), did_you_mean("x", ["tolerance"])
    (' (did you mean tolerance?)', '')
    """
    near = difflib.get_close_matches(str(name), list(known), n=1)
    return f" (did you mean {near[0]}?)" if near else ""


def check_keys(what: str, reference: Mapping[str, Any], known: Iterable[str]) -> None:
    """Checks that a reference, or a part of one, has known keys only.

    A key that nobody reads is a slip, such as a test that is never run; other columns of a data
    set are columns of the row, and no keys of the reference.

    Args:
        what: how the message calls it, as in `a code reference`.
        reference: the object.
        known: all keys that it may have.

    Raises:
        InvalidReferenceError: it has another key; the message names it and the known ones.
    """
    names = list(known)
    for key in reference:
        if key not in names:
            raise InvalidReferenceError(
                f"{what} has no key {str(key)[:80]!r}{did_you_mean(str(key)[:80], names)}; there "
                f"are: {', '.join(names)}"
            )
