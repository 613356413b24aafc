"""Spaces in a written answer: many count as one, and none joins what it keeps apart."""

from hypothesis import given
from hypothesis import strategies as st

from rewardkit._spaces import drop_idle_spaces

PIECES = st.sampled_from(["1", "23", ".5", "7.", "x", "+", "(", ")", ",", "\\pi", "..", "-", "é"])
GAPS = st.text(" \t\n", min_size=1, max_size=4)


@given(st.lists(st.tuples(PIECES, GAPS)))
def test_a_run_of_white_space_is_one_space(parts):
    spread = "".join(piece + gap for piece, gap in parts)
    assert drop_idle_spaces(spread) == drop_idle_spaces(" ".join(piece for piece, _ in parts))


@given(st.lists(st.tuples(PIECES, GAPS)))
def test_a_second_pass_changes_nothing(parts):
    once = drop_idle_spaces("".join(piece + gap for piece, gap in parts))
    assert drop_idle_spaces(once) == once


@given(st.text("0123456789abc.", min_size=1), GAPS, st.text("0123456789abc.", min_size=1))
def test_two_words_or_numbers_stay_two(left, gap, right):
    if (left[-1].isalnum() and right[0].isalnum()) or (
        left[-1:].isdigit() and right[:1] == "." and right[1:2].isdigit()
    ):
        assert drop_idle_spaces(left + gap + right) == f"{left} {right}"


@given(st.text("0123456789.+", min_size=1), GAPS, st.text("0123456789.+", min_size=1))
def test_no_decimal_is_made_of_two_numbers(left, gap, right):
    squeezed = drop_idle_spaces(f"{left.rstrip('.')}7.{gap}5{right}")
    assert "7. 5" in squeezed
