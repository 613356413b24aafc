"""What a shaper finds in one text: repetition, scripts, tags, abstention, steps."""

import unicodedata
from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rewardkit.errors import ConfigError
from rewardkit.shaping import (
    Abstention,
    IrisReward,
    LanguageConsistency,
    RepetitionPenalty,
    TagConstraints,
)
from rewardkit.shaping.base import Row
from rewardkit.shaping.language import script_of
from rewardkit.shaping.tags import tagged_blocks
from tests._needs import needs
from tests.shaping.examples import texts

tokens = st.lists(st.integers(0, 4), max_size=40)


@given(ids=tokens, size=st.integers(1, 5), penalty=st.sampled_from([-1.0, -0.25, 0.0]))
def test_repetition_is_trls(ids, size, penalty):
    theirs = needs("trl.rewards").get_repetition_penalty_reward(size, penalty)
    ours = RepetitionPenalty(ngram=size, max_penalty=penalty)
    assert ours([""], completion_ids=[ids]) == pytest.approx(theirs(completion_ids=[ids]))


@given(words=st.lists(st.sampled_from(["So", "so", "it", "is", "4"]), max_size=20))
def test_repetition_of_words_is_that_of_their_lower_case(words):
    grams = list(zip(*(([word.lower() for word in words][i:]) for i in range(3))))
    wanted = len(set(grams)) / len(grams) - 1 if grams else 0.0
    found = RepetitionPenalty(unit="words")([" \n".join(words)])
    assert found == pytest.approx([wanted])


@given(ids=st.lists(st.integers(0, 2), min_size=3, max_size=30), place=st.integers(0, 27))
def test_a_token_that_completes_a_known_ngram_never_raises_the_value(ids, place):
    place = min(place, len(ids) - 3)
    shaper = RepetitionPenalty(ngram=3)
    # The text goes on with an n-gram that it holds, from its own last two tokens.
    known = [gram for gram in zip(ids, ids[1:], ids[2:]) if list(gram[:2]) == ids[-2:]]
    if known:
        before, after = shaper(["", ""], completion_ids=[ids, [*ids, known[place % len(known)][2]]])
        assert after <= before


def test_items_after_the_limit_do_not_count():
    shaper = RepetitionPenalty(ngram=1, max_items=3)
    assert shaper(["", ""], completion_ids=[[1, 2, 3], [1, 2, 3, 3, 3]]) == [0.0, 0.0]


@given(text=st.text(st.sampled_from("ab é я字ア한 7.-\n\ud800"), max_size=30))
def test_consistency_counts_letters_one_by_one(text):
    letters = [c for c in text if unicodedata.category(c)[0] == "L"]
    latin = [c for c in letters if "LATIN" in unicodedata.name(c)]
    wanted = len(latin) / len(letters) if letters else 1.0
    assert LanguageConsistency(scripts=("LATIN",))([text]) == [wanted]


@given(text=texts, letter=st.sampled_from("aя字"))
def test_a_letter_of_the_language_never_lowers_it_and_another_never_raises_it(text, letter):
    shaper = LanguageConsistency(scripts=("LATIN",))
    before, after = shaper([text, text + letter])
    assert after >= before if letter == "a" else after <= before


def test_scripts_and_parts():
    assert [script_of(c) for c in "Ａé字あア한ا"] == [
        "LATIN",
        "LATIN",
        "CJK",
        "HIRAGANA",
        "KATAKANA",
        "HANGUL",
        "ARABIC",
    ]
    text = ["<think>so 是</think>答案"]
    chinese = ("CJK",)
    assert LanguageConsistency(scripts=chinese, part="final")(text) == [1.0]
    assert LanguageConsistency(scripts=("LATIN",), part="reasoning")(text) == [2 / 3]
    with pytest.raises(ConfigError, match="scripts are of"):
        LanguageConsistency(scripts=("english",))


@pytest.mark.parametrize(
    ("text", "score", "value"),
    [
        ("It is 4.", 1.0, 1.0),
        ("It is 5.", 0.0, -1.0),
        ("I don't know.", 0.0, 0.25),
        ("I don’t  KNOW", 0.0, 0.25),
        ("I don't know. Perhaps 4.", 1.0, 0.25),
        ("<think>I don't know.</think> It is 4.", 1.0, 1.0),
        ("<think>I don't know.", 0.0, -1.0),
    ],
)
def test_abstaining_is_worth_less_than_right_and_more_than_wrong(text, score, value):
    assert Abstention(abstain=0.25)([text], correct=[score]) == [value]


