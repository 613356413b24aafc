"""Token ids as completions: where the text ends, and where each token begins in it."""

from collections.abc import Callable, Collection, Sequence
from itertools import accumulate

__all__ = ["completion_from_ids", "token_starts", "turn_ends"]


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


def token_starts(
    ids: Sequence[int], decode: Callable[[list[int]], str], *, text: str = ""
) -> list[int]:
    """Returns where each token begins in the text of all of them, in characters.

    A token is decoded alone where that adds up, as it does for most text; else each prefix is
    decoded, which takes a time that grows with the square of the length.

    Args:
        ids: the completion.
        decode: a tokenizer's way from ids to text.
        text: what is graded, if it is only a part, as the last of several turns is: positions are
            counted from where it last stands, and are negative before it.

    >>> token_starts([72, 105], lambda ids: bytes(ids).decode())
    [0, 1]
    """
    whole = decode(list(ids))
    begin = max(whole.rfind(text), 0) if text else 0
    pieces = [decode([token]) for token in ids]
    if "".join(pieces) == whole:
        return list(accumulate((len(piece) for piece in pieces[:-1]), initial=-begin))[: len(ids)]
    return [len(decode(list(ids[:index]))) - begin for index in range(len(ids))]


def turn_ends(mask: Sequence[int]) -> list[int]:
    """Returns the last token of each turn of the model, where tools' tokens stand between them.

    Args:
        mask: (T,) 1 for a token of the model, 0 for one of a tool or of padding.

    >>> turn_ends([1, 1, 0, 0, 1, 0])
    [1, 4]
    """
    following = [*mask[1:], 0]
    return [place for place, own in enumerate(mask) if own and not following[place]]
