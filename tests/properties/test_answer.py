"""Laws of answer extraction."""

import itertools

from hypothesis import given, settings
from hypothesis import strategies as st

from rewardkit.answer import AnswerPolicy, extract_answer
from rewardkit.testing.soup import soups
from rewardkit.verdict import Reason

POLICIES = [
    AnswerPolicy(box_only=box, phrases=phrases, last_expression=last, several=several)
    for box, phrases, last, several in itertools.product(
        (False, True), (False, True), (False, True), ("last", "reject")
    )
]
policies = st.sampled_from(POLICIES)

ANSWERS = st.sampled_from(
    [
        "5",
        "-3.5",
        "1{,}000",
        "\\frac{1}{2}",
        "x^2 + 1",
        "\\{1, 2\\}",
        "(2, 3)",
        "[0, 1)",
        "\\text{red}",
        "\\$4",
        "B",
    ]
)
COMMITMENTS = st.sampled_from(
    [
        "\\boxed{{{}}}",
        "$\\boxed{{{}}}$",
        "\\fbox{{{}}}",
        "<answer>{}</answer>",
        "\nAnswer: ${}$\n",
        "\n#### {}\n",
    ]
)
REMARKS = st.sampled_from(
    [
        "\n\nWait, that cannot be right. We look again.\n\n",
        ". No: the last case was forgotten. So we get ",
    ]
)
FINALS = st.lists(st.tuples(COMMITMENTS, ANSWERS, REMARKS), min_size=1, max_size=5)


@settings(max_examples=400)
@given(soups(), policies)
def test_any_text_has_a_span_or_a_reason_for_none(text, policy):
    span = extract_answer(text, policy)
    if span.text is None:
        assert span.reason in (Reason.NO_ANSWER, Reason.TRUNCATED, Reason.AMBIGUOUS)
        assert span.detail
    else:
        assert span.reason is None
        assert span.text == span.text.strip()
        assert 0 <= span.start <= span.end <= len(text)
        # A value in JSON may be written with escapes.
        if span.marker != "json" or "\\" not in text:
            assert text[span.start : span.end].strip() == span.text


@settings(max_examples=150)
@given(FINALS)
def test_the_last_commitment_wins(parts):
    text = "".join(mark.format(answer) + remark for mark, answer, remark in parts[:-1])
    mark, answer, _ = parts[-1]
    span = extract_answer(text + mark.format(answer), AnswerPolicy())
    assert span.text is not None
    assert span.text.strip("$") == answer
    assert span.start > len(text)


@settings(max_examples=150)
@given(FINALS)
def test_several_different_commitments_are_none_where_the_policy_says_so(parts):
    text = "".join(mark.format(answer) + remark for mark, answer, remark in parts)
    span = extract_answer(text, AnswerPolicy(several="reject"))
    one = len({answer for _, answer, _ in parts}) == 1
    assert span.reason is (None if one else Reason.AMBIGUOUS)


@settings(max_examples=200)
@given(soups().filter(lambda t: "think" not in t), soups(), policies)
def test_the_reasoning_before_the_final_part_changes_nothing(reasoning, final, policy):
    alone = extract_answer(final, policy)
    prefix = f"<think>{reasoning}</think>\n"
    behind = extract_answer(prefix + final, policy)
    assert (behind.text, behind.marker, behind.rivals) == (alone.text, alone.marker, alone.rivals)
    if alone.text is not None:
        assert behind.start == alone.start + len(prefix)


@settings(max_examples=200)
@given(soups())
def test_a_stricter_policy_finds_no_more(text):
    lenient = extract_answer(text, AnswerPolicy(last_expression=True))
    strict = extract_answer(text, AnswerPolicy())
    boxes = extract_answer(text, AnswerPolicy(box_only=True))
    rejecting = extract_answer(text, AnswerPolicy(several="reject"))
    if strict.text is not None:
        assert lenient == strict
    if boxes.text is not None and boxes.reason is None:
        assert strict.text is not None or strict.reason is Reason.AMBIGUOUS
    if rejecting.text is not None:
        assert rejecting == strict
