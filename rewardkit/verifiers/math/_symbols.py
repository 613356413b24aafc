"""The one symbol table of both sides: what a command, a word or a character stands for."""

import re

__all__ = [
    "CHARACTERS",
    "COMMAND_ALIASES",
    "CONSTANT_NAMES",
    "DROPPED_COMMANDS",
    "FONT_COMMANDS",
    "FUNCTIONS",
    "GREEK",
    "RELATIONS",
    "SCALES",
    "SUPERSCRIPTS",
    "SYMBOL_UNITS",
    "clean_characters",
]

GREEK = frozenset(
    "alpha beta gamma delta epsilon varepsilon zeta eta theta vartheta iota kappa lambda mu nu xi rho "
    "varrho sigma varsigma tau upsilon phi varphi chi psi omega Gamma Delta Theta Lambda Xi Pi Sigma "
    "Upsilon Phi Psi Omega ell hbar".split()
)

FUNCTIONS = {
    **{name: name for name in "sin cos tan cot sec csc sinh cosh tanh coth sech csch".split()},
    **{"arc" + name: "arc" + name for name in "sin cos tan cot sec csc".split()},
    **{"ar" + name: "arc" + name for name in "sinh cosh tanh".split()},
    **{"arc" + name: "arc" + name for name in "sinh cosh tanh".split()},
    **{"a" + name: "arc" + name for name in "sin cos tan sinh cosh tanh".split()},
    "tg": "tan",
    "ctg": "cot",
    "cosec": "csc",
    "arctg": "arctan",
    "ln": "ln",
    "log": "log",
    "lg": "log10",
    "exp": "exp",
    "sqrt": "sqrt",
    "cbrt": "cbrt",
    "abs": "abs",
    "floor": "floor",
    "ceil": "ceil",
    "ceiling": "ceil",
    "gcd": "gcd",
    "lcm": "lcm",
    "min": "min",
    "max": "max",
    "det": "det",
    "Re": "re",
    "Im": "im",
    "sgn": "sign",
    "sign": "sign",
    "arg": "arg",
    "cis": "cis",
    "binomial": "binom",
    "binom": "binom",
    "factorial": "factorial",
    "erf": "erf",
}

CONSTANT_NAMES = {
    "pi": "pi",
    "infty": "inf",
    "infinity": "inf",
    "inf": "inf",
    "oo": "inf",
    "emptyset": "empty",
    "varnothing": "empty",
    "O̸": "empty",
}

COMMAND_ALIASES = {
    "dfrac": "frac",
    "tfrac": "frac",
    "cfrac": "frac",
    "sfrac": "frac",
    "nicefrac": "frac",
    "dbinom": "binom",
    "tbinom": "binom",
    "leqslant": "leq",
    "le": "leq",
    "leqq": "leq",
    "geqslant": "geq",
    "ge": "geq",
    "geqq": "geq",
    "ne": "neq",
    "lt": "<",
    "gt": ">",
    "ast": "*",
    "star": "*",
    "cdot": "*",
    "times": "*",
    "bullet": "*",
    "div": "/",
    "dots": "ldots",
    "cdots": "ldots",
    "dotsc": "ldots",
    "dotsb": "ldots",
    "vdots": "ldots",
    "lbrace": "{set",
    "rbrace": "}set",
    "lvert": "|",
    "rvert": "|",
    "vert": "|",
    "mid": "|",
    "lbrack": "[",
    "rbrack": "]",
    "lparen": "(",
    "rparen": ")",
    "land": "and",
    "wedge": "and",
    "lor": "or",
    "vee": "or",
    "operatorname*": "operatorname",
    "backslash": "setminus",
    "smallsetminus": "setminus",
    "reals": "R",
    "R": "R",
    "Reals": "R",
    "N": "N",
    "Z": "Z",
    "Q": "Q",
    "colon": ":",
    "degree": "circ",
    "degrees": "circ",
    "textdegree": "circ",
    "isin": "in",
    "ni": "in",
    "simeq": "approx",
    "doteq": "approx",
    "to": "to",
    "rightarrow": "to",
    "longrightarrow": "to",
    "textbar": "|",
    "euro": "€",
    "texteuro": "€",
    "pounds": "£",
    "textsterling": "£",
    "textdollar": "$",
    "intercal": "top",
}

