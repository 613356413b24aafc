"""Every estimator against an independent computation, and what holds for all of them."""

import itertools
import math
import statistics

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rewardkit.advantages import AdvantageStage, estimate_advantages
from rewardkit.errors import ConfigError

NAMES = ["none", "mean", "leave_one_out", "group_z", "batch_z", "gdpo"]
REWARDS = [1.0, 0.0, 0.25, 0.5, -1.0, 2.0, 0.0]
GROUPS = ["a", "b", "a", "a", "b", "b", "b"]


def own(group):
    return [r for r, g in zip(REWARDS, GROUPS) if g == group]


def values(estimator, rewards=REWARDS, groups=GROUPS, **options):
    if estimator == "gdpo":
        options.setdefault("components", {"only": rewards})
    return estimate_advantages(rewards, groups, estimator=estimator, **options).values


def test_none_is_the_reward():
    assert values("none") == REWARDS


def test_mean_subtracts_the_mean_of_the_group():
    expected = [r - statistics.mean(own(g)) for r, g in zip(REWARDS, GROUPS)]
    assert values("mean") == pytest.approx(expected, abs=1e-15)


def test_leave_one_out_subtracts_the_mean_of_the_others():
    expected = []
    for row, (reward, group) in enumerate(zip(REWARDS, GROUPS)):
        others = [r for i, r in enumerate(REWARDS) if GROUPS[i] == group and i != row]
        expected.append(reward - statistics.mean(others))
    assert values("leave_one_out") == pytest.approx(expected, abs=1e-15)


@pytest.mark.parametrize(
    ("std", "deviation"), [("sample", statistics.stdev), ("population", statistics.pstdev)]
)
def test_group_z_divides_by_the_deviation_of_the_group(std, deviation):
    expected = [
        (r - statistics.mean(own(g))) / (deviation(own(g)) + 0.01) for r, g in zip(REWARDS, GROUPS)
    ]
    assert values("group_z", std=std, eps=0.01) == pytest.approx(expected, abs=1e-14)


@pytest.mark.parametrize(
    ("std", "deviation"), [("sample", statistics.stdev), ("population", statistics.pstdev)]
)
def test_batch_z_divides_by_the_deviation_of_the_batch(std, deviation):
    scale = deviation(REWARDS) + 0.01
    expected = [(r - statistics.mean(own(g))) / scale for r, g in zip(REWARDS, GROUPS)]
    assert values("batch_z", std=std, eps=0.01) == pytest.approx(expected, abs=1e-14)


def test_gdpo_normalises_each_component_and_then_their_sum():
    components = {"right": [1, 0, 0, 1, 0, 1, 1], "brief": [0.2, 0.9, 0.4, 0.1, 0.5, 0.6, 0.3]}
    weights = {"right": 2.0, "brief": 0.5}
    sums = [0.0] * len(GROUPS)
    for name, column in components.items():
        for group in "ab":
            rows = [i for i, g in enumerate(GROUPS) if g == group]
            part = [column[i] for i in rows]
            for i in rows:
                z = (column[i] - statistics.mean(part)) / (statistics.stdev(part) + 1e-4)
                sums[i] += weights[name] * z
    scale = statistics.stdev(sums) + 1e-4
    expected = [(s - statistics.mean(sums)) / scale for s in sums]
    assert values("gdpo", components=components, weights=weights) == pytest.approx(expected)


def test_a_lone_hit_among_eight_shows_the_kind_of_deviation():
    rewards, groups = [1.0] + [0.0] * 7, ["p"] * 8
    sample = values("group_z", rewards, groups, eps=0.0)[0]
    population = values("group_z", rewards, groups, eps=0.0, std="population")[0]
    assert sample == pytest.approx(0.875 / math.sqrt(0.125), abs=1e-12)
    assert population == pytest.approx(math.sqrt(7), abs=1e-12)
    assert population / sample == pytest.approx(math.sqrt(8 / 7), abs=1e-12)


