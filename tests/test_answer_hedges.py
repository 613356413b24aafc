"""Hedges: what is looked at quickly first finds all that the whole pattern finds."""

from hypothesis import example, given
from hypothesis import strategies as st

from rewardkit import _answer_hedges as hedges

WORDS = st.sampled_from(
    "not isn't never unlike except instead of rather than one these among either neither any "
    "was wrong incorrect suppose supposing assume that the if whether guess imagine or and/or "
    "5 x } $ ) ( [ : , * \\( \\[ answer is therefore".split()
)
GAPS = st.sampled_from([" ", "  ", "\n", "\u00a0", "\u3000", "\t", ""])
BEFORE = st.lists(st.tuples(WORDS, GAPS), max_size=8).map(
    lambda pairs: "".join(word + gap for word, gap in pairs)
)


@given(BEFORE)
@example("It is not ")
@example("12$ or $")
@example("assuming that the\u3000")
def test_a_denial_is_found_whatever_stands_between_it_and_the_answer(before):
    window = before[-hedges._BEFORE_CHARS :]
    assert bool(hedges.denial_before(before, len(before))) == bool(hedges._BEFORE.search(window))


@given(st.text(" \t\r\n$.)]}?*,;or5\u3000", max_size=16))
@example("$.\n")
@example(" ?")
def test_after_silence_nothing_is_offered_or_denied(after):
    if hedges.is_silent(after, 0):
        assert not hedges.offered_after(after, 0)
        assert not hedges.denial_after(after, 0)
