"""Step scores become one number, or sums, that added steps cannot raise."""

import math
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rewardkit.errors import ConfigError
from rewardkit.process import StepBatch, StepScores, StepTokens, aggregate_steps
from rewardkit.verdict import Reason, StepVerdict
from tests._needs import needs

UNIT = st.floats(0, 1).map(lambda v: round(v, 3))
STEPS = st.lists(UNIT, min_size=1, max_size=8)
MAYBE = st.lists(st.none() | UNIT, max_size=8)
SAFE = [("min", {}), ("prod", {}), ("mean", {"count": 12})]


def test_each_aggregator_by_hand():
    values = [0.9, None, 0.5, 0.8]
    assert aggregate_steps(values, "min") == 0.5
    assert aggregate_steps(values, "prod") == pytest.approx(0.9 * 0.5 * 0.8)
    assert aggregate_steps(values, "mean") == pytest.approx((0.9 + 0.5 + 0.8) / 3)
    assert aggregate_steps(values, "mean", count=10) == pytest.approx(1 - (0.1 + 0.5 + 0.2) / 10)
    assert aggregate_steps(values, "last") == 0.8
    assert aggregate_steps([*values, None], "last") == 0.8
    assert aggregate_steps(values, "first_error", threshold=0.6) == pytest.approx(1 / 3)
    assert aggregate_steps([1.0, 1.0], "first_error") == 1.0
    for how in ("min", "prod", "mean", "last", "first_error"):
        assert aggregate_steps([], how) is None
        assert aggregate_steps([None], how) is None
        assert aggregate_steps(values, how, missing="propagate") is None


def test_a_product_of_many_small_probabilities_stays_exact():
    assert aggregate_steps([0.5] * 1000, "prod") == pytest.approx(0.5**1000, rel=1e-12)
    assert aggregate_steps([0.0, 1.0], "prod") == 0.0


@pytest.mark.parametrize(("how", "options"), SAFE)
@given(values=STEPS, added=UNIT, data=st.data())
def test_an_added_step_never_raises_a_safe_aggregate(how, options, values, added, data):
    place = data.draw(st.integers(0, len(values)))
    longer = [*values[:place], added, *values[place:]]
    before = aggregate_steps(values, how, **options)
    assert aggregate_steps(longer, how, **options) <= before + 1e-12


@pytest.mark.parametrize("how", ["mean", "last", "first_error"])
def test_the_others_can_be_raised_by_padding_as_documented(how):
    padded = [1.0, 1.0, 0.0] if how == "first_error" else [0.0, 1.0]
    assert aggregate_steps(padded, how) > aggregate_steps([0.0], how)


@given(STEPS, st.data())
def test_a_right_step_changes_no_other_steps_sum(values, data):
    place = data.draw(st.integers(0, len(values)))
    longer = [*values[:place], 1.0, *values[place:]]
    before = StepScores(tuple(values)).suffix_sums()
    after = list(StepScores(tuple(longer)).suffix_sums())
    del after[place]
    assert after == pytest.approx(before)


@given(STEPS, UNIT, st.data())
def test_no_added_step_raises_the_whole_sum(values, added, data):
    place = data.draw(st.integers(0, len(values)))
    longer = [*values[:place], added, *values[place:]]
    whole = StepScores(tuple(values)).suffix_sums()[0]
    assert StepScores(tuple(longer)).suffix_sums()[0] <= whole + 1e-12


@given(st.lists(UNIT, min_size=2, max_size=9))
def test_progress_telescopes_so_only_the_ends_count(potentials):
    progress = [b - a for a, b in pairwise(potentials)]
    scores = StepScores(tuple(progress), "progress")
    assert scores.suffix_sums()[0] == pytest.approx(potentials[-1] - potentials[0])


def test_a_discount_by_steps_pays_for_padding_as_documented():
    short, padded = (StepScores(v, "label") for v in ((0.0,), (1.0, 1.0, 0.0)))
    assert padded.suffix_sums(gamma=0.5)[0] > short.suffix_sums(gamma=0.5)[0]


