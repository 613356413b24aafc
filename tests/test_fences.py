"""Which part of a completion is the program."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rewardkit.errors import ConfigError
from rewardkit.fences import FencePolicy, extract, fenced_blocks
from rewardkit.verdict import Reason

ONE = "Here:\n```python\nx = 1\n```\nDone."
TWO = "```python\nx = 1\n```\nNo, better:\n```py\nx = 2\n```\n"


@pytest.mark.parametrize(
    ("text", "policy", "program"),
    [
        (ONE, FencePolicy(), "x = 1\n"),
        (TWO, FencePolicy(), "x = 2\n"),
        (TWO, FencePolicy(choose="first"), "x = 1\n"),
        (TWO, FencePolicy(choose="join"), "x = 1\n\nx = 2\n"),
        ("```\nx = 3\n```", FencePolicy(), "x = 3\n"),
        ("```python\nx = 1\n```\n```\nsample output\n```", FencePolicy(), "x = 1\n"),
        ("```python\nx = 1\n```\n```bash\npip\n```", FencePolicy(), "x = 1\n"),
        ("~~~python\nx = 1\n~~~", FencePolicy(), "x = 1\n"),
        ("````python\ns = '''\n```\n'''\n````", FencePolicy(), "s = '''\n```\n'''\n"),
        ("1. Do\n   ```python\n   if x:\n       y\n   ```", FencePolicy(), "if x:\n    y\n"),
        ("> ```python\n> x = 1\n> ```", FencePolicy(), "x = 1\n"),
        ("```Python title=a.py\nx = 1\n```", FencePolicy(), "x = 1\n"),
        ("```{python}\nx = 1\n```", FencePolicy(), "x = 1\n"),
        ("```python\r\nx = 1\r\n```\r\n", FencePolicy(), "x = 1\r\n"),
        ("<think>```python\nx = 0\n```</think>\n```python\nx = 1\n```", FencePolicy(), "x = 1\n"),
        ("x = 1", FencePolicy(), "x = 1"),
        ("```python\nx = 1", FencePolicy(accept_unclosed=True), "x = 1"),
        ("```python\n```", FencePolicy(), ""),
    ],
)
def test_the_program_is_found(text: str, policy: FencePolicy, program: str) -> None:
    assert extract(text, policy).program == program


@pytest.mark.parametrize(
    ("text", "policy", "reason"),
    [
        ("", FencePolicy(), Reason.NO_ANSWER),
        ("   \n", FencePolicy(), Reason.NO_ANSWER),
        ("x = 1", FencePolicy(accept_bare=False), Reason.NO_ANSWER),
        ("```rust\nfn main() {}\n```", FencePolicy(), Reason.NO_ANSWER),
        ("```python\nx = 1", FencePolicy(), Reason.TRUNCATED),
        ("<think>```python\nx = 1\n```", FencePolicy(), Reason.TRUNCATED),
        (TWO, FencePolicy(choose="only"), Reason.AMBIGUOUS),
        ("x" * 20, FencePolicy(max_chars=10), Reason.SIZE_LIMIT),
    ],
)
def test_without_a_program_there_is_a_reason(
    text: str, policy: FencePolicy, reason: Reason
) -> None:
    found = extract(text, policy)
    assert (found.program, found.reason) == (None, reason)


def test_a_block_knows_where_it_stands() -> None:
    text = "a\n```py\nx\n```\n"
    (block,) = fenced_blocks(text)
    assert text[block.start : block.end] == block.text == "x\n"


def test_an_unknown_choice_is_refused() -> None:
    with pytest.raises(ConfigError, match="choose"):
        FencePolicy(choose="best")


@given(st.text(alphabet="`~ \npython>x{}<think/", max_size=300))
def test_any_text_gets_an_answer(text: str) -> None:
    found = extract(text, FencePolicy())
    assert (found.program is None) != (found.reason is None)


def test_no_text_is_slow() -> None:
    for text in ("```" + " " * 200_000 + "`", "`" * 400_000, "~~~\n" * 100_000, " " * 500_000):
        extract(text, FencePolicy())