DROPPED_COMMANDS = frozenset(
    ", ; : ! > / quad qquad enspace thinspace medspace thickspace negthinspace left right middle big Big "
    "bigg Bigg bigl bigr Bigl Bigr biggl biggr Biggl Biggr displaystyle textstyle scriptstyle limits "
    "nolimits mathstrut strut hfill noindent normalsize large Large small tiny boldmath centering "
    "huge Huge LARGE footnotesize mathopen mathclose mathrel mathbin mathord hline bf it sf tt sl cal "
    "blacksquare square Box qed checkmark".split()
)

FONT_COMMANDS = frozenset(
    "mathbf mathit mathsf mathtt mathnormal boldsymbol bm pmb bold textbf textit emph textsl textsf "
    "texttt textsc textup textnormal underline underbrace mathop mathord ensuremath boxed fbox "
    "mathfrak mathscr".split()
)

SCALES = {"hundred": 100, "thousand": 1000, "million": 10**6, "billion": 10**9, "trillion": 10**12}
SYMBOL_UNITS = {"$": "USD", "€": "EUR", "£": "GBP", "¥": "JPY", "₹": "INR", "¢": "cent"}

RELATIONS = {
    "=": "=",
    "<": "<",
    ">": ">",
    "leq": "<=",
    "geq": ">=",
    "neq": "!=",
    "approx": "~",
    "in": "in",
    "notin": "notin",
    "sim": "sim",
    "cong": "sim",
    "parallel": "parallel",
    "perp": "perp",
    "subset": "in",
    "subseteq": "in",
    "equiv": "equiv",
    "implies": "=>",
    "Rightarrow": "=>",
    "iff": "=>",
    "Leftrightarrow": "=>",
}

SUPERSCRIPTS = dict(zip("⁰¹²³⁴⁵⁶⁷⁸⁹⁺⁻⁽⁾ⁿⁱˣ", "0123456789+-()nix", strict=True))
_SUBSCRIPTS = dict(zip("₀₁₂₃₄₅₆₇₈₉₊₋ₙₖₓ", "0123456789+-nkx", strict=True))
_FRACTIONS = {
    "½": "1/2", "⅓": "1/3", "⅔": "2/3", "¼": "1/4", "¾": "3/4", "⅕": "1/5", "⅖": "2/5", "⅗": "3/5",
    "⅘": "4/5", "⅙": "1/6", "⅚": "5/6", "⅐": "1/7", "⅛": "1/8", "⅜": "3/8", "⅝": "5/8", "⅞": "7/8",
    "⅑": "1/9", "⅒": "1/10", "↉": "0/3",
}  # fmt: skip

_GREEK_LETTERS = dict(
    zip(
        "αβγδεζηθικλμνξρσςτυφχψωΓΔΘΛΞΠΣΦΨΩϕϑϵ",
        "alpha beta gamma delta epsilon zeta eta theta iota kappa lambda mu nu xi rho sigma varsigma tau "
        "upsilon varphi chi psi omega Gamma Delta Theta Lambda Xi Pi Sigma Phi Psi Omega phi vartheta "
        "epsilon".split(),
        strict=True,
    )
)