@pytest.mark.parametrize(
    ("estimator", "share"), [("none", 1.0), ("mean", 1 - 1 / 3), ("leave_one_out", 1.0)]
)
def test_the_expected_gradient_is_the_stated_share_of_the_true_one(estimator, share):
    """All groups of three samples of a softmax policy over four actions, each with its weight."""
    logits, gain, size = [0.3, -0.2, 0.8, 0.0], [1.0, 0.0, 0.25, -0.5], 3
    total = sum(map(math.exp, logits))
    policy = [math.exp(logit) / total for logit in logits]
    value = sum(p * r for p, r in zip(policy, gain))
    true = [p * (r - value) for p, r in zip(policy, gain)]
    expected = [0.0] * 4
    for actions in itertools.product(range(4), repeat=size):
        weight = math.prod(policy[a] for a in actions)
        found = values(estimator, [gain[a] for a in actions], ["x"] * size)
        for action, advantage in zip(actions, found):
            for k in range(4):
                score = (k == action) - policy[k]  # the derivative of log p(action) by logit k
                expected[k] += weight * advantage * score / size
    assert expected == pytest.approx([share * t for t in true], abs=1e-12)


@pytest.mark.parametrize("estimator", NAMES)
def test_an_undecided_row_is_in_no_baseline_and_gets_zero(estimator):
    rewards, groups = [*REWARDS, None], [*GROUPS, "a"]
    found = estimate_advantages(rewards, groups, estimator=estimator, components={"only": rewards})
    assert found.values == [*values(estimator), 0.0]
    assert found.decided == [True] * 7 + [False]


@pytest.mark.parametrize("estimator", ["mean", "leave_one_out", "group_z", "batch_z"])
@pytest.mark.parametrize("eps", [0.0, 1e-8, 1e-4])
def test_a_group_of_equal_rewards_gets_exactly_zero(estimator, eps):
    rewards = [0.1] * 7 + [1.0, 0.0, 0.7]
    groups = ["flat"] * 7 + ["b", "b", "alone"]
    found = estimate_advantages(rewards, groups, estimator=estimator, eps=eps)
    assert found.values[:7] == [0.0] * 7
    assert found.values[9] == 0.0
    assert found.zero_groups == {"flat", "alone"}


def test_a_component_that_is_none_is_left_out_of_its_row():
    rewards, groups = [1.0, 0.0, 1.0, 0.0], ["a"] * 4
    components = {"right": rewards, "extra": [None, None, 0.0, 1.0]}
    found = values("gdpo", rewards, groups, components=components, eps=0.0)
    right = [r - 0.5 for r in rewards]
    right = [r / statistics.stdev(rewards) for r in right]
    extra = [0.0, 0.0, -0.5 / statistics.stdev([0, 1]), 0.5 / statistics.stdev([0, 1])]
    sums = [a + b for a, b in zip(right, extra)]
    assert found == pytest.approx([s / statistics.stdev(sums) for s in sums])


rows = st.lists(
    st.tuples(st.one_of(st.none(), st.floats(-100, 100)), st.sampled_from("abc")), max_size=12
)


@given(rows, st.sampled_from(NAMES), st.randoms(use_true_random=False))
def test_groups_are_by_id_and_not_by_place(batch, estimator, random):
    shuffled = list(range(len(batch)))
    random.shuffle(shuffled)
    rewards, groups = [r for r, _ in batch], [g for _, g in batch]
    plain = values(estimator, rewards, groups)
    moved = values(estimator, [rewards[i] for i in shuffled], [groups[i] for i in shuffled])
    assert moved == pytest.approx([plain[i] for i in shuffled], abs=1e-9, rel=1e-9)


@given(rows, st.sampled_from(["mean", "leave_one_out", "group_z"]))
def test_the_advantages_of_a_group_sum_to_zero(batch, estimator):
    found = values(estimator, [r for r, _ in batch], [g for _, g in batch])
    for group in "abc":
        total = math.fsum(v for v, (_, g) in zip(found, batch) if g == group)
        assert total == pytest.approx(0.0, abs=1e-6)


