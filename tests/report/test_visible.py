"""What hides or reorders text is shown."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rewardkit.report.markup import escape
from rewardkit.report.visible import split_visible, visible_text

any_text = st.text(st.characters(exclude_categories=()))


@pytest.mark.parametrize(
    "code",
    [
        0x00,
        0x08,
        0x0D,
        0x1B,
        0x7F,
        0x85,
        0xAD,
        0x61C,
        0x200B,
        0x200D,
        0x200F,
        0x2028,
        0x202E,
        0x2066,
        0x2069,
        0x3164,
        0xFEFF,
        0xD800,
        0xDFFF,
        0xE0041,
    ],
)
def test_hidden_characters_are_named_by_their_code(code):
    assert visible_text(f"a{chr(code)}b") == f"a<U+{code:04X}>b"


@pytest.mark.parametrize("text", ["a b\n\tc", "½ × −1 ≤ ∞", "漢字 עברית é", "😀"])
def test_ordinary_text_is_unchanged(text):
    assert visible_text(text) == text


@given(any_text)
def test_the_pieces_are_the_text(text):
    assert "".join(piece.text for piece in split_visible(text)) == text


_MARK = re.compile(r'<span class="hidden" title="[\w ()-]+">(U\+[0-9A-F]{4,6})</span>')


@given(any_text)
def test_markup_is_plain_utf8_without_markup_of_the_text(text):
    escape(text).encode()
    rest = _MARK.sub(r"\1", escape(text))
    assert not set("<>\"'\x00") & set(rest)


def test_markup_cannot_be_injected():
    assert escape("<script>alert('&')</script>") == (
        "&lt;script&gt;alert(&#x27;&amp;&#x27;)&lt;/script&gt;"
    )