@given(confidence=st.floats(0, 0.99), chance=st.floats(0, 1))
def test_answering_pays_from_the_confidence_on(confidence, chance):
    shaper = Abstention.at_confidence(confidence)
    right, wrong, silent = shaper(["4", "5", "I do not know"], correct=[1.0, 0.0, 0.0])
    expected = chance * right + (1 - chance) * wrong
    if abs(chance - confidence) > 1e-9:
        assert (expected > silent) == (chance > confidence)


def test_where_there_is_no_answer_abstaining_is_right():
    shaper = Abstention(answerable="answerable")
    found = shaper(
        ["I don't know", "4", "4"], correct=[0.0, 1.0, 1.0], answerable=[False, False, None]
    )
    assert found == [1.0, -1.0, None]


PLAN = TagConstraints(tags=("plan", "check"), required=("plan", "check"), order=("plan", "check"))


@pytest.mark.parametrize(
    ("text", "held"),
    [
        ("<plan>a</plan><check>b</check>", [1, 1, 1, 1, 1, 1, 1]),
        ("<check>b</check><plan>a</plan>", [1, 1, 1, 1, 1, 0, 1]),
        ("<plan>a</plan><plan>a</plan><check>b</check>", [1, 1, 1, 1, 0, 1, 1]),
        ("<plan>a</plan>", [1, 1, 0, 1, 1, 1, 1]),
        ("<plan></plan><check>b</check>", [0, 1, 1, 1, 1, 1, 1]),
        ("<plan>a</plan><check>b</check></plan>", [0, 1, 1, 1, 1, 1, 0]),
        ("<plan>a</plan> and a lot of text <check>b</check>", [1, 1, 1, 1, 1, 1, 0]),
        ("<plan>a<check>b</check></plan>", [0, 1, 0, 1, 1, 1, 1]),
        ("", [1, 0, 0, 0, 1, 1, 1]),
    ],
)
def test_each_constraint_is_held_or_not(text, held):
    assert PLAN.held(text) == [bool(one) for one in held]
    assert PLAN([text]) == [sum(held) / 7]
    strict = TagConstraints(
        tags=("plan", "check"), required=("plan", "check"), order=("plan", "check"), credit="all"
    )
    assert strict([text]) == [float(all(held))]


@given(text=texts)
def test_blocks_are_in_order_and_do_not_overlap(text):
    blocks, stray = tagged_blocks(text, ("plan", "check"))
    for block in blocks:
        inside = text[block.start : block.end]
        assert inside.startswith(f"<{block.name}>")
        assert inside.endswith(f"</{block.name}>")
    assert all(one.end <= other.start for one, other in pairwise(blocks))
    marks = sum(text.count(mark) for mark in ("<plan>", "</plan>", "<check>", "</check>"))
    assert 2 * len(blocks) + stray == marks


def longest_common(one, other, same):
    """By trying everything."""
    if not one or not other:
        return 0
    best = max(longest_common(one[1:], other, same), longest_common(one, other[1:], same))
    if same(one[0], other[0]):
        best = max(best, 1 + longest_common(one[1:], other[1:], same))
    return best


lines = st.lists(st.sampled_from(["2+2=4", "4*3=12", "so it is", "12 it"]), max_size=5)


@given(steps=lines, written=lines, score=st.floats(0, 1))
@settings(max_examples=60)
def test_the_alignment_of_iris_by_brute_force(steps, written, score):
    def words(line):
        return set(line.replace("+", " ").replace("*", " ").replace("=", " ").split())

    def same(one, other):
        return len(words(one) & words(other)) >= 0.5 * len(words(one) | words(other))

    row = Row("\n".join(written), {"correct": score, "steps": steps})
    parts = IrisReward().parts(row)
    assert parts.correctness == score
    common = longest_common(steps, written, same)
    assert parts.alignment == pytest.approx(common / len(steps) if steps else 1.0)
    total = 2 * score + 2.5 * parts.alignment + parts.continuity + 0.5 * parts.numeric
    found = IrisReward()([row.completion], correct=[score], steps=[steps])
    assert found == pytest.approx([total])