@given(MAYBE, st.floats(0, 1))
def test_suffix_sums_are_the_double_loop(values, gamma):
    scores = StepScores(tuple(values))
    summands = [0.0 if v is None else v - 1 for v in values]
    wanted = [
        sum(gamma ** (j - k) * summands[j] for j in range(k, len(values)))
        for k in range(len(values))
    ]
    assert list(scores.suffix_sums(gamma=gamma)) == pytest.approx(wanted)


def test_kinds_hold_their_ranges():
    for values, kind in [
        ((1.1,), "probability"), ((0.5,), "label"), ((-1.5,), "progress"), ((0.1,), "penalty"),
        ((math.nan,), "probability"), ((-math.inf,), "penalty"), ((0.5,), "other"),
    ]:  # fmt: skip
        with pytest.raises(ConfigError):
            StepScores(values, kind)
    with pytest.raises(ConfigError, match="count"):
        aggregate_steps([1.0], "min", count=3)
    with pytest.raises(ConfigError, match="aggregator"):
        aggregate_steps([1.0], "sum")
    with pytest.raises(ConfigError, match="gamma"):
        StepScores((1.0,)).suffix_sums(gamma=1.5)


def test_scores_and_step_verdicts_turn_into_each_other():
    steps = (StepVerdict(0, 2, 1.0, Reason.MATCH), StepVerdict(2, 5, None, Reason.TIMEOUT))
    scores = StepScores.from_steps(steps)
    assert scores.values == (1.0, None)
    back = scores.to_steps([(0, 2), (2, 5)])
    assert [(s.start, s.end, s.score) for s in back] == [(0, 2, 1.0), (2, 5, None)]
    assert back[1].reason is Reason.UNPROVED
    with pytest.raises(ConfigError, match="penalty"):
        StepScores((-1.0,), "penalty").to_steps([(0, 1)])
    with pytest.raises(ConfigError, match="spans"):
        scores.to_steps([(0, 2)])
    assert scores.first_error() is None
    assert StepScores((1.0, None, 0.2)).first_error() == 2


@given(st.lists(MAYBE, max_size=6), st.floats(0, 1))
def test_a_batch_is_its_rows(rows, gamma):
    np = needs("numpy")
    batch = StepBatch.from_rows(rows)
    for how in ("min", "prod", "mean", "last", "first_error"):
        wanted = [aggregate_steps(row, how) for row in rows]
        found = [None if np.isnan(v) else v for v in batch.aggregate(how)]
        assert found == pytest.approx(wanted)
    for each in (gamma, 1.0):
        sums = [
            StepScores(tuple(None if v is None else v - 1 for v in row), "penalty").suffix_sums(
                gamma=each
            )
            for row in rows
        ]
        shifted = StepBatch(batch.values - 1, batch.counts)
        assert shifted.suffix_sums(gamma=each).tolist() == pytest.approx(
            [v for row in sums for v in row]
        )


@given(st.lists(st.lists(UNIT, max_size=4), min_size=1, max_size=4), st.data())
def test_a_batch_reaches_the_tokens_as_its_rows_do(rows, data):
    from rewardkit.process import step_tokens

    tokens = []
    for row in rows:
        counts = data.draw(st.lists(st.integers(0, 3), min_size=len(row), max_size=len(row)))
        first, after = data.draw(st.integers(0, 2)), data.draw(st.integers(1, 2))
        bounds = [first]
        for count in counts:
            bounds.append(bounds[-1] + count)
        tokens.append(StepTokens(tuple(bounds), bounds[-1] + after))
    batch = StepBatch.from_rows(rows)
    for at_end, spread in [(False, "broadcast"), (True, "at_end")]:
        out = batch.to_tokens(tokens, at_end=at_end)
        assert out.shape == (len(rows), max(t.length for t in tokens))
        for row, own, found in zip(rows, tokens, out.tolist()):
            wanted = step_tokens(row, own, spread=spread)
            assert found == pytest.approx(wanted + [0.0] * (len(found) - len(wanted)))


def test_a_batch_that_does_not_fit_is_refused():
    np = needs("numpy")
    with pytest.raises(ConfigError, match="steps"):
        StepBatch(np.zeros(3), np.array([1, 1]))
    with pytest.raises(ConfigError, match="token spans"):
        StepBatch.from_rows([[1.0]]).to_tokens([StepTokens((0,), 0)])