# fmt: off
CHARACTERS: dict[str, str | None] = {
    **{letter: f"\\{name} " for letter, name in _GREEK_LETTERS.items()},
    **{c: f" \\frac{{{v.split('/')[0]}}}{{{v.split('/')[1]}}} " for c, v in _FRACTIONS.items()},
    **dict.fromkeys("\u200b\u200c\u200d\u2060\ufeff\u200e\u200f\u202a\u202b\u202c\u202d\u202e\u2061\u2062\u2063\u2064\u00ad\u2066\u2067\u2068\u2069"),
    **dict.fromkeys("\u00a0\u2000\u2001\u2002\u2003\u2004\u2005\u2007\u2008\u205f\u3000\t\r\n\v\f", " "),
    **dict.fromkeys("\u2006\u2009\u200a\u202f", "\\,"),
    **dict.fromkeys("−﹣－‐‑‒–—", "-"),
    "＋": "+", "﹢": "+", "×": "\\times ", "⋅": "\\cdot ", "·": "\\cdot ", "∙": "\\cdot ", "•": "\\cdot ",
    "∗": "*", "⁎": "*", "＊": "*", "✕": "\\times ", "✖": "\\times ", "⨯": "\\times ", "・": "\\cdot ",
    "÷": "\\div ", "∕": "/", "⁄": "/", "／": "/", "＝": "=", "≠": "\\neq ", "≤": "\\leq ",
    "≦": "\\leq ", "⩽": "\\leq ", "≥": "\\geq ", "≧": "\\geq ", "⩾": "\\geq ", "＜": "<", "＞": ">",
    "≈": "\\approx ", "≃": "\\approx ", "≅": "\\approx ", "∼": "\\approx ", "≡": "\\equiv ",
    "±": "\\pm ", "∓": "\\mp ", "∞": "\\infty ", "π": "\\pi ", "ϖ": "\\pi ", "℮": "e", "ⅈ": "i",
    "√": "\\sqrt ", "∛": "\\sqrt[3]", "∜": "\\sqrt[4]", "∪": "\\cup ", "∩": "\\cap ", "∖": "\\setminus ",
    "∈": "\\in ", "∉": "\\notin ", "⊂": "\\subset ", "⊆": "\\subseteq ", "∅": "\\emptyset ",
    "⌀": "\\emptyset ", "ø": "\\emptyset ", "Ø": "\\emptyset ", "ℝ": "\\mathbb{R}", "ℤ": "\\mathbb{Z}",
    "ℕ": "\\mathbb{N}", "ℚ": "\\mathbb{Q}", "ℂ": "\\mathbb{C}", "∑": "\\sum ", "∏": "\\prod ", "∫": "\\int ",
    "⌊": "\\lfloor ", "⌋": "\\rfloor ", "⌈": "\\lceil ", "⌉": "\\rceil ", "⟨": "\\langle ",
    "⟩": "\\rangle ", "〈": "\\langle ", "〉": "\\rangle ", "∣": "|", "｜": "|", "‖": "\\|", "∠": "\\angle ",
    "°": "^\\circ ", "º": "^\\circ ", "˚": "^\\circ ", "℃": "^\\circ\\text{C}", "℉": "^\\circ\\text{F}",
    "′": "'", "’": "'", "‘": "'", "″": "''", "“": '"', "”": '"', "…": "\\ldots ", "⋯": "\\ldots ",
    "∧": "\\land ", "∨": "\\lor ", "∀": "\\forall ", "→": "\\to ", "⇒": "\\implies ", "⇔": "\\iff ",
    "％": "\\%", "﹪": "\\%", "（": "(", "）": ")", "［": "[", "］": "]", "｛": "{", "｝": "}", "，": ",",
    "、": ",", "；": ";", "：": ":", "∶": ":", "。": ".", "．": ".", "＾": "^", "µ": "\\mu ", "∘": "\\circ ",
    "\u0338": None, "☐": " ", "□": " ", "✓": " ", "✅": " ",
    "𝒪": "\\mathcal{O}", "Ο": "O",
}
# fmt: on

_TABLE = str.maketrans({k: (v if v is not None else "") for k, v in CHARACTERS.items()})
_SUPER_RUN = re.compile("[" + "".join(SUPERSCRIPTS) + "]+")
_SUB_RUN = re.compile("[" + "".join(_SUBSCRIPTS) + "]+")
_SURROGATE = re.compile("[\ud800-\udfff]")


def _styled_letter(char: str) -> str:
    """Returns the plain letter or digit behind a styled one (𝑥, 𝟙, ４).

    Else the character itself.
    """
    import unicodedata

    if char in CHARACTERS:
        return char
    code = ord(char)
    if 0x1D400 <= code <= 0x1D7FF or 0xFF10 <= code <= 0xFF5A or 0x2100 <= code <= 0x214F:
        return unicodedata.normalize("NFKC", char).translate(_TABLE)
    return char


_STYLED = re.compile("[\U0001d400-\U0001d7ff\uff10-\uff5a\u2100-\u214f]")


def clean_characters(text: str) -> str:
    r"""Returns `text` in ASCII LaTeX where a Unicode sign has such a spelling.

    Invisible characters vanish, styled letters and digits become plain, superscript runs become
    `^{…}`.

    >>> clean_characters("6×10³ − ½")
    '6\\times 10^{3} -  \\frac{1}{2} '

    """
    if text.isascii():
        return text.translate(_TABLE) if any(c in text for c in "\t\r\n\v\f") else text
    text = _STYLED.sub(lambda m: _styled_letter(m.group()), text)
    text = _SUPER_RUN.sub(lambda m: "^{" + "".join(SUPERSCRIPTS[c] for c in m.group()) + "}", text)
    text = _SUB_RUN.sub(lambda m: "_{" + "".join(_SUBSCRIPTS[c] for c in m.group()) + "}", text)
    return text.translate(_TABLE)
