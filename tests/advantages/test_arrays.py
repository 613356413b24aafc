"""Array and tensor estimators are the loops, on NumPy and on torch alike."""

import itertools
import math
import statistics

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rewardkit.advantages import (
    array_advantages,
    attempt_advantages,
    attempt_weights,
    estimate_advantages,
    importance_weights,
    max_at_k,
    max_at_k_advantages,
    set_advantages,
    verification_at_k,
)
from rewardkit.advantages.arrays import masked_mean, namespace
from rewardkit.errors import ConfigError
from tests._needs import needs

np = needs("numpy")
torch = needs("torch")

KINDS = {"numpy": np.asarray, "torch": lambda values: torch.tensor(values, dtype=torch.float64)}
ESTIMATORS = ["none", "mean", "leave_one_out", "group_z", "batch_z", "mad"]


def both(call, *rows):
    """The results of a call on arrays and on tensors, which must be the same."""
    found = [np.asarray(call(*(make(row) for row in rows))) for make in KINDS.values()]
    np.testing.assert_allclose(found[0], found[1], rtol=1e-12, atol=1e-12)
    return found[0]


@pytest.mark.parametrize("estimator", ESTIMATORS)
@pytest.mark.parametrize(("ddof", "std"), [(1, "sample"), (0, "population")])
@settings(max_examples=30)
@given(
    rows=st.lists(
        st.tuples(st.none() | st.sampled_from([0.0, 0.5, 1.0, -2.0]), st.integers(0, 3)),
        min_size=1,
        max_size=10,
    )
)
def test_array_estimators_are_those_on_lists(estimator, ddof, std, rows):
    rewards, groups = [r for r, _ in rows], [float(g) for _, g in rows]
    wanted = estimate_advantages(rewards, groups, estimator=estimator, std=std, eps=0.1).values
    given_rewards = [math.nan if r is None else r for r in rewards]
    found = both(
        lambda r, g: array_advantages(r, g, estimator=estimator, ddof=ddof, eps=0.1),
        given_rewards,
        groups,
    )
    np.testing.assert_allclose(found, wanted, rtol=1e-9, atol=1e-9)


def test_the_mean_absolute_deviation_by_hand():
    rewards = [1.0, 0.0, 0.0, 0.0]
    found = estimate_advantages(rewards, "aaaa", estimator="mad", eps=0.0).values
    mean = statistics.mean(rewards)
    spread = statistics.mean(abs(r - mean) for r in rewards)
    assert found == pytest.approx([(r - mean) / spread for r in rewards])


def test_what_is_no_array_is_refused():
    with pytest.raises(ConfigError, match="NumPy"):
        namespace([1.0])
    with pytest.raises(ConfigError, match="both"):
        array_advantages(np.zeros(2), np.zeros(3))
    with pytest.raises(ConfigError, match="estimator"):
        array_advantages(np.zeros(2), np.zeros(2), estimator="gdpo")
    with pytest.raises(ConfigError, match="level"):
        importance_weights(np.zeros((1, 1)), np.zeros((1, 1)), np.ones((1, 1)), level="row")


def test_a_masked_mean_does_not_see_what_is_masked():
    found = both(masked_mean, [[1.0, math.nan, 3.0], [math.nan] * 3], [[1.0, 0, 1], [0.0, 0, 0]])
    assert found.tolist() == [2.0, 0.0]


def test_importance_weights_by_hand():
    logps, old = [[-1.0, -2.0, -9.0]], [[-1.5, -1.0, 0.0]]
    mask = [[1.0, 1.0, 0.0]]
    tokens = both(importance_weights, logps, old, mask)
    assert tokens[0].tolist() == pytest.approx([math.exp(0.5), math.exp(-1.0), 0.0])
    rows = both(lambda *a: importance_weights(*a, level="sequence"), logps, old, mask)
    assert rows[0].tolist() == pytest.approx([math.exp(-0.5)] * 2 + [0.0])


def subsets_max(rewards, k):
    sets = list(itertools.combinations(rewards, k))
    return math.fsum(map(max, sets)) / len(sets)


