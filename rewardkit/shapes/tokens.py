"""Token ids as completions: where the text ends, and where each token begins in it."""

from collections.abc import Callable, Collection, Sequence
from itertools import accumulate

__all__ = ["completion_from_ids", "token_starts"]


def completion_from_ids(
    ids: Sequence[int], decode: Callable[[list[int]], str], *, eos: Collection[int] = ()
) -> str:
    """Returns the text of a completion given as token ids, without its end token and what follows.

    Args:
        ids: the completion, padded or not.
        decode: a tokenizer's way from ids to text.
        eos: the ids that end a completion.

    >>> completion_from_ids([72, 105, 0, 0], lambda ids: bytes(ids).decode(), eos=[0])
    'Hi'
    """
    end = next((place for place, token in enumerate(ids) if token in eos), len(ids))
    return decode(list(ids[:end]))


def token_starts(ids: Sequence[int], decode: Callable[[list[int]], str]) -> list[int]:
    """Returns where each token begins in the text of all of them, in characters.

    A token is decoded alone where that adds up, as it does for most text; else each prefix is
    decoded, which takes a time that grows with the square of the length.

    >>> token_starts([72, 105], lambda ids: bytes(ids).decode())
    [0, 1]
    """
    pieces = [decode([token]) for token in ids]
    if "".join(pieces) == decode(list(ids)):
        return list(accumulate((len(piece) for piece in pieces), initial=0))[:-1]
    return [len(decode(list(ids[:index]))) for index in range(len(ids))]
