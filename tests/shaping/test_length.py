"""Length rewards against their formulas, against TRL's, and their monotonicity."""

import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rewardkit.errors import ConfigError
from rewardkit.shaping import (
    CosineLength,
    DifficultyLength,
    GroupLength,
    LinearLength,
    OverlongPenalty,
    TokenDiscount,
)
from tests._needs import needs

lengths = st.integers(0, 300)
scores = st.sampled_from([0.0, 0.3, 1.0])


def of_lengths(shaper, *sizes, **columns):
    return shaper([""] * len(sizes), completion_ids=[[7] * size for size in sizes], **columns)


@given(size=lengths, most=st.integers(1, 200), data=st.data())
def test_overlong_is_trls_soft_punishment(size, most, data):
    buffer = data.draw(st.integers(0, most))
    theirs = needs("trl.rewards").get_soft_overlong_punishment(most, buffer)
    ours = OverlongPenalty(max_length=most, buffer=buffer)
    assert of_lengths(ours, size) == pytest.approx(theirs(completion_ids=[[7] * size]))


@given(size=lengths, most=st.integers(1, 200), right=st.booleans())
@settings(max_examples=40)
def test_cosine_is_trls_cosine(size, most, right):
    rewards = needs("trl.rewards")
    needs("math_verify")
    theirs = rewards.get_cosine_scaled_reward(max_len=most)(
        [[{"content": r"\boxed{4}" if right else r"\boxed{5}"}]], ["$4$"], [[7] * size]
    )
    ours = of_lengths(CosineLength(max_length=most), size, correct=[float(right)])
    assert ours == pytest.approx(theirs)


@given(size=lengths, score=scores)
def test_cosine_is_the_equation_of_its_paper(size, score):
    shaper = CosineLength(
        max_length=100,
        right_short=2.0,
        right_long=1.0,
        wrong_short=-10.0,
        wrong_long=0.0,
        exceeded=-5.0,
    )
    start, end = (2.0, 1.0) if score == 1 else (-10.0, 0.0)
    wanted = end + 0.5 * (start - end) * (1 + math.cos(size * math.pi / 100))
    assert of_lengths(shaper, size, correct=[score]) == pytest.approx(
        [-5.0 if size >= 100 else wanted]
    )


@given(short=lengths, more=lengths)
def test_longer_is_never_better_but_for_wrong_answers(short, more):
    both = (short, short + more)
    for shaper in (
        LinearLength(free=50, limit=200),
        OverlongPenalty(max_length=200, buffer=100),
        OverlongPenalty(max_length=200, buffer=0),
    ):
        one, other = of_lengths(shaper, *both)
        assert one >= other
    for right in (CosineLength(max_length=150), TokenDiscount(gamma=0.99)):
        one, other = of_lengths(right, *both, correct=[1.0, 1.0])
        assert one >= other
    one, other = of_lengths(CosineLength(max_length=150), *both, correct=[0.0, 0.0])
    assert one <= other


@given(right=lengths, wrong=lengths)
def test_right_beats_wrong_at_any_length(right, wrong):
    for shaper in (CosineLength(max_length=100), TokenDiscount(gamma=0.999)):
        one, other = of_lengths(shaper, right, wrong, correct=[1.0, 0.0])
        assert one > other


@given(size=lengths)
def test_linear_is_numpys_interpolation(size):
    numpy = needs("numpy")
    wanted = numpy.interp(size, [50, 200], [1.0, 0.0])
    assert of_lengths(LinearLength(free=50, limit=200), size) == pytest.approx([wanted])


@given(size=st.integers(1, 300), score=st.floats(0, 1), gamma=st.floats(0.01, 1))
def test_discount_multiplies_once_a_token_after_the_first(size, score, gamma):
    wanted = score
    for _ in range(size - 1):
        wanted *= gamma
    found = of_lengths(TokenDiscount(gamma=gamma), size, correct=[score])
    assert found == pytest.approx([wanted])


def kimi(sizes, right):
    """Kimi k1.5, section 2.3.3, as it is written there."""
    low, high = min(sizes), max(sizes)
    found = []
    for size, good in zip(sizes, right):
        lam = 0.0 if low == high else 0.5 - (size - low) / (high - low)
        found.append(lam if good else min(0.0, lam))
    return found


groups_of_rows = st.lists(st.tuples(lengths, scores), min_size=1, max_size=8)


@given(rows=groups_of_rows)
def test_group_length_is_kimis(rows):
    sizes, given_scores = [size for size, _ in rows], [score for _, score in rows]
    found = of_lengths(GroupLength(), *sizes, prompt=["p"] * len(rows), correct=given_scores)
    assert found == pytest.approx(kimi(sizes, [score == 1 for score in given_scores]))


