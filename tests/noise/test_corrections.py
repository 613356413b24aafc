"""Corrections on their own: closed forms, exact expectations, what is refused."""

import itertools
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rewardkit.errors import ConfigError
from rewardkit.noise import (
    Audit,
    Channel,
    EmaScale,
    Rates,
    audit,
    backward_coefficients,
    correct_backward,
    correct_forward,
    estimate_rates,
    find_dependence,
    forward_coefficients,
    leave_one_out,
    noisy_control,
    return_to_go,
    step_coefficients,
    token_coefficients,
)
from tests._needs import needs

RATES = Rates.exact(0.1, 0.3)
CHANNEL = Channel(RATES, strata={"a": Rates.exact(0.0, 0.5), "b": Rates.exact(0.3, 0.1)})


def mean_over_channel(values_if_accepted, values_if_rejected, right):
    accept = 1 - RATES.rho1.value if right else RATES.rho0.value
    return accept * values_if_accepted + (1 - accept) * values_if_rejected


def test_backward_is_unbiased_given_the_truth():
    accepted, rejected = correct_backward([1, 0], RATES)
    assert mean_over_channel(accepted, rejected, right=True) == pytest.approx(1)
    assert mean_over_channel(accepted, rejected, right=False) == pytest.approx(0)


def test_forward_is_zero_for_right_and_minus_j_for_wrong():
    accepted, rejected = correct_forward([1, 0], RATES)
    assert mean_over_channel(accepted, rejected, right=True) == pytest.approx(0)
    assert mean_over_channel(accepted, rejected, right=False) == pytest.approx(-RATES.j)


POLICY = np.array([0.5, 0.3, 0.2])
RIGHT = np.array([1.0, 0.0, 0.0])


def expected_gradient(estimate, *, size=3, accepts=None):
    """Returns the mean gradient over every group there can be, each with its probability."""
    accepts = np.where(RIGHT == 1, 0.7, 0.1) if accepts is None else accepts
    score = np.eye(3) - POLICY
    total = np.zeros(3)
    for actions in itertools.product(range(3), repeat=size):
        for verdicts in itertools.product((0, 1), repeat=size):
            chance = math.prod(
                POLICY[a] * (accepts[a] if v else 1 - accepts[a]) for a, v in zip(actions, verdicts)
            )
            coefficients = estimate(list(verdicts))
            gradient = sum(c * score[a] for c, a in zip(coefficients, actions)) / size
            total += chance * gradient
    return total


CLEAN = POLICY * (RIGHT - POLICY @ RIGHT)


@pytest.mark.parametrize(
    ("name", "estimate", "length"),
    [
        ("plain", lambda v: leave_one_out(v, [0] * 3), RATES.j),
        ("control", lambda v: noisy_control(v, "backward", groups=[0] * 3), RATES.j),
        ("backward", lambda v: backward_coefficients(v, RATES, groups=[0] * 3), 1),
        (
            "no baseline",
            lambda v: backward_coefficients(v, RATES, groups=[0] * 3, baseline="none"),
            1,
        ),
        (
            "own mean",
            lambda v: backward_coefficients(v, RATES, groups=[0] * 3, baseline="mean"),
            2 / 3,
        ),
        ("scaled", lambda v: backward_coefficients(v, RATES, groups=[0] * 3, scale=4.0), 1 / 4),
        ("forward", lambda v: forward_coefficients(v, RATES), RATES.j),
        ("forward by J", lambda v: forward_coefficients(v, RATES, scale="j"), 1),
        ("forward, number", lambda v: forward_coefficients(v, RATES, scale=2 * RATES.j), 1 / 2),
        ("forward control", lambda v: noisy_control(v, "forward", groups=[0] * 3), RATES.j),
    ],
)
def test_the_exact_mean_gradient_is_the_clean_one_times_a_length(name, estimate, length):
    assert expected_gradient(estimate) == pytest.approx(length * CLEAN, abs=1e-12)


