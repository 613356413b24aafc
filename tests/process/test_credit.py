"""Step scores reach the tokens, centred, and padding moves nothing."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rewardkit.advantages import AdvantageStage, estimate_advantages
from rewardkit.errors import ConfigError
from rewardkit.process import (
    StepCredit,
    StepScores,
    StepTokens,
    combine_advantages,
    spans_to_tokens,
    step_tokens,
)
from rewardkit.verdict import Reason, StepVerdict, Verdict


def tokens_of(counts, after=1):
    bounds = [0]
    for count in counts:
        bounds.append(bounds[-1] + count)
    return StepTokens(tuple(bounds), bounds[-1] + after)


def test_the_three_spreads_by_hand():
    tokens = StepTokens((1, 3, 3, 5), 6)
    assert step_tokens([1.0, 2.0, 4.0], tokens) == [0, 1, 1, 4, 4, 0]
    assert step_tokens([1.0, 2.0, 4.0], tokens, spread="at_end") == [0, 0, 3, 0, 4, 0]
    assert step_tokens([1.0, 2.0, 4.0], tokens, spread="suffix") == [0, 7, 7, 4, 4, 0]
    with pytest.raises(ConfigError, match="spread"):
        step_tokens([1.0], tokens, spread="wide")
    with pytest.raises(ConfigError, match="values"):
        step_tokens([1.0], tokens)


@given(
    st.lists(st.lists(st.tuples(st.floats(-1, 0), st.integers(1, 3)), max_size=4), max_size=4),
    st.sampled_from(["broadcast", "at_end"]),
)
def test_the_step_terms_of_a_group_add_up_to_nothing(rows, spread):
    steps = [[value for value, _ in row] for row in rows]
    tokens = [tokens_of([count for _, count in row]) for row in rows]
    found = combine_advantages([0.0] * len(rows), steps, tokens, ["g"] * len(rows), spread=spread)
    assert math.fsum(v for row in found for v in row) == pytest.approx(0, abs=1e-9)


@given(st.lists(st.floats(0, 1), min_size=1, max_size=5), st.data())
def test_a_right_step_added_anywhere_leaves_every_other_advantage_as_it_was(values, data):
    other = StepScores((0.3, 0.9)).summands()
    place = data.draw(st.integers(0, len(values)))
    longer = [*values[:place], 1.0, *values[place:]]

    def advantages(own):
        steps = [StepScores(tuple(own)).summands(), other]
        tokens = [tokens_of([1] * len(own)), tokens_of([1, 1])]
        return combine_advantages([1.0, -1.0], steps, tokens, ["g", "g"], spread="suffix")

    before, after = advantages(values), advantages(longer)
    own = after[0][:place] + after[0][place + 1 :]
    assert own == pytest.approx(before[0])
    assert after[1] == pytest.approx(before[1])


def test_an_undecided_step_has_no_term_and_is_in_no_mean():
    tokens = [tokens_of([2, 1], after=0), tokens_of([1], after=0)]
    found = combine_advantages([0.0, 0.0], [[None, -1.0], [0.0]], tokens, ["g", "g"])
    assert found == [[0.0, 0.0, -0.5], [0.5]]


def test_groups_are_centred_apart():
    tokens = [tokens_of([1], after=0)] * 4
    found = combine_advantages([0.0] * 4, [[0.0], [-1.0], [-1.0], [-1.0]], tokens, list("abab"))
    assert found == [[0.5], [0.0], [-0.5], [0.0]]


def test_spans_of_a_verdict_find_their_tokens():
    def step(a, b):
        return StepVerdict(a, b, 1.0, Reason.MATCH)

    starts = [0, 2, 5, 9, 9]
    assert spans_to_tokens([step(0, 5), step(5, 9)], starts, 9).bounds == (0, 2, 3)
    assert spans_to_tokens([step(2, 6)], starts, 9).bounds == (1, 3)
    assert spans_to_tokens([], starts, 9).bounds == (0,)
    with pytest.raises(ConfigError, match="overlap"):
        spans_to_tokens([step(0, 5), step(4, 9)], starts, 9)


def verdict(score, *steps):
    made = tuple(
        StepVerdict(i, i + 1, s, Reason.PARTIAL if s is not None else Reason.UNPROVED)
        for i, s in enumerate(steps)
    )
    return Verdict(score, Reason.PARTIAL, steps=made)


def test_a_stage_adds_the_credit_of_steps_to_the_outcome():
    verdicts = [verdict(1.0, 1.0, 1.0), verdict(0.0, 1.0, 0.0)]
    stage = AdvantageStage(StepCredit("math", alpha=0.5), control="leave_one_out")
    found = stage(
        [1.0, 0.0],
        ["p", "p"],
        verdicts={"math": verdicts},
        lengths=[3, 2],
        token_starts=lambda row: [[0, 1, 2], [0, 1]][row],
    )
    plain = estimate_advantages([1.0, 0.0], ["p", "p"]).values
    # Four step tokens hold 0, 0, 0 and -1: their mean is -0.25.
    assert found.tokens == [
        [plain[0] + 0.125, plain[0] + 0.125, plain[0]],
        [plain[1] + 0.125, plain[1] - 0.375],
    ]


def test_rows_without_steps_or_a_reward_get_no_step_term():
    verdicts = [verdict(None, 1.0), None, verdict(1.0), verdict(0.0, 0.0)]
    found = AdvantageStage(StepCredit("math"))(
        [None, 0.0, 1.0, 0.0],
        ["p"] * 4,
        verdicts={"math": verdicts},
        lengths=[1, 1, 1, 1],
        token_starts=lambda row: [0],
    )
    assert found.tokens == [[0.0], [-0.5], [pytest.approx(1.0)], [-0.5]]
    assert found.decided == [False, True, True, True]


def test_step_scores_may_come_from_a_function():
    credit = StepCredit("m", scores=lambda v: StepScores((0.25,), "probability"))
    found = AdvantageStage(credit)(
        [1.0, 0.0],
        ["p", "p"],
        verdicts={"m": [verdict(1.0, 1.0), verdict(0.0)]},
        lengths=[1, 1],
        token_starts=lambda row: [0],
    )
    assert found.tokens == [[1.0], [-1.0]]  # one step in the group: its own mean


def test_what_a_trainer_lacks_is_named():
    with pytest.raises(ConfigError, match="verdicts of: code"):
        StepCredit("math")([1.0], ["p"], verdicts={"code": [None]}, token_starts=lambda row: [])
    with pytest.raises(ConfigError, match="token positions"):
        StepCredit("math")([1.0], ["p"], verdicts={"math": [None]})
    for options in ({"spread": "x"}, {"alpha": math.inf}, {"estimator": "x"}, {"eps": -1.0}):
        with pytest.raises(ConfigError):
            StepCredit("math", **options)
    with pytest.raises(ConfigError, match="one entry a row"):
        combine_advantages([1.0], [], [], [])