@given(rows=groups_of_rows)
def test_difficulty_length_by_a_loop_of_its_own(rows):
    """As TRAAC's `length_reward` has it, over the lengths of the group."""
    shaper = DifficultyLength(easy_from=0.6, hard_below=0.3, scales=(0.8, 0.4, 0.1), softness=0.2)
    sizes = sorted(size for size, _ in rows)
    middle = (sizes[(len(sizes) - 1) // 2] + sizes[len(sizes) // 2]) / 2
    rate = sum(score == 1 for _, score in rows) / len(rows)
    scale = 0.8 if rate >= 0.6 else 0.1 if rate < 0.3 else 0.4
    wanted = []
    for size, score in rows:
        line = (sizes[-1] - size) / (sizes[-1] - sizes[0]) if sizes[-1] > sizes[0] else 0.0
        # The logistic function as a hyperbolic tangent.
        steep = (size - middle) / (0.2 * middle) if middle else math.copysign(99, size) * (size > 0)
        soft = 0.5 * (1 - math.tanh(steep / 2))
        wanted.append(scale * max(line, soft) if score == 1 else 0.0)
    found = of_lengths(
        shaper,
        *[size for size, _ in rows],
        prompt=["p"] * len(rows),
        correct=[score for _, score in rows],
    )
    assert found == pytest.approx(wanted, abs=1e-12)


@given(rows=groups_of_rows)
def test_among_right_answers_the_shorter_never_earns_less_and_wrong_ones_nothing(rows):
    found = of_lengths(
        DifficultyLength(),
        *[size for size, _ in rows],
        prompt=["p"] * len(rows),
        correct=[score for _, score in rows],
    )
    right = sorted((size, -value) for (size, score), value in zip(rows, found) if score == 1)
    assert [value for _, value in right] == sorted(value for _, value in right)
    assert all(value == 0 for (_, score), value in zip(rows, found) if score != 1)


@given(rows=groups_of_rows, data=st.data())
def test_a_larger_scale_never_lowers_the_value(rows, data):
    sizes, given_scores = zip(*rows)
    columns = {"prompt": ["p"] * len(rows), "correct": list(given_scores)}
    low, high = sorted(data.draw(st.tuples(st.floats(0, 1), st.floats(0, 1))))
    one, other = (
        of_lengths(DifficultyLength(scales=(scale,) * 3), *sizes, **columns)
        for scale in (low, high)
    )
    assert all(a <= b + 1e-12 for a, b in zip(one, other))


def test_an_easier_prompt_presses_harder():
    rates = [step / 20 for step in range(21)]
    scales = [DifficultyLength().scale(rate) for rate in rates]
    assert scales == sorted(scales)
    assert set(scales) == {0.5, 0.75, 1.0}


def test_an_undecided_sibling_is_in_no_pass_rate():
    shaper = DifficultyLength(unit="characters")
    given_scores = [1.0, 1.0, None, None, None]
    found = shaper(["1", "123", "", "", "12345"], prompt=["p"] * 5, correct=given_scores)
    assert found[2:] == [None] * 3
    assert found[0] == pytest.approx(0.8)  # the line, at the scale of an easy prompt
    alone = shaper(["1"], prompt=["p"], correct=[1.0])
    assert alone == [0.5]


def test_a_chat_prompt_makes_groups_too():
    prompts = [[{"role": "user", "content": text}] for text in ("a", "a", "b")]
    found = GroupLength(unit="characters")(["1", "12", "1"], prompt=prompts, correct=[1.0] * 3)
    assert found == [0.5, -0.5, 0.0]


def test_a_length_has_its_unit():
    text = "zwölf Wörter"
    for unit, value in (("characters", 0.88), ("words", 0.98)):
        assert LinearLength(free=0, limit=100, unit=unit)([text]) == pytest.approx([value])
    with pytest.raises(ConfigError, match="'completion_ids' is not there"):
        LinearLength(free=0, limit=100)([text])
    with pytest.raises(ConfigError, match="lists of token ids"):
        LinearLength(free=0, limit=100)([text], completion_ids=["abc"])


@pytest.mark.parametrize(
    ("kind", "options"),
    [
        (LinearLength, {"free": 10, "limit": 10}),
        (LinearLength, {"free": 1, "limit": 10, "unit": "bytes"}),
        (CosineLength, {"max_length": 0}),
        (CosineLength, {"max_length": 9, "right_long": -1.0}),
        (CosineLength, {"max_length": 9, "wrong_short": 0.0}),
        (CosineLength, {"max_length": 9, "exceeded": math.nan}),
        (OverlongPenalty, {"max_length": 9, "buffer": 10}),
        (TokenDiscount, {"gamma": 0}),
        (TokenDiscount, {"gamma": 1.1}),
        (DifficultyLength, {"hard_below": 0.9}),
        (DifficultyLength, {"scales": (0.1, 0.2, 0.3)}),
        (DifficultyLength, {"scales": (0.1, 0.2)}),
        (DifficultyLength, {"softness": 0.0}),
        (GroupLength, {"unit": "lines"}),
    ],
)
def test_an_option_that_cannot_be_is_refused(kind, options):
    with pytest.raises(ConfigError):
        kind(**options)
