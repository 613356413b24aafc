"""Text that nobody should write: any characters at all, and fragments of LaTeX in any order."""

from hypothesis import strategies as st

__all__ = ["FRAGMENTS", "MATH_REFERENCES", "any_texts", "formula_soups", "soups"]

FRAGMENTS = (
    *"0 1 7 12 3.5 .5 1,234 1e5 x y n i e pi X C ? ! % ^ _ & ~ | ' \" # / * + - = < > :".split(),
    *"; , . ( ) [ ] { } \\frac \\sqrt \\left( \\right) \\{ \\} \\boxed{ \\fbox{ \\text{".split(),
    *"\\mathrm{ \\pi \\infty \\pm \\cup \\in \\begin{pmatrix} \\end{pmatrix}".split(),
    *"\\begin{cases} \\end{cases} \\\\ \\sum_{k=1}^{5} \\int_0^1 dx \\lim_{x\\to0}".split(),
    *"\\binom{5}{2} \\overline{3} \\log_2 \\sin \\ln \\lfloor \\rfloor \\pmod{7} \\equiv".split(),
    *"\\le \\ne ^\\circ \\cdot <think> </think> <answer> </answer> #### **Answer:** $ $$".split(),
    *"\\( \\) \\[ \\] ``` $\\boxed{5}$ the answer is six apples and or mod base hours".split(),
    *"km/h PM March yes no none (a) (B) _{16} ∞ ½ √ ² −".split(),
    "\n",
    " ",
    "Answer: ",
    '{"answer": "5"}',
    "\\",
    "\x00",
    "\ud800",
    "\udfff",
    "\u202e",
    "\ufeff",
    "１２",
    "𝟙",
    "́",
    "__import__('os')",
)
"""Pieces of LaTeX, of answers and of frames, and characters that parsers break on."""

MATH_REFERENCES = (
    "42", "-3.5", "\\frac{1}{2}", "0.5\\%", "\\$3.50", "5\\text{ km/h}", "2\\sqrt{3}", "x^2+1",
    "y=2x+1", "x>3", "[1,2)\\cup(3,4]", "(1,2)", "\\{1,2,3\\}", "1,2,3",
    "\\begin{pmatrix}1&2\\\\3&4\\end{pmatrix}", "2\\pm\\sqrt{3}", "x\\equiv 3\\pmod 7",
    "x=\\frac{\\pi}{4}+k\\pi", "3:4", "1011_2", "O(n\\log n)", "f(x)=x^2", "\\emptyset",
    "\\mathbb{R}", "(B)", "A, C", "yes", "True", "3:45 PM", "March 5, 2021", "red apple",
    "(a) 5, (b) 7", "\\int x^2\\,dx", "1,2,4,8,\\ldots", "30^\\circ",
    "\\begin{cases}1&x>0\\\\0&x\\le0\\end{cases}", "\\sum_{k=1}^{n}k",
)  # fmt: skip
"""One reference of each sort that answers are read for."""


def any_texts(*, max_size: int = 60) -> st.SearchStrategy[str]:
    """Returns texts of every code point, lone surrogates and NUL among them."""
    return st.text(st.characters(exclude_categories=()), max_size=max_size)


def soups(*, max_size: int = 24) -> st.SearchStrategy[str]:
    """Returns fragments and any texts in any order, at most `max_size` of them."""
    return st.lists(st.sampled_from(FRAGMENTS) | any_texts(), max_size=max_size).map("".join)


def formula_soups(*, max_size: int = 14) -> st.SearchStrategy[str]:
    """Returns fragments in any order, at most `max_size` of them."""
    return st.lists(st.sampled_from(FRAGMENTS), max_size=max_size).map("".join)
