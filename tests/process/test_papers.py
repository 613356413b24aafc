"""The functions of the papers, each against a calculation of its own."""

import math
import random
import statistics

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rewardkit.errors import ConfigError
from rewardkit.process import (
    Segmentation,
    by_sentence,
    calibrate_negatives,
    changed_tokens,
    confidence_margin,
    control_advantages,
    counterfactual_rewards,
    external_redundancy,
    implicit_loss,
    implicit_rewards,
    internal_redundancy,
    margin_loss,
    preference_pairs,
    prime_advantages,
    rebalance,
    redundancy_reward,
    revision_gains,
    select_steps,
    truncation_redundancy,
)
from tests._needs import needs

np = needs("numpy")
torch = needs("torch")

KINDS = (np.asarray, lambda values: torch.tensor(values, dtype=torch.float64))


def both(call, *rows):
    """The results of a call on arrays and on tensors, which must be the same."""
    found = [np.asarray(call(*(make(row) for row in rows))) for make in KINDS]
    np.testing.assert_allclose(found[0], found[1], rtol=1e-9, atol=1e-9)
    return found[0]


# SAS, arXiv:2604.24003


@given(
    st.lists(
        st.lists(st.integers(-9, 0), min_size=1, max_size=10, unique=True), min_size=1, max_size=4
    ),
    st.sampled_from([0.0, 0.2, 0.3, 0.5, 1.0]),
    st.data(),
)
def test_sas_drops_the_unsure_of_the_right_and_the_sure_of_the_wrong(rows, share, data):
    width = max(map(len, rows))
    correct = [float(data.draw(st.booleans())) for _ in rows]
    confidence = [[*map(float, row), *[0.0] * (width - len(row))] for row in rows]
    mask = [[1.0] * len(row) + [0.0] * (width - len(row)) for row in rows]
    keep = both(lambda *a: select_steps(*a, share=share), confidence, mask, correct)
    for row, right, kept in zip(rows, correct, keep):
        tenths = round(share * 10)
        if right:
            count = -(-len(row) * tenths // 10)
            dropped = set(sorted(row)[:count])
        else:
            count = len(row) - -(-len(row) * (10 - tenths) // 10)
            dropped = set(sorted(row, reverse=True)[:count])
        assert [bool(k) for k in kept[: len(row)]] == [value not in dropped for value in row]
        assert not kept[len(row) :].any()


def test_sas_at_the_papers_share():
    confidence = np.array([[-3.0, -1.0, -2.0, -0.5]] * 2)
    keep = select_steps(confidence, np.ones((2, 4)), np.array([1.0, 0.0]))
    assert keep.tolist() == [[0, 1, 0, 1], [1, 1, 1, 0]]
    with pytest.raises(ConfigError):
        select_steps(confidence, np.ones((2, 4)), np.array([1.0, 0.0]), share=1.5)


# CalibAdv, arXiv:2604.18235


def test_known_right_steps_of_a_failed_rollout_lose_their_penalty():
    found = both(calibrate_negatives, [[-2.0], [1.5]], [[0.0, 0.25, 1.0], [1.0, 0.0, 0.5]])
    assert found.tolist() == [[-2.0, -1.5, 0.0], [1.5, 1.5, 1.5]]
    with pytest.raises(ConfigError):
        calibrate_negatives(np.zeros((1, 1)), np.array([[1.5]]))


_ADVANTAGES = st.just(0.0) | st.floats(1e-6, 3) | st.floats(-3, -1e-6)


@given(st.lists(st.tuples(st.integers(0, 2), _ADVANTAGES, _ADVANTAGES), min_size=1, max_size=8))
def test_positive_and_negative_parts_are_made_equal_by_group(rows):
    advantages = [[a, b, 7.0] for _, a, b in rows]
    groups = [float(g) for g, _, _ in rows]
    mask = [[1.0, 1.0, 0.0]] * len(rows)
    found = both(lambda *a: rebalance(*a, target=2.0), advantages, groups, mask)
    assert (found[:, 2] == 7.0).all()
    for group in set(groups):
        own = [v for row, g in zip(found[:, :2].tolist(), groups) if g == group for v in row]
        before = [v for row, g in zip(advantages, groups) if g == group for v in row[:2]]
        plus, minus = (math.fsum(v for v in own if s * v > 0) for s in (1, -1))
        if any(v > 1e-9 for v in before) and any(v < -1e-9 for v in before):
            assert -minus == pytest.approx(2.0 * plus)
        if any(v > 0 for v in before) and any(v < 0 for v in before):
            assert [v for v in own if v < 0] == [v for v in before if v < 0]
        else:
            assert own == [0.0] * len(own)


# CSPO (MERA), arXiv:2508.04460


def test_control_segments_are_normalised_by_place_and_the_rest_is_left_alone():
    rewards = [[9.0, 1.0, 9.0, 0.0], [9.0, 0.0, 1.0, 9.0], [9.0, 0.5, math.nan, 9.0]]
    control = [[0.0, 1, 0, 1], [0.0, 1, 1, 0], [0.0, 1, 1, 0]]
    found = both(control_advantages, rewards, [0.0, 0.0, 0.0], control)
    firsts = [1.0, 0.0, 0.5]
    mean, deviation = statistics.mean(firsts), statistics.stdev(firsts) + 1e-4
    assert found[:, 1].tolist() == pytest.approx([(r - mean) / deviation for r in firsts])
    seconds = [0.0, 1.0]  # the third is undecided
    mean, deviation = 0.5, statistics.stdev(seconds) + 1e-4
    assert [found[0, 3], found[1, 2], found[2, 2]] == pytest.approx(
        [-0.5 / deviation, 0.5 / deviation, 0.0]
    )
    assert not found[:, 0].any()
    assert found[0, 2] == found[1, 3] == 0.0
    with pytest.raises(ConfigError):
        control_advantages(np.zeros((1, 2)), np.zeros(1), np.zeros((1, 3)))


def test_one_reward_a_row_is_grpo_on_the_control_tokens():
    rewards, groups = [1.0, 0.0, 0.5, 0.25], [0.0, 0.0, 0.0, 1.0]
    control = [[0.0, 1, 0, 1], [1.0, 0, 1, 0], [0.0, 0, 1, 1], [1.0, 1, 0, 0]]
    found = both(control_advantages, [[r] * 4 for r in rewards], groups, control)
    mean, deviation = statistics.mean(rewards[:3]), statistics.stdev(rewards[:3]) + 1e-4
    for row, reward, mask in zip(found[:3].tolist(), rewards, control):
        assert row == pytest.approx([m * (reward - mean) / deviation for m in mask])
    assert not found[3].any()


# RLCM, arXiv:2604.23333


@given(st.lists(st.tuples(st.floats(0, 1), st.sampled_from([0.0, 0.4, 1.0, None])), max_size=8))
def test_the_margin_is_the_difference_of_two_means(cuts):
    sound = [c for c, s in cuts if s == 1.0]
    lost = [c for c, s in cuts if s == 0.0]
    found = confidence_margin([c for c, _ in cuts], [s for _, s in cuts])
    if sound and lost:
        assert found == pytest.approx(statistics.mean(sound) - statistics.mean(lost), abs=1e-9)
    else:
        assert found == 0.0
    assert -1 <= found <= 1


def test_one_sided_completions_may_count_by_their_confidence():
    assert confidence_margin([0.9, 0.7], [1, 1], one_sided="confidence") == pytest.approx(0.8)
    assert confidence_margin([0.3, 0.1], [0, 0], one_sided="confidence") == pytest.approx(0.8)
    assert confidence_margin([0.3], [None], one_sided="confidence") == 0.0
    for arguments in [([0.5], []), ([1.5], [1.0]), ([0.5], [2.0])]:
        with pytest.raises(ConfigError):
            confidence_margin(*arguments)
    with pytest.raises(ConfigError):
        confidence_margin([], [], one_sided="half")


# LearNAT, arXiv:2504.02327


@given(st.lists(st.none() | st.floats(0, 1), max_size=6), st.floats(0, 1))
def test_pairs_are_all_that_differ_by_more_than_the_least(scores, least):
    found = preference_pairs(scores, least=least)
    known = [(i, s) for i, s in enumerate(scores) if s is not None]
    wanted = {(i, j) for i, a in known for j, b in known if a - b > least}
    assert {(pair.chosen, pair.rejected) for pair in found} == wanted
    assert len(found) == len(wanted)
    assert all(p.margin == scores[p.chosen] - scores[p.rejected] > least for p in found)
    assert [p.margin for p in found] == sorted((p.margin for p in found), reverse=True)


@given(st.floats(-30, 30), st.floats(0.01, 1), st.floats(0.05, 2), st.floats(0, 3))
def test_the_margin_loss_is_that_of_torch(log_ratio, margin, beta, alpha):
    logit = torch.tensor(beta * log_ratio - alpha * math.log(margin), dtype=torch.float64)
    expected = -torch.nn.functional.logsigmoid(logit).item()
    assert margin_loss(log_ratio, margin, beta=beta, alpha=alpha) == pytest.approx(expected)


def test_the_margin_loss_is_dpos_where_margins_do_not_count():
    for h in (-2.0, 0.0, 5.0):
        plain = math.log(1 + math.exp(-0.1 * h))
        assert margin_loss(h, 1.0) == pytest.approx(plain)
        assert margin_loss(h, 0.3, alpha=0.0) == pytest.approx(plain)
        # By hand: sigma(0.1 h - log m) = 1 / (1 + m exp(-0.1 h)).
        assert margin_loss(h, 0.3) == pytest.approx(math.log(1 + 0.3 * math.exp(-0.1 * h)))


@pytest.mark.parametrize("bad", [{"margin": 0.0}, {"margin": 1.5}, {"beta": 0.0}, {"alpha": -1.0}])
def test_a_margin_outside_its_range_is_named(bad):
    with pytest.raises(ConfigError, match=next(iter(bad))):
        margin_loss(1.0, **{"margin": 0.5, **bad})
    with pytest.raises(ConfigError, match="least"):
        preference_pairs([], least=-1.0)


# IBPO, arXiv:2605.16302


def test_failed_rollouts_that_a_sibling_helps_are_worth_more():
    asked = []

    def revise(row, siblings):
        asked.append((row, tuple(siblings)))
        return {1: 1.0, 2: 0.0, 4: None}[row]

    rewards = [1.0, 0.0, 0.0, None, 0.0, 0.0]
    gains = revision_gains(list("abcdef"), rewards, [0, 0, 0, 0, 0, 1], revise)
    assert gains == [0.0, 0.5, 0.0, 0.0, 0.0, 0.0]
    assert asked[0] == (1, (0, 2))  # the correct sibling comes first; row 5 has none
    assert counterfactual_rewards(rewards, gains) == [1.0, 0.3, 0.0, None, 0.0, 0.0]
    for call in [
        lambda: counterfactual_rewards([1.0], []),
        lambda: counterfactual_rewards([1.0], [2.0]),
        lambda: revision_gains(["a"], [], [], revise),
        lambda: revision_gains(["a"], [0.0], [0], revise, siblings=0),
    ]:
        with pytest.raises(ConfigError):
            call()


def distance(one, two):
    """Levenshtein, by the recursion of its definition."""
    if not one or not two:
        return len(one) + len(two)
    if one[-1] == two[-1]:
        return distance(one[:-1], two[:-1])
    return 1 + min(distance(one[:-1], two), distance(one, two[:-1]), distance(one[:-1], two[:-1]))


@given(st.text("abc", max_size=6), st.text("abc", max_size=6))
def test_what_is_unchanged_is_a_common_subsequence_of_a_shortest_alignment(one, two):
    changed = changed_tokens(one, two)
    kept = [c for c, new in zip(two, changed) if not new]
    left = iter(one)
    assert all(c in left for c in kept)
    # What is not kept is deleted, put in, or exchanged: at least the longer remainder.
    assert max(len(one), len(two)) - len(kept) <= distance(one, two)
    assert not any(changed) or one != two
    with pytest.raises(ConfigError):
        changed_tokens(range(3000), range(3000))


# PRIME, arXiv:2502.01456


def prime_by_loops(rewards, outcomes, groups, lengths, gamma):
    means = [sum(row[:n]) / n if n else 0.0 for row, n in zip(rewards, lengths)]
    found = []
    for i, (row, n) in enumerate(zip(rewards, lengths)):
        others = [j for j, g in enumerate(groups) if g == groups[i] and j != i] or [i]
        process = sum(means[j] for j in others) / len(others)
        outcome = sum(outcomes[j] for j in others) / len(others)
        found.append(
            [
                sum(gamma ** (s - t) * (row[s] - process) for s in range(t, n))
                + outcomes[i]
                - outcome
                for t in range(n)
            ]
        )
    return found


@pytest.mark.parametrize("gamma", [1.0, 0.9])
def test_prime_advantages_are_the_double_loop(gamma):
    rng = random.Random(0)
    lengths, groups = [3, 1, 4, 2, 3], [0.0, 0.0, 0.0, 1.0, 2.0]
    rewards = [[rng.gauss(0, 1) for _ in range(4)] for _ in lengths]
    mask = [[float(t < n) for t in range(4)] for n in lengths]
    outcomes = [1.0, 0.0, 0.0, 1.0, 0.0]
    wanted = prime_by_loops(rewards, outcomes, groups, lengths, gamma)
    plain = both(
        lambda *a: prime_advantages(*a, gamma=gamma, whiten=False), rewards, outcomes, groups, mask
    )
    for row, own, n in zip(plain.tolist(), wanted, lengths):
        assert row == pytest.approx(own + [0.0] * (4 - n))
    flat = [v for own in wanted for v in own]
    white = both(lambda *a: prime_advantages(*a, gamma=gamma), rewards, outcomes, groups, mask)
    assert white[0, 0] == pytest.approx(
        (wanted[0][0] - statistics.mean(flat)) / statistics.stdev(flat), rel=1e-6
    )
    with pytest.raises(ConfigError):
        prime_advantages(*map(np.asarray, (rewards, outcomes, groups, mask)), gamma=2.0)


def test_implicit_rewards_and_their_loss_by_hand():
    logps, reference = [[-1.0, -2.0, -math.inf]], [[-1.5, -1.0, 0.0]]
    mask, outcome = [[1.0, 1.0, 0.0]], [1.0]
    rewards = both(lambda *a: implicit_rewards(*a, beta=0.1), logps, reference, mask)
    assert rewards[0].tolist() == pytest.approx([0.05, -0.1, 0.0])
    loss = both(implicit_loss, rewards.tolist(), mask, outcome)
    total = 0.05 - 0.1
    assert loss[0] == pytest.approx(-math.log(1 / (1 + math.exp(-total))))
    huge = both(implicit_loss, [[1e4], [-1e4]], [[1.0], [1.0]], [0.0, 0.0])
    assert huge.tolist() == [1e4, 0.0]


# Redundancy, arXiv:2605.23926 and arXiv:2508.02178


@given(st.integers(1, 20), st.data())
def test_rho_is_the_tail_that_is_not_needed(count, data):
    needed = data.draw(st.integers(0, count))
    steps = Segmentation.from_steps(["s"] * count, joiner="|")
    asked = []

    def right(prefix):
        asked.append(prefix)
        return prefix.count("s") >= needed

    assert truncation_redundancy(steps, right) == pytest.approx(1 - needed / count)
    assert len(asked) <= count
    asked.clear()
    assert truncation_redundancy(steps, right, monotone=True) == pytest.approx(1 - needed / count)
    assert len(asked) <= math.ceil(math.log2(count + 1))


def test_rho_without_steps_or_without_decisions():
    steps = Segmentation.from_steps(["a", "b"])
    assert truncation_redundancy(Segmentation("", (0,)), lambda prefix: True) is None
    assert truncation_redundancy(steps, lambda prefix: None) == 0.0


def test_internal_redundancy_is_the_mean_cosine_of_neighbours():
    rng = random.Random(1)
    rows = [[rng.gauss(0, 1) for _ in range(5)] for _ in range(6)]
    array = np.array(rows)
    unit = array / np.linalg.norm(array, axis=1, keepdims=True)
    wanted = np.clip((unit[:-1] * unit[1:]).sum(1), 0, None).mean()
    assert internal_redundancy(rows) == pytest.approx(float(wanted))
    assert internal_redundancy([[1.0, 0.0]] * 3) == 1.0
    assert internal_redundancy([[1.0]]) == internal_redundancy([]) == 0.0
    assert internal_redundancy([[0.0], [1.0]]) == 0.0
    with pytest.raises(ConfigError):
        internal_redundancy([[1.0], [1.0, 2.0]])


def test_external_redundancy_is_what_follows_the_answer():
    steps = by_sentence("We add. It is 42. Let me check. Yes.")
    share = external_redundancy(steps, lambda sentence: "42" in sentence)
    assert share == pytest.approx(len(" Let me check. Yes.") / len(steps.text))
    assert external_redundancy(steps, lambda sentence: False) == 0.0


@given(st.floats(0, 1), st.floats(0, 1), st.floats(0, 0.2))
def test_the_redundancy_reward_falls_in_both_and_is_0_for_a_wrong_answer(internal, external, more):
    def s(x):
        return 1 / (1 + math.exp(-20 * (x - 0.3)))

    value = redundancy_reward(True, internal, external)
    wanted = (s(1 - internal) - s(0)) / (s(1) - s(0)) * (1 - external)
    assert value == pytest.approx(wanted)
    assert -1e-12 <= value <= 1 + 1e-12
    assert redundancy_reward(True, min(internal + more, 1), external) <= value + 1e-12
    assert redundancy_reward(True, internal, min(external + more, 1)) <= value + 1e-12
    assert redundancy_reward(False, internal, external) == 0.0
    with pytest.raises(ConfigError):
        redundancy_reward(True, 1.5, 0.0)
