import pytest
from hypothesis import given
from hypothesis import strategies as st

from rewardkit.verifiers.formal.scan import DAFNY, LEAN, ROCQ, read_code

PIECES = st.sampled_from(
    ["--", "/-", "-/", "(*", "*)", "//", "/*", "*/", '"', "'", "\\", "\n", "a", 'r#"', '"#', " "]
)


@pytest.mark.parametrize("dialect", [LEAN, DAFNY, ROCQ], ids=["lean", "dafny", "rocq"])
@given(pieces=st.lists(PIECES, max_size=40))
def test_the_bare_copy_has_the_length_and_the_lines_of_the_text(dialect, pieces):
    text = "".join(pieces)
    code = read_code(text, dialect)
    assert len(code.bare) == len(text)
    kept = [i for i, c in enumerate(code.bare) if c != " "]
    assert all(code.bare[i] == text[i] for i in kept)
    assert [i for i, c in enumerate(text) if c == "\n"] == [
        i for i, c in enumerate(code.bare) if c == "\n"
    ]


@pytest.mark.parametrize(
    ("dialect", "text", "hidden"),
    [
        (LEAN, "x /- a /- b -/ c -/ y", "abc"),
        (LEAN, "x -- a\ny", "a"),
        (LEAN, 'x "a\\"b" y', "ab"),
        (LEAN, "x '\"' y", '"'),
        (LEAN, 'x r#"a"b"# y', "ab"),
        (LEAN, "x' y'", ""),
        (ROCQ, 'x (* a "*)" b *) y', "ab"),
        (ROCQ, 'x "a""b" y', "ab"),
        (DAFNY, "x // a\ny /* b */", "ab"),
    ],
)
def test_comments_and_strings_are_blank_and_the_rest_is_not(dialect, text, hidden):
    code = read_code(text, dialect)
    assert code.closed
    assert not set(hidden) & set(code.bare.replace('"', "")) or hidden == '"'
    assert "x" in code.bare
    assert "y" in code.bare


def test_a_comment_without_end_is_told():
    assert not read_code("a /- b", LEAN).closed
    assert not read_code('a "b', LEAN).closed
