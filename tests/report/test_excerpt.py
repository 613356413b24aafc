"""Long text is cut down, and the graded span stays."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rewardkit.report.excerpt import cut_excerpt, find_span


def shown(excerpt):
    return "".join(segment.text for segment in excerpt.segments)


def graded(excerpt):
    return "".join(segment.text for segment in excerpt.segments if segment.kind == "graded")


@given(st.text(max_size=50), st.integers(0, 60), st.integers(0, 60))
def test_a_short_text_is_whole(text, start, length):
    span = (min(start, len(text)), min(start + length, len(text)))
    excerpt = cut_excerpt(text, span)
    assert shown(excerpt) == text
    assert graded(excerpt) == text[span[0] : span[1]]
    assert all(segment.text for segment in excerpt.segments)


@given(st.integers(0, 30_000), st.integers(0, 30_000), st.integers(0, 9_000), st.booleans())
def test_nothing_is_lost_silently(length, start, size, keep_start):
    text = "".join(chr(97 + i % 26) for i in range(length))
    span = (start, start + size) if start + size <= length else None
    excerpt = cut_excerpt(text, span, keep_start=keep_start)
    left_out = sum(segment.left_out for segment in excerpt.segments)
    assert left_out + len(shown(excerpt)) == length == excerpt.length
    assert len(shown(excerpt)) <= 4000
    at = 0
    for segment in excerpt.segments:
        at += segment.left_out
        assert text[at : at + len(segment.text)] == segment.text
        at += len(segment.text)
    if span is not None:
        assert graded(excerpt)[:200] == text[span[0] : span[1]][:200]


def test_a_megabyte_keeps_its_end_and_the_span_far_before_it():
    text = "a" * 300_000 + r"\boxed{42}" + "b" * 700_000
    excerpt = cut_excerpt(text, (300_000, 300_010))
    assert graded(excerpt) == r"\boxed{42}"
    assert shown(excerpt).endswith("b" * 1000)
    assert [segment.kind for segment in excerpt.segments] == [
        *("gap", "text", "graded", "text", "gap", "text")
    ]


@pytest.mark.parametrize(
    ("answer", "hint", "span"),
    [
        ("4", None, (7, 8)),
        ("4", [1, 2], (1, 2)),
        ("4", [1, 99], (7, 8)),
        ("4", [2, 1], (7, 8)),
        ("4", ["a", "b"], (7, 8)),
        ("4", "12", (7, 8)),
        ("9", None, None),
        ("", None, None),
        (None, None, None),
        (None, [0, 1], (0, 1)),
    ],
)
def test_the_span_is_where_the_verifier_says_or_the_last_occurrence(answer, hint, span):
    assert find_span("4 is 2+4", answer, hint) == span