def test_the_exact_mean_gradient_is_off_where_the_error_depends_on_the_response():
    accepts = np.array([0.7, 0.6, 0.1])  # the second response is wrong in a way that passes
    found = expected_gradient(
        lambda v: backward_coefficients(v, RATES, groups=[0] * 3), accepts=accepts
    )
    cosine = found @ CLEAN / np.linalg.norm(found) / np.linalg.norm(CLEAN)
    assert cosine < 0.95


def z_score(values, epsilon=0.0):
    values = np.asarray(values, dtype=float)
    return (values - values.mean()) / (values.std(ddof=1) + epsilon)


@given(
    scores=st.lists(st.sampled_from([0, 1]), min_size=2, max_size=12).filter(
        lambda s: 0 < sum(s) < len(s)
    ),
    rho0=st.floats(0, 0.4),
    rho1=st.floats(0, 0.4),
)
def test_a_z_score_removes_any_correction_and_centring_removes_the_forward_one(scores, rho0, rho1):
    rates, groups = Rates.exact(rho0, rho1), [0] * len(scores)
    plain = z_score(scores)
    assert audit(plain, z_score(correct_backward(scores, rates))).cancelled
    assert audit(plain, z_score(correct_forward(scores, rates))).cancelled
    centred = leave_one_out(correct_forward(scores, rates), groups)
    assert audit(leave_one_out(scores, groups), centred).cancelled
    kept = audit(leave_one_out(scores, groups), backward_coefficients(scores, rates, groups=groups))
    assert kept.cosine == pytest.approx(1)
    assert kept.mean == pytest.approx(
        (1 / rates.j - 1) * np.abs(leave_one_out(scores, groups)).mean(), abs=1e-9
    )


