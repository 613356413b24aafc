"""Which span of a completion is graded."""

import pytest

from rewardkit.answer import AnswerPolicy, extract_answer
from rewardkit.errors import ConfigError
from rewardkit.verdict import Reason

STRICT = AnswerPolicy()
LENIENT = AnswerPolicy(last_expression=True)
BOX_ONLY = AnswerPolicy(box_only=True)


def found(text: str, policy: AnswerPolicy = STRICT) -> tuple[str | None, str | None]:
    """Returns the graded text with its marker, after a look at where it stands."""
    span = extract_answer(text, policy)
    if span.text is not None:
        assert text[span.start : span.end].strip() == span.text
        assert span.reason is None
    return span.text, span.marker


def refused(text: str, policy: AnswerPolicy = STRICT) -> Reason | None:
    span = extract_answer(text, policy)
    assert span.text is None
    assert span.detail
    return span.reason


@pytest.mark.parametrize(
    ("text", "answer", "marker"),
    [
        (r"So it is \boxed{42}.", "42", "box"),
        (r"So it is \fbox{42}.", "42", "box"),
        (r"$\boxed {42}$", "42", "box"),
        (r"$\boxed{\frac{1}{2}}$", r"\frac{1}{2}", "box"),
        (r"$\boxed{\{1, 2\}}$", r"\{1, 2\}", "box"),
        (r"$\boxed{\text{a } b}$", r"\text{a } b", "box"),
        (r"$\boxed 7$", "7", "box"),
        (r"$\boxed7.$", "7", "box"),
        (r"$\boxed{ 42 }$", "42", "box"),
        ("$\\boxed{\n42\n}$", "42", "box"),
        (r"\boxed{\boxed{42}}", r"\boxed{42}", "box"),
        (r"In code: \\boxed{42}", "42", "box"),
        ("Thus <answer>42</answer>", "42", "tag"),
        ("Thus <ANSWER> 42 </ANSWER>", "42", "tag"),
        ("Working.\nAnswer: 42", "42", "line"),
        ("Working.\n**Answer:** 42", "42", "line"),
        ("Working.\n**Final Answer**: $42$.", "$42$", "line"),
        ("Working.\n**Final Answer**\n\\[ 42 \\]", "\\[ 42 \\]", "line"),
        ("Working.\n#### 42", "42", "line"),
        ('Working.\n{"reasoning": "…", "answer": "42"}', "42", "json"),
        ('Working.\n{"final_answer": 42}', "42", "json"),
        ("Therefore the answer is 42.", "42", "phrase"),
        ("Therefore the answer is $42$, as we saw.", "$42$", "phrase"),
        ("The correct option is (B).", "(B)", "phrase"),
        ("We add them.\n\n**42**", "42", "bold"),
        ("Die Rechnung.\nAntwort: 42", "42", "line"),
        ("計算。\n答案：42", "42", "line"),
        ("La respuesta es 42.", "42", "phrase"),
    ],
)
def test_a_commitment_is_found_where_models_put_it(text, answer, marker):
    assert found(text) == (answer, marker)


@pytest.mark.parametrize("text", ["2 + 2 = 4.", "So there are 12 apples.", "We get $x = 4$."])
def test_the_last_value_counts_only_where_the_policy_says_so(text):
    assert refused(text) is Reason.NO_ANSWER
    assert found(text, LENIENT)[1] == "last"


def test_the_last_value_of_a_finished_sentence_is_taken():
    assert found("We add 3 and 9, so there are 12 apples.", LENIENT) == ("12", "last")
    assert refused("We add 3 and 9, so there are", LENIENT) is Reason.TRUNCATED
    assert refused("I am not sure whether it is 5.", LENIENT) is Reason.NO_ANSWER


def test_box_only_reads_nothing_but_boxes_and_tags():
    for text in ("Answer: 42", "#### 42", "The answer is 42.", "**42**"):
        assert refused(text, BOX_ONLY) is Reason.NO_ANSWER
    assert found(r"Answer: 7, that is \boxed{42}", BOX_ONLY) == ("42", "box")
    assert found("<answer>42</answer>", BOX_ONLY) == ("42", "tag")


def test_phrases_can_be_turned_off():
    assert refused("The answer is 42.", AnswerPolicy(phrases=False)) is Reason.NO_ANSWER
    assert found("Answer: 42", AnswerPolicy(phrases=False)) == ("42", "line")