@given(st.lists(st.floats(-5, 5), min_size=1, max_size=6), st.data())
def test_max_at_k_is_the_mean_over_all_subsets(rewards, data):
    k = data.draw(st.integers(1, len(rewards)))
    assert both(lambda r: max_at_k(r, k), rewards) == pytest.approx(subsets_max(rewards, k))
    found = both(lambda r: max_at_k_advantages(r, k), rewards)
    for i, reward in enumerate(rewards):
        others = rewards[:i] + rewards[i + 1 :]
        sets = list(itertools.combinations(others, k - 1))
        gains = [max([reward, *chosen]) - max(chosen, default=0.0) for chosen in sets]
        assert found[i] == pytest.approx(math.fsum(gains) / len(gains))


def test_max_at_k_of_zeros_and_ones_is_pass_at_k():
    from rewardkit_grpo.evaluation import pass_at_k

    rewards = np.array([1.0, 0.0, 0.0, 1.0, 0.0])
    for k in range(1, 6):
        assert float(max_at_k(rewards, k)) == pytest.approx(pass_at_k(5, 2, k))


def policy(logits):
    weights = np.exp(logits - logits.max())
    return weights / weights.sum()


def expected_gradient(logits, n, coefficients):
    """E of the mean over n draws of coefficient · grad log pi(draw), by enumeration."""
    p = policy(logits)
    total = np.zeros_like(p)
    for draws in itertools.product(range(len(p)), repeat=n):
        chance = math.prod(p[a] for a in draws)
        values = np.asarray(coefficients(draws))
        for value, action in zip(values, draws):
            total += chance * value / n * (np.eye(len(p))[action] - p)
    return total


def numeric_gradient(objective, logits, step=1e-5):
    rows = np.eye(len(logits)) * step
    return np.array(
        [(objective(logits + row) - objective(logits - row)) / (2 * step) for row in rows]
    )


def expectation(logits, n, worth):
    p = policy(logits)
    return math.fsum(
        math.prod(p[a] for a in draws) * worth(draws)
        for draws in itertools.product(range(len(p)), repeat=n)
    )


@pytest.mark.parametrize("k", [1, 2, 3])
def test_the_gradient_of_max_at_k_is_unbiased(k):
    rewards, logits = [0.2, 1.0, -0.5], np.array([0.3, -0.4, 0.1])
    wanted = numeric_gradient(
        lambda x: expectation(x, k, lambda draws: max(rewards[a] for a in draws)), logits
    )
    found = expected_gradient(
        logits, 4, lambda draws: max_at_k_advantages(np.array([rewards[a] for a in draws]), k)
    )
    np.testing.assert_allclose(k * found, wanted, atol=1e-7)


@pytest.mark.parametrize(("worth", "k"), [("max", 2), ("softmax", 2), ("softmax", 3), ("mean", 2)])
def test_the_gradient_of_a_set_under_uncertain_rewards_is_unbiased(worth, k):
    rewards = np.array([[1.0, 0.0, 0.2], [0.0, 1.0, 0.1]])
    logits = np.array([0.5, -0.3, 0.2])

    def value(draws):
        total = 0.0
        for row in rewards:
            own = [row[a] for a in draws]
            weights = [math.exp(v / 0.5) for v in own]
            total += {
                "max": max(own),
                "mean": sum(own) / len(own),
                "softmax": sum(w * v for w, v in zip(weights, own)) / sum(weights),
            }[worth]
        return total / len(rewards)

    wanted = numeric_gradient(lambda x: expectation(x, k, value), logits)
    found = expected_gradient(
        logits,
        3,
        lambda draws: set_advantages(rewards[:, list(draws)], k=k, worth=worth, temperature=0.5),
    )
    np.testing.assert_allclose(k * found, wanted, atol=1e-7)


def test_uncertain_rewards_make_covering_pay():
    # Two equally likely reward functions, each liking another answer; a third answer is so-so.
    rewards = [[1.0, 1.0, 0.0], [0.0, 0.0, 0.9]]
    found = both(lambda r: set_advantages(r, k=3), rewards)
    assert found.tolist() == pytest.approx([0.0, 0.0, 0.45])
    plain = both(lambda r: set_advantages(r[:1], k=1), rewards)
    assert plain.tolist() == [1.0, 1.0, 0.0]


