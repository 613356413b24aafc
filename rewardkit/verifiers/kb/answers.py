"""Exact match and F1 of short answers, by the rules of SQuAD's evaluation."""

import re
import string
from collections import Counter
from collections.abc import Collection

__all__ = ["exact_match", "normalise_answer", "set_f1", "token_f1"]

_ARTICLES = re.compile(r"\b(?:a|an|the)\b")
_PUNCTUATION = str.maketrans("", "", string.punctuation)


def normalise_answer(text: str) -> str:
    """Returns an answer in lower case without punctuation, articles and repeated blanks.

    >>> normalise_answer("The  Eiffel-Tower!")
    'eiffeltower'
    """
    bare = text.lower().translate(_PUNCTUATION)
    return " ".join(_ARTICLES.sub(" ", bare).split())


def exact_match(answer: str, reference: str) -> float:
    """Returns 1 if both are the same once normalised (SQuAD 1.1)."""
    return float(normalise_answer(answer) == normalise_answer(reference))


def token_f1(answer: str, reference: str) -> float:
    """Returns the F1 of the words as bags, in [0, 1] (SQuAD 1.1).

    With no words on a side it is 1 if there are none on the other either (SQuAD 2.0).

    >>> token_f1("in the city of Paris", "Paris")
    0.4
    """
    words, wanted = normalise_answer(answer).split(), normalise_answer(reference).split()
    if not words or not wanted:
        return float(words == wanted)
    return 2 * (Counter(words) & Counter(wanted)).total() / (len(words) + len(wanted))


def set_f1(answers: Collection[object], reference: Collection[object]) -> float:
    """Returns the F1 of two sets of answers, in [0, 1] (KBQA-R1); of two empty ones, 1."""
    found, wanted = set(answers), set(reference)
    if not found and not wanted:
        return 1.0
    return 2 * len(found & wanted) / (len(found) + len(wanted))
