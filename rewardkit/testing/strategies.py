"""Hypothesis strategies for rewards: references, other values, completions, hostile text, batches.

Everything is plain JSON data, and every strategy shrinks to short, readable cases.
"""

from typing import Literal, TypeAlias, get_args

from hypothesis import strategies as st

from rewardkit.errors import ConfigError
from rewardkit.testing.expressions import Tree, rational_trees, trees
from rewardkit.testing.frames import FRAMES, Frame
from rewardkit.testing.soup import MATH_REFERENCES, any_texts, formula_soups, soups
from rewardkit.testing.spellings import Spelled, spellings
from rewardkit.verdict import Json, Reason, Verdict

__all__ = [
    "Kind",
    "Spelled",
    "Tree",
    "any_texts",
    "batches",
    "check_kind",
    "completions",
    "formula_soups",
    "frames",
    "hostile_texts",
    "json_values",
    "math_references",
    "other_values",
    "rational_trees",
    "references",
    "soups",
    "spellings",
    "trees",
    "unanswered",
    "verdicts",
]

Kind: TypeAlias = Literal["math", "choice", "text"]
"""What the references are: numbers, option letters, short texts."""

LETTERS = ("A", "B", "C", "D")
WORDS = (
    "Paris", "Oslo", "Vienna", "oxygen", "helium", "Mozart", "Darwin", "Jupiter", "copper", "Brazil",
    "photosynthesis", "Shakespeare",
)  # fmt: skip
EDGES = (
    "", " ", "\n", "\x00", "\\boxed{", "\\boxed{}", "\\boxed{1/0}", "\\boxed{{{{", "}}}}", "<answer>",
    "<answer></answer>", "</answer><answer>", "<think>", "</think>", "Answer:", "Answer: ", "####",
    "#### ", "{\"answer\":", "{\"answer\": null}", "{\"answer\": []}", "[1, 2", "```", "```python\n```",
    "1/0", "0/0", "\\frac{1}{0}", "\\frac{}{}", "²", "٣", "½", "1e400", "-", "+", ".", "-.", "1.2.3",
    "1,2,3", "nan", "inf", "%", "$", "\\", "\u200b", "\u202e", "\ufeff", "e\u0301", "🙂", "９", "−5",
    "None", "null", "True", "[]", "{}", "()", "(", ")", "*", "?", "[", "|", "^", "0x1F", "1_000", "__",
    "\\sqrt{-1}", "The answer is", "The answer is .", "Final answer:", "A.", "(A)", ":",
)  # fmt: skip
_UNANSWERED = (
    "I do not know.", "Let me think about this.", "Thought process:", "Solution", "Solution:", ":", ".",
    ",", "Let's solve this problem step by step.", "Sorry, that cannot be determined.", "Yes", "...",
    "To be continued", "The answer is", "Answer:", "I would rather not say.", "Final answer:",
)  # fmt: skip


def check_kind(kind: str) -> Kind:
    """Returns the kind.

    Raises:
        ConfigError: there are no strategies for it.
    """
    for known in get_args(Kind):
        if kind == known:
            return known  # type: ignore[no-any-return]
    raise ConfigError(f"strategies exist for {', '.join(get_args(Kind))}, not {kind!r}")


def references(kind: Kind = "math", *, min_digits: int = 2) -> st.SearchStrategy[str]:
    """Returns references of a kind: whole numbers, option letters, short texts.

    Args:
        kind: which.
        min_digits: fewest digits of a number, from 1 to 4.
    """
    if kind == "math":
        low = 10 ** (min_digits - 1)
        return st.integers(low + 2, 10 ** max(min_digits, 3) - 3).map(str)
    return st.sampled_from(LETTERS if kind == "choice" else WORDS)


def math_references() -> st.SearchStrategy[str]:
    """Returns references of every sort that answers in mathematics are read for."""
    return st.sampled_from(MATH_REFERENCES)


def other_values(reference: str, kind: Kind = "math") -> st.SearchStrategy[str]:
    """Returns values that are provably not the reference and share nothing with it.

    A number shares no digit with it and is far from it, so that no rule about parts of it, and no
    tolerance, can hold by chance.
    """
    if kind != "math":
        pool = LETTERS if kind == "choice" else WORDS
        return st.sampled_from([value for value in pool if value != reference])
    free = [d for d in "123456789" if d not in reference]
    size = len(reference.lstrip("-"))
    return st.integers(size, size + 1).flatmap(
        lambda n: (
            st.lists(st.sampled_from(free), min_size=n, max_size=n)
            .map("".join)
            .filter(lambda w: not 0.6 < int(w) / int(reference) < 1.7)
        )
    )


def frames() -> st.SearchStrategy[Frame]:
    """Returns ways to declare an answer: boxed, tagged, by a phrase, after thinking, bare."""
    return st.sampled_from(FRAMES)


def completions(answer: str) -> st.SearchStrategy[str]:
    """Returns completions that declare this answer once, in any of the frames."""
    return frames().map(lambda frame: frame.fill(answer))


def unanswered() -> st.SearchStrategy[str]:
    """Returns texts that commit to no answer: refusals, openers, punctuation."""
    return st.sampled_from(_UNANSWERED)


def hostile_texts(*, max_size: int = 60) -> st.SearchStrategy[str]:
    """Returns any text, and fragments on which parsers break, also inside of frames.

    Lone surrogates are left out: no tokenizer decodes to them.
    """
    any_text = st.text(st.characters(exclude_categories=["Cs"]), max_size=max_size)
    edge = st.sampled_from(EDGES)
    soup = st.lists(edge | any_text, min_size=1, max_size=5).map("".join)
    framed = st.tuples(frames(), edge | any_text).map(lambda pair: pair[0].fill(pair[1]))
    return edge | framed | soup


@st.composite
def batches(
    draw: st.DrawFn, kind: Kind = "math", *, min_size: int = 2, max_size: int = 6
) -> list[tuple[str, str, str]]:
    """Returns batches of (prompt, answer, reference): right and wrong ones, prompts repeated."""
    count = draw(st.integers(min_size, max_size))
    prompts = draw(st.lists(references(kind), min_size=1, max_size=max(1, count // 2), unique=True))
    rows = []
    for index in range(count):
        reference = prompts[index % len(prompts)]
        right = draw(st.booleans())
        answer = reference if right else draw(other_values(reference, kind))
        rows.append((f"Which value is meant by {reference!r}?", answer, reference))
    return rows


def json_values(*, max_leaves: int = 6) -> st.SearchStrategy[Json]:
    """Returns plain JSON data of any shape: what a completion or a reference may turn out to be."""
    scalars = st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8)
    return st.recursive(
        scalars,
        lambda inner: (
            st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4), inner, max_size=3)
        ),
        max_leaves=max_leaves,
    )


def verdicts() -> st.SearchStrategy[Verdict]:
    """Returns verdicts: any score in [0, 1] or None, any reason, any short answer."""
    return st.builds(
        Verdict,
        st.none() | st.floats(0.0, 1.0),
        st.sampled_from(Reason),
        st.none() | st.text(max_size=8),
    )