@given(cosine=st.floats(-1, 1), stage=st.integers(0, 4))
def test_a_closeness_of_ones_own_fades_with_the_stage_as_in_the_released_code(cosine, stage):
    seen = []

    def closeness(text, reference):
        seen.append((text, reference))
        return (1 + cosine) / 2

    shaper = IrisReward(alignment=closeness, removed="stage", weights=(0.0, 2.5, 0.0, 0.0))
    found = shaper(["x"], correct=[0.0], steps=[["a", "b"]], stage=[stage / 4])
    assert found == pytest.approx([2.5 * (1 - stage / 4) * (cosine + 1) / 2])
    assert seen == [("x", "a\nb")]
    held = IrisReward(alignment=lambda text, reference: 7.0).parts(
        Row("x", {"correct": 0.0, "steps": []})
    )
    assert held.alignment == 1.0


@pytest.mark.parametrize(
    ("text", "first", "value"),
    [
        ("3. 4*3=12", 3, 1.0),
        ("\n 3. 4*3=12", 3, 1.0),
        ("1. 2+2=4", 3, -0.5),
        ("1. 2+2=4", 1, 1.0),
        ("2. 4*3=12", 3, 0.0),
        ("4*3=12", 3, 0.0),
        ("9" * 5000 + ".", 3, 0.0),
    ],
)
def test_going_on_at_the_right_step_earns_and_beginning_again_costs(text, first, value):
    columns = {"correct": 0.0, "steps": [], "first": first}
    assert IrisReward(first_step="first").parts(Row(text, columns)).continuity == value


@pytest.mark.parametrize(
    ("text", "numeric"),
    [
        ("So it is <answer> -3.5 </answer>.", 1.0),
        (r"So \boxed{\frac{1}{2}}.", 1.0),
        ("x^2 + 1", 1.0),
        ("The answer is 7.", 1.0),
        ("<answer>Paris</answer> 7", 0.0),
        ("The answer is Paris.", 0.0),
        ("1 2 3 and so on\nit is clear", 0.0),
        ("", 0.0),
        ("<answer>" * 3, 0.0),
    ],
)
def test_a_numeric_or_symbolic_answer_earns(text, numeric):
    assert IrisReward().parts(Row(text, {"correct": 0.0, "steps": []})).numeric == numeric


def test_what_the_columns_of_iris_must_hold_is_said():
    shaper = IrisReward(first_step="first")
    with pytest.raises(ConfigError, match="numbers of steps"):
        shaper(["a"], correct=[1.0], steps=[["a"]], first=["one"])
    with pytest.raises(ConfigError, match="lists of texts"):
        shaper(["a"], correct=[1.0], steps=["a"], first=[1])
    assert shaper(["a"], correct=[1.0], steps=[None], first=[1]) == [None]


@given(written=lines, low=st.floats(0, 1), more=st.floats(0, 1))
def test_a_better_score_never_lowers_iris(written, low, more):
    high = min(1.0, low + more)
    text, steps = "\n".join(written), [["2+2=4"]] * 2
    one, other = IrisReward()([text, text], correct=[low, high], steps=steps)
    assert one <= other + 1e-12


@pytest.mark.parametrize(
    ("kind", "options"),
    [
        (RepetitionPenalty, {"ngram": 0}),
        (RepetitionPenalty, {"max_penalty": 0.5}),
        (Abstention, {"abstain": 2.0}),
        (Abstention, {"phrases": ()}),
        (TagConstraints, {"tags": ()}),
        (TagConstraints, {"tags": ("a",), "order": ("b",)}),
        (TagConstraints, {"tags": ("a",), "max_blocks": 0}),
        (TagConstraints, {"tags": ("a",), "max_outside": -0.1}),
        (IrisReward, {"weights": (0, 0, 0, 0)}),
        (IrisReward, {"weights": (1, 1, 1)}),
        (IrisReward, {"similarity": 2}),
        (LanguageConsistency, {"scripts": ("LATIN",), "part": "end"}),
    ],
)
def test_an_option_that_cannot_be_is_refused(kind, options):
    with pytest.raises(ConfigError):
        kind(**options)
    with pytest.raises(ConfigError):
        Abstention.at_confidence(1.0)