def test_sets_that_do_not_fit_are_refused():
    rewards = np.zeros((2, 30))
    for call in [
        lambda: max_at_k(np.zeros(3), 4),
        lambda: max_at_k(np.zeros((1, 3)), 1),
        lambda: set_advantages(np.zeros(3)),
        lambda: set_advantages(rewards, worth="median"),
        lambda: set_advantages(rewards, temperature=0),
        lambda: set_advantages(rewards, k=15, worth="softmax"),
    ]:
        with pytest.raises(ConfigError):
            call()


RATES = (0.3, 0.5, 0.2)


def trajectories(rates):
    """(chance, passed, reached, d chance / d logit) of one trajectory of up to K attempts."""
    count = len(rates)
    for stop in range(count + 1):
        passed, reached = [0.0] * count, [0.0] * count
        chance, score = 1.0, [0.0] * count
        for i in range(min(stop + 1, count)):
            reached[i], passed[i] = 1.0, float(i == stop)
            chance *= rates[i] if i == stop else 1 - rates[i]
            score[i] = passed[i] - rates[i]
        yield chance, passed, reached, score


def exact_gradient(rates):
    """d Verification@K / d logit of each attempt's success rate."""
    return [
        math.prod(1 - p for j, p in enumerate(rates) if j != i) * rates[i] * (1 - rates[i])
        for i in range(len(rates))
    ]


def estimate_by_enumeration(rows, advantages):
    total, kept = np.zeros(len(RATES)), 0.0
    for drawn in itertools.product(list(trajectories(RATES)), repeat=rows):
        chance = math.prod(row[0] for row in drawn)
        passed, reached = (np.array([row[i] for row in drawn]) for i in (1, 2))
        found = advantages(passed, reached)
        scores = np.array([row[3] for row in drawn])
        total += chance * (found * scores).sum(0) / rows
        kept += chance
    assert kept == pytest.approx(1)
    return total


def test_attempt_advantages_have_the_gradient_of_verification_at_k():
    found = estimate_by_enumeration(
        2, lambda passed, reached: attempt_advantages(passed, reached, rates=np.array(RATES))
    )
    np.testing.assert_allclose(found, exact_gradient(RATES), atol=1e-12)


def test_weighing_by_the_rows_own_outcome_is_biased_and_estimated_weights_come_near():
    def naive(passed, reached):
        lost = 1 - passed.sum(1, keepdims=True)
        return (passed + lost) * reached * (passed - np.array(RATES))

    exact = np.array(exact_gradient(RATES))
    off = np.abs(estimate_by_enumeration(2, naive) - exact).max()
    gaps = [
        np.abs(estimate_by_enumeration(rows, attempt_advantages) - exact).max()
        for rows in (2, 3, 5)
    ]
    assert off > 0.05
    assert gaps[0] > gaps[1] > gaps[2]  # what is lost where no other row got that far


def test_attempt_weights_by_hand_on_arrays_and_tensors():
    passed = [[0.0, 1.0, 0.0], [0.0, 0.0, 0.0], [0.0, 0.0, 1.0], [1.0, 0.0, 0.0]]
    reached = [[1.0, 1.0, 0.0], [1.0, 1.0, 1.0], [1.0, 1.0, 1.0], [1.0, 0.0, 0.0]]
    found = both(attempt_weights, passed, reached)
    # Of the others that failed attempt 1, the share that failed all: row 0 sees rows 1 and 2.
    assert found[:, 0].tolist() == pytest.approx([1 / 2, 0.0, 1 / 2, 1 / 3])
    assert found[:, 2].tolist() == [0.0, 1.0, 1.0, 0.0]
    known = both(lambda p, r: attempt_weights(p, r, rates=p[0] * 0 + 0.25), passed, reached)
    assert known[1].tolist() == pytest.approx([0.75**2, 0.75, 1.0])
    assert both(verification_at_k, passed, reached) == pytest.approx(0.75)
    both(attempt_advantages, passed, reached)


def test_attempts_out_of_order_are_refused():
    with pytest.raises(ConfigError, match="reached"):
        attempt_weights(np.array([[1.0, 0.0]]), np.array([[1.0, 1.0]]))
    with pytest.raises(ConfigError, match="both"):
        attempt_weights(np.zeros(2), np.zeros(2))