@pytest.mark.parametrize(
    "text",
    [
        r"First \boxed{3}. No, that was a mistake. It is \boxed{5}.",
        "Answer: 3\nWait, I forgot the last case. It adds two.\nAnswer: 5",
        "Answer: 3\nBut I missed a case; so it is \\boxed{5}.",
        "<answer>3</answer> Let me correct a mistake. <answer>5</answer>",
        "#### 3\nWait, that was too quick.\n#### 5",
    ],
)
def test_the_last_commitment_wins(text):
    assert found(text)[0] == "5"
    assert refused(text, AnswerPolicy(several="reject")) is Reason.AMBIGUOUS


@pytest.mark.parametrize(
    "text",
    [
        r"$\boxed{3}$ $\boxed{5}$",
        r"$\boxed{3}$ or $\boxed{5}$",
        r"The answer is $\boxed{3}$, $\boxed{4}$, $\boxed{5}$.",
    ],
)
def test_commitments_side_by_side_compete(text):
    assert refused(text) is Reason.AMBIGUOUS
    assert extract_answer(text, STRICT).rivals[0] == "3"


def test_the_same_answer_twice_is_one_answer():
    assert found(r"$\boxed{5}$ $\boxed{ 5 }$")[0] == "5"
    assert found("\\boxed{5}\n\n#### 5", AnswerPolicy(several="reject"))[0] == "5"


def test_a_spray_of_answers_is_none_whatever_stands_between():
    spray = " Therefore we continue. ".join(f"\\boxed{{{n}}}." for n in range(20))
    assert refused(spray) is Reason.AMBIGUOUS
    assert found(spray, AnswerPolicy(max_spans=20))[0] == "19"


@pytest.mark.parametrize(
    "text",
    [
        "<think>It is \\boxed{5}",
        "<think>Let me see.</think> So <think> \\boxed{5}",
        "[THINK] \\boxed{5}",
        "It is \\boxed{5",
        "It is \\boxed{\\frac{1}{2}",
        "First \\boxed{3}. So it is \\boxed{5",
    ],
)
def test_what_stops_inside_its_reasoning_or_its_box_is_truncated(text):
    assert refused(text) is Reason.TRUNCATED
    assert refused(text, LENIENT) is Reason.TRUNCATED


@pytest.mark.parametrize(
    "reasoning",
    [
        "<think>Is it \\boxed{3}? Answer: 4</think>",
        "Is it \\boxed{3}?</think>",
        "<think>a</think> \\boxed{3} <think>b</think>",
        "<reasoning>\\boxed{3}</reasoning>",
        "[THINK]\\boxed{3}[/THINK]",
        "◁think▷\\boxed{3}◁/think▷",
        "<think>a box that stays open: \\boxed{ </think>",
    ],
)
def test_only_what_follows_the_reasoning_counts(reasoning):
    assert found(reasoning + " The answer is 5.") == ("5", "phrase")
    assert refused(reasoning) is Reason.NO_ANSWER


@pytest.mark.parametrize("text", ["", "   \n", "\\boxed{}", "\\boxed{ }"])
def test_nothing_is_no_answer(text):
    assert refused(text) is Reason.NO_ANSWER
    assert refused(text, LENIENT) is Reason.NO_ANSWER


def test_an_empty_box_does_not_hide_behind_a_phrase():
    assert refused("The answer is 5. \\boxed{}") is Reason.NO_ANSWER


@pytest.mark.parametrize(
    "correction", ["No, that was wrong:", "But this is incorrect,", "Both were wrong: "]
)
def test_a_correction_that_ends_right_before_the_box_is_one(correction):
    assert found(rf"First \boxed{{3}}. {correction} \boxed{{5}}.")[0] == "5"
    assert refused(r"It is \boxed{3}, wrong: \boxed{5}.") is Reason.AMBIGUOUS


@pytest.mark.parametrize("line", ["Answer: 5", "#### 5", "**Final answer:** 5"])
def test_an_answer_line_may_follow_the_end_of_thinking_at_once(line):
    assert found(f"<think>2 + 3</think>{line}") == ("5", "line")


def test_all_rivals_are_told_in_order():
    span = extract_answer(r"\boxed{3}. In total: \boxed{5}. So the result is \boxed{3}.", STRICT)
    assert span.rivals == ("3", "5")
    assert span.text == "3"


def test_options_are_checked():
    with pytest.raises(ConfigError, match="several"):
        AnswerPolicy(several="first")  # type: ignore[arg-type]
    with pytest.raises(ConfigError, match="max_spans"):
        AnswerPolicy(max_spans=0)