@given(
    st.lists(st.sampled_from([0.0, 1.0]), min_size=2, max_size=8),
    st.floats(0.1, 10),
    st.floats(-5, 5),
)
def test_a_group_z_score_cancels_every_affine_map_of_a_reward(rewards, slope, shift):
    groups = ["a"] * len(rewards)
    mapped = [slope * r + shift for r in rewards]
    plain = values("group_z", rewards, groups, eps=0.0)
    assert values("group_z", mapped, groups, eps=0.0) == pytest.approx(plain, abs=1e-9)


@given(rows, st.sampled_from(NAMES))
def test_all_is_finite_and_of_the_batch_size(batch, estimator):
    found = values(estimator, [r for r, _ in batch], [g for _, g in batch], eps=0.0)
    assert len(found) == len(batch)
    assert all(map(math.isfinite, found))


@pytest.mark.parametrize(
    ("rewards", "groups", "options", "says"),
    [
        ([1.0], [], {}, "groups has 0 entries for 1 rewards"),
        ([1.0], [["a"]], {}, "hashable"),
        ([math.nan], ["a"], {}, r"rewards\[0\] is nan"),
        ([math.inf], ["a"], {}, r"rewards\[0\] is inf"),
        ([1.0], ["a"], {"estimator": "grpo"}, "estimator is one of none, mean"),
        ([1.0], ["a"], {"std": "n"}, "std is one of sample, population"),
        ([1.0], ["a"], {"eps": -1.0}, "eps is"),
        ([1.0], ["a"], {"estimator": "gdpo"}, "give components"),
        ([1.0], ["a"], {"estimator": "gdpo", "components": {"x": []}}, "'x' has 0 entries"),
    ],
)
def test_a_mistake_is_named(rewards, groups, options, says):
    with pytest.raises(ConfigError, match=says):
        estimate_advantages(rewards, groups, **options)


def test_a_stage_names_a_wrong_option_when_it_is_built():
    with pytest.raises(ConfigError, match="estimator is one of"):
        AdvantageStage("zscore")
    with pytest.raises(ConfigError, match="a name or a function"):
        AdvantageStage(3)


def test_coefficients_of_ones_own_see_the_batch_and_take_the_estimators_place():
    seen = {}

    def coefficients(rewards, groups, /, *, columns, **context):
        seen.update(groups=groups, columns=columns, rest=sorted(context))
        return [None if r is None else 2 * r for r in rewards]

    found = AdvantageStage(coefficients)(
        [1.0, None], ["a", "a"], columns={"stratum": ["x", "y"]}, lengths=[3, 1]
    )
    assert found.values == [2.0, 0.0]
    assert found.decided == [True, False]
    assert seen == {"groups": ["a", "a"], "columns": {"stratum": ["x", "y"]}, "rest": ["lengths"]}


def test_coefficients_may_be_one_a_token():
    stage = AdvantageStage(lambda rewards, groups, /, **context: [[1.0, 3.0], 0.5, None])
    found = stage([1.0, 0.0, 1.0], ["a"] * 3, lengths=[2, 3, 1])
    assert found.tokens == [[1.0, 3.0], [0.5] * 3, [0.0]]
    assert found.values == [2.0, 0.5, 0.0]


@pytest.mark.parametrize(
    ("returned", "lengths", "says"),
    [
        ([1.0], [1, 1], "1 coefficients for 2 rows"),
        ([[1.0], 0.0], [2, 1], "1 numbers for row 0, which has 2 tokens"),
        ([[1.0], 0.0], None, "one a completion"),
        ([math.nan, 0.0], None, "nan"),
        (["a", 0.0], None, "which is no number"),
    ],
)
def test_coefficients_that_do_not_fit_are_named(returned, lengths, says):
    stage = AdvantageStage(lambda rewards, groups, /, **context: returned)
    with pytest.raises(ConfigError, match=says):
        stage([1.0, 0.0], ["a", "a"], **({} if lengths is None else {"lengths": lengths}))