@given(
    scores=st.lists(st.lists(st.sampled_from([0, 1]), min_size=4, max_size=4), min_size=2).filter(
        lambda groups: any(0 < sum(group) < 4 for group in groups)
    ),
    rho0=st.floats(0, 0.4),
    rho1=st.floats(0, 0.4),
)
def test_the_batchs_own_deviation_removes_a_correction_too(scores, rho0, rho1):
    rates, flat = Rates.exact(rho0, rho1), [score for group in scores for score in group]
    groups = [i // 4 for i in range(len(flat))]
    plain = np.array(leave_one_out(flat, groups))
    corrected = np.array(backward_coefficients(flat, rates, groups=groups))
    assert audit(plain / plain.std(), corrected / corrected.std()).cancelled


@pytest.mark.parametrize("scale", ["group_std", "batch_std"])
def test_a_scale_that_cancels_is_refused_with_its_reason(scale):
    with pytest.raises(ConfigError, match="affine"):
        backward_coefficients([0, 1], RATES, groups=[0, 0], scale=scale)
    with pytest.raises(ConfigError, match="affine"):
        forward_coefficients([0, 1], RATES, scale=scale)
    with pytest.raises(ConfigError, match="affine"):
        step_coefficients([[0, 1]], RATES, scale=scale)


@pytest.mark.parametrize("baseline", ["leave_one_out", "mean"])
def test_a_centred_forward_correction_is_refused_with_its_reason(baseline):
    with pytest.raises(ConfigError, match="centring"):
        forward_coefficients([0, 1], RATES, baseline=baseline)


@pytest.mark.parametrize(
    "options", [{"scale": 0.0}, {"scale": -1.0}, {"scale": math.nan}, {"baseline": "median"}]
)
def test_options_outside_their_range_are_refused(options):
    with pytest.raises(ConfigError):
        backward_coefficients([0, 1], RATES, groups=[0, 0], **options)


@pytest.mark.parametrize(
    "rates",
    [
        Rates.exact(0.5, 0.5),
        Rates.exact(0.6, 0.6),
        Rates.exact(0.5, 0.45),
        estimate_rates(Audit(6, 4, 4, 6)),  # J = 0.2, from twenty labels
    ],
)
def test_a_channel_that_says_nothing_is_refused(rates):
    for correct in (correct_backward, correct_forward):
        with pytest.raises(ConfigError, match="Label more rows"):
            correct([0, 1], rates)


def test_a_weak_channel_that_is_well_known_is_allowed_where_asked():
    rates = Rates.exact(0.5, 0.45)
    assert correct_backward([1], rates, min_j=0.01) == pytest.approx([10])


def test_partial_credit_is_refused():
    with pytest.raises(ConfigError, match="partial credit"):
        correct_backward([0.5], RATES)


def test_abstentions_get_no_coefficient_and_leave_the_baseline_alone():
    scores, groups = [1, None, 0, math.nan, 1], ["x", "x", "x", "x", "y"]
    found = backward_coefficients(scores, RATES, groups=groups)
    alone = backward_coefficients([1, 0], RATES, groups=["x", "x"])
    assert found == pytest.approx([alone[0], 0, alone[1], 0, 0])
    assert forward_coefficients([None, 1], RATES) == pytest.approx([0, 0.3])


def test_arrays_are_read_as_lists_are():
    scores, groups = np.array([1.0, 0.0, np.nan]), np.array([7, 7, 7])
    assert backward_coefficients(scores, RATES, groups=groups) == backward_coefficients(
        [1, 0, None], RATES, groups=[7, 7, 7]
    )


def test_each_stratum_is_corrected_by_its_own_rates():
    found = correct_backward([1, 1, 0, 1], CHANNEL, strata=["a", "b", "b", "unheard of"])
    assert found == pytest.approx([1 / 0.5, 0.7 / 0.6, -0.3 / 0.6, 0.9 / 0.6])


def test_forward_weights_are_divided_by_the_j_of_their_own_stratum():
    found = forward_coefficients([1, 0, None], CHANNEL, strata=["a", "b", "b"], scale="j")
    assert found == pytest.approx([0.5 / 0.5, -0.9 / 0.6, 0])
    for refused in (
        lambda: backward_coefficients([1, 0], RATES, groups=[0, 0], scale="j"),
        lambda: step_coefficients([[1]], RATES, correction="forward", scale="j"),
    ):
        with pytest.raises(ConfigError, match="j"):
            refused()


def test_strata_need_a_channel_that_has_them_and_their_own_length():
    with pytest.raises(ConfigError, match="no rates by stratum"):
        correct_backward([1], RATES, strata=["a"])
    with pytest.raises(ConfigError, match="strata has 1 entries"):
        correct_backward([1, 0], CHANNEL, strata=["a"])
    with pytest.raises(ConfigError, match="groups has 1 entries"):
        backward_coefficients([1, 0], RATES, groups=[0])
    with pytest.raises(ConfigError, match="stratum 'bad'"):
        correct_backward([1], Channel(RATES, strata={"bad": Rates.exact(0.6, 0.6)}), strata=["bad"])


def test_leave_one_out_is_the_centred_value_times_g_over_g_minus_one():
    values = [0.3, 1.2, -0.4, 0.9]
    mean = sum(values) / 4
    assert leave_one_out(values, "aaaa") == pytest.approx([(v - mean) * 4 / 3 for v in values])


def test_an_ema_scale_never_sees_the_batch_that_it_scales():
    scale = EmaScale(decay=0.9).update([3.0, -3.0])
    later = scale.update([1.0, -1.0])
    assert (scale.value, later.value) == pytest.approx((3.0, math.sqrt(0.9 * 9 + 0.1)))
    assert later.update([0.0]) == later
    assert later.update([]) == later
    with pytest.raises(ConfigError):
        EmaScale(decay=1.0)


def test_steps_get_the_corrected_return_to_go():
    [found] = step_coefficients([[1, 0, None, 1]], RATES)
    up, down = 0.9 / 0.6, -0.1 / 0.6
    assert found == pytest.approx([up + down + up, down + up, up, up])
    [forward] = step_coefficients([[0, 1]], RATES, correction="forward", scale=2.0)
    assert forward == pytest.approx([(-0.7 + 0.3) / 2, 0.3 / 2])
    by_stratum = step_coefficients([[1], [1]], CHANNEL, strata=["a", "b"])
    assert [c[0] for c in by_stratum] == pytest.approx([2.0, 0.7 / 0.6])
    with pytest.raises(ConfigError):
        step_coefficients([[1], [1]], CHANNEL, strata=["a"])


@given(values=st.lists(st.integers(-9, 9), max_size=20))
def test_the_return_to_go_is_the_sum_of_what_follows(values):
    assert return_to_go(values) == [sum(values[i:]) for i in range(len(values))]


@given(lengths=st.lists(st.integers(0, 5), max_size=8), rest=st.integers(0, 3))
def test_every_token_has_the_coefficient_of_its_step(lengths, rest):
    ends = list(itertools.accumulate(lengths))
    values = [float(i + 1) for i in range(len(ends))]
    tokens = token_coefficients(values, ends, length=sum(lengths) + rest)
    expected = [v for v, n in zip(values, lengths) for _ in range(n)] + [0.0] * rest
    assert tokens == expected


@pytest.mark.parametrize("ends", [[2, 1], [1, 9], [1]])
def test_ends_that_do_not_fit_are_refused(ends):
    with pytest.raises(ConfigError):
        token_coefficients([1.0, 1.0], ends, length=5)


def test_the_audit_is_mean_max_and_cosine():
    found = audit([1.0, 0.0, -1.0], [2.0, 1.0, -1.0])
    assert (found.mean, found.max) == pytest.approx((2 / 3, 1.0))
    assert found.cosine == pytest.approx(3 / math.sqrt(2 * 6))
    assert not found.cancelled
    assert audit([0.0], [1.0]).cosine is None
    with pytest.raises(ConfigError):
        audit([1.0], [1.0, 2.0])
    with pytest.raises(ConfigError):
        audit([], [])


def test_errors_that_depend_on_the_response_are_found():
    rng = np.random.default_rng(4)
    right = rng.random(600) < 0.5
    boxed, long = rng.random(600) < 0.5, rng.random(600) < 0.5
    accepted = np.where(right, rng.random(600) < np.where(boxed, 0.95, 0.55), rng.random(600) < 0.1)
    [first, *others] = find_dependence(accepted, right, {"long": long, "boxed": boxed})
    assert (first.feature, first.rate) == ("boxed", "rho1")
    assert first.p_value < 1e-6
    assert first.with_feature < 0.15 < 0.35 < first.without_feature
    errors, has = ~accepted[right], boxed[right]
    assert first.covariance == pytest.approx(np.cov(errors, has, bias=True)[0, 1])
    assert all(other.p_value > 0.05 for other in others)


def test_the_test_of_dependence_is_fishers_with_holms_correction():
    stats, multitest = needs("scipy.stats"), needs("statsmodels.stats.multitest")
    rng = np.random.default_rng(9)
    right = rng.random(120) < 0.6
    accepted = right ^ (rng.random(120) < 0.2)
    features = {str(k): rng.random(120) < 0.2 + 0.2 * k for k in range(3)}
    plain = []
    for column in features.values():
        for truth in (False, True):
            rows, error = right == truth, accepted != truth
            table = [
                [(rows & error & f).sum(), (rows & ~error & f).sum()] for f in (column, ~column)
            ]
            plain.append(stats.fisher_exact(table).pvalue)
    theirs = sorted(multitest.multipletests(plain, method="holm")[1])
    assert [one.p_value for one in find_dependence(accepted, right, features)] == pytest.approx(
        theirs
    )


def test_dependence_needs_columns_of_one_length_and_both_kinds_of_rows():
    with pytest.raises(ConfigError, match="right has 1"):
        find_dependence([True, False], [True], {})
    assert find_dependence([True, False], [True, False], {"always": [True, True]}) == []
