"""What compares completions: confidence, votes, diversity, pass rates."""

import math
from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rewardkit.errors import ConfigError
from rewardkit.shaping import (
    EllipticalBonus,
    HitRate,
    MajorityLabel,
    NeighbourDistance,
    SelfConfidence,
    Solvability,
    answer_confidence,
    answer_key,
    elliptical_bonus,
    hit_signal,
    preferences,
)
from tests._needs import needs

gaps = st.lists(st.floats(0, 1), min_size=1, max_size=5)


@given(gaps=gaps)
def test_confidence_is_the_mean_gap(gaps):
    assert answer_confidence(gaps) == pytest.approx(sum(gaps) / len(gaps))


@given(batch=st.lists(gaps, min_size=2, max_size=8))
def test_a_rank_is_scipys_on_0_to_1(batch):
    stats = needs("scipy.stats")
    sure = [answer_confidence(one) for one in batch]
    wanted = (stats.rankdata(sure) - 1) / (len(batch) - 1)
    found = SelfConfidence()([""] * len(batch), prompt=["p"] * len(batch), answer_gaps=batch)
    assert found == pytest.approx(list(wanted))
    assert SelfConfidence(kind="value")(
        [""] * len(batch), prompt=["p"] * len(batch), answer_gaps=batch
    ) == pytest.approx(sure)


@given(batch=st.lists(gaps, min_size=1, max_size=6), more=st.floats(0, 1))
def test_being_surer_never_lowers_the_rank(batch, more):
    def rank(first):
        rows = [first, *batch[1:]]
        return SelfConfidence()([""] * len(rows), prompt=[1] * len(rows), answer_gaps=rows)[0]

    assert rank(batch[0]) <= rank([gap + (1 - gap) * more for gap in batch[0]]) + 1e-12


def test_what_was_not_computed_ranks_nowhere():
    found = SelfConfidence()(
        [""] * 4, prompt=["p", "p", "p", "q"], answer_gaps=[[0.9], None, [0.2], [0.3]]
    )
    assert found == [1.0, None, 0.0, 0.5]


@given(values=st.lists(st.none() | st.sampled_from([0.1, 0.2, 0.9]), max_size=8), data=st.data())
def test_a_preference_is_the_best_over_the_worst_of_a_group(values, data):
    groups = data.draw(st.lists(st.sampled_from("pq"), min_size=len(values), max_size=len(values)))
    pairs = preferences(values, groups, margin=0.3)
    for group in "pq":
        own = [v for v, g in zip(values, groups) if g == group and v is not None]
        mine = [pair for pair in pairs if groups[pair.chosen] == group]
        if own and max(own) - min(own) > 0.3:
            assert [(values[p.chosen], values[p.rejected]) for p in mine] == [(max(own), min(own))]
            assert groups[mine[0].rejected] == group
        else:
            assert mine == []


# Votes

votes = st.lists(st.sampled_from(["It is 4.", "It is 5.", "It is 6.", "No idea."]), min_size=1,
                 max_size=12)  # fmt: skip


@given(texts=votes)
def test_the_majority_by_a_counter(texts):
    counts = Counter(key for text in texts if (key := answer_key(text)) is not None)
    found = MajorityLabel()(texts, prompt=["p"] * len(texts))
    most = max(counts.values(), default=0)
    label = min((key for key, count in counts.items() if count == most), default=None)
    assert found == [float(label is not None and answer_key(text) == label) for text in texts]


@given(texts=votes)
def test_another_vote_for_an_answer_never_lowers_it(texts):
    before = MajorityLabel()(texts, prompt=["p"] * len(texts))
    after = MajorityLabel()([*texts, texts[0]], prompt=["p"] * (len(texts) + 1))
    assert before[0] <= after[0]


def balanced(keys, keep):
    """DDRL's selection as its published code has it, on counts."""
    counts = Counter(key for key in keys if key is not None)
    most = max(counts.values(), default=0)
    ordered = sorted((counts[key] if key is not None else 0 for key in keys), reverse=True)
    high = min(most, keep // 2)
    return ordered[:high] + ordered[-(keep - high) :]


@given(texts=votes, keep=st.integers(2, 12))
def test_the_band_is_ddrls_selection(texts, keep):
    keys = [answer_key(text) for text in texts]
    counts = Counter(key for key in keys if key is not None)
    found = MajorityLabel(keep=keep)(texts, prompt=["p"] * len(texts))
    kept = [counts[k] if k is not None else 0 for k, v in zip(keys, found) if v is not None]
    if keep >= len(texts):
        assert len(kept) == len(texts)
    else:
        assert sorted(kept) == sorted(balanced(keys, keep))


@given(texts=votes, low=st.floats(0, 1), width=st.floats(0, 1))
def test_a_group_outside_of_the_band_of_agreement_is_left_out(texts, low, width):
    high = min(1.0, low + width)
    counts = Counter(key for text in texts if (key := answer_key(text)) is not None)
    share = max(counts.values(), default=0) / len(texts)
    found = MajorityLabel(agreement=(low, high))(texts, prompt=["p"] * len(texts))
    assert (None not in found) == (low <= share <= high)


def test_fixed_advantages_are_plus_and_minus_1():
    from rewardkit.advantages import estimate_advantages

    texts = ["It is 4."] * 3 + ["It is 5.", "It is 6.", "No idea."]
    shaper = MajorityLabel(agree=1.0, differ=-1.0, keep=4)
    found = shaper(texts, prompt=["p"] * 6)
    assert sorted(found[:3], key=str) == [1.0, 1.0, None]
    advantages = estimate_advantages(found, ["p"] * 6, estimator="none")
    assert advantages.values == [value or 0.0 for value in found]


def test_answers_are_compared_as_the_key_says():
    texts = [r"\boxed{1/2}", r"\boxed{ 1 / 2 }", r"\boxed{0.5}"]
    assert MajorityLabel()(texts, prompt=["p"] * 3) == [1.0, 1.0, 0.0]
    assert MajorityLabel(key=len)(["a", "b", "cc"], prompt=["p"] * 3) == [1.0, 1.0, 0.0]


# Diversity

vectors = st.lists(st.integers(-3, 3).map(float), min_size=3, max_size=3)


@given(vector=vectors, others=st.lists(vectors, max_size=5), ridge=st.floats(0.1, 10))
def test_the_elliptical_bonus_is_the_inverse_of_numpy(vector, others, ridge):
    np = needs("numpy")
    matrix = ridge * np.eye(3) + sum(
        (np.outer(o, o) for o in map(np.array, others)), np.zeros((3, 3))
    )
    wanted = np.array(vector) @ np.linalg.inv(matrix) @ np.array(vector)
    assert elliptical_bonus(vector, others, ridge=ridge) == pytest.approx(wanted, abs=1e-9)


@given(vector=vectors, others=st.lists(vectors, max_size=4), other=vectors)
def test_having_seen_more_never_raises_the_bonus(vector, others, other):
    before = elliptical_bonus(vector, others)
    assert elliptical_bonus(vector, [*others, other]) <= before + 1e-9


@given(batch=st.lists(vectors, min_size=1, max_size=5))
def test_the_group_bonus_leaves_each_row_out_by_sherman_and_morrison(batch):
    np = needs("numpy")
    units = [np.array(v) / (np.linalg.norm(v) or 1) for v in batch]
    whole = np.eye(3) + sum(np.outer(u, u) for u in units)
    found = EllipticalBonus()([""] * len(batch), prompt=["p"] * len(batch), features=batch)
    for unit, value in zip(units, found):
        if not unit.any():
            assert value is None
            continue
        leverage = unit @ np.linalg.solve(whole, unit)
        assert value == pytest.approx(leverage / (1 - leverage))


@given(batch=st.lists(vectors, min_size=1, max_size=5), pool=st.lists(vectors, max_size=3),
       near=st.integers(1, 4))  # fmt: skip
def test_neighbour_distance_is_the_published_partition(batch, pool, near):
    np = needs("numpy")

    def units(rows):
        rows = np.array(rows).reshape(-1, 3)
        return rows / np.maximum(np.linalg.norm(rows, axis=1, keepdims=True), 1e-300)

    batch = [v if any(v) else [1.0, 0.0, 0.0] for v in batch]
    pool = [v for v in pool if any(v)]
    own = units(batch) @ units(batch).T
    np.fill_diagonal(own, -np.inf)
    every = np.concatenate([own, units(batch) @ units(pool).T], axis=1)
    shaper = NeighbourDistance(neighbours=near, group=None, pool=tuple(map(tuple, pool)))
    found = shaper([""] * len(batch), features=batch)
    for row, value in zip(every, found):
        k = min(near, int(np.isfinite(row).sum()))
        best = np.partition(row, -k)[-k:] if k else np.array([-1.0])
        assert value == pytest.approx((1 - best.mean()) / 2, abs=1e-9)


def test_vectors_may_be_arrays_tensors_or_made_of_the_texts():
    np, torch = needs("numpy"), needs("torch")
    rows = [[1.0, 0.0], [0.0, 1.0]]
    for features in (rows, list(np.array(rows)), list(torch.tensor(rows))):
        found = EllipticalBonus()(["a", "b"], prompt=["p"] * 2, features=features)
        assert found == [1.0, 1.0]
    shaper = NeighbourDistance(embed=lambda rows: [[len(row.text), 1.0] for row in rows])
    assert shaper(["a", "b"], prompt=["p"] * 2) == pytest.approx([0.0, 0.0])


@pytest.mark.parametrize("bad", [None, [0.0, 0.0], [math.nan, 1.0], [math.inf, 1.0]])
def test_a_row_without_a_direction_has_no_value_and_is_nobodys_neighbour(bad):
    for shaper in (EllipticalBonus(), NeighbourDistance()):
        found = shaper([""] * 3, prompt=["p"] * 3, features=[[1.0, 0.0], bad, [0.0, 1.0]])
        alone = shaper([""] * 2, prompt=["p"] * 2, features=[[1.0, 0.0], [0.0, 1.0]])
        assert found == [alone[0], None, alone[1]]


@pytest.mark.parametrize("features", [[[1.0], [1.0, 2.0]], ["ab", "cd"], [7, 7]])
def test_vectors_that_cannot_be_are_refused(features):
    with pytest.raises(ConfigError, match="vector"):
        EllipticalBonus()(["", ""], prompt=["p"] * 2, features=features)


# Pass rates


@given(right=st.lists(st.booleans(), min_size=1, max_size=12))
def test_the_variance_signal_is_four_times_that_of_the_scores(right):
    np = needs("numpy")
    scores = [float(one) for one in right]
    found = HitRate()([""] * len(right), prompt=["p"] * len(right), correct=scores)
    assert found == pytest.approx([4 * np.var(scores)] * len(right))


RATES = [step / 40 for step in range(41)]


def test_signals_rise_and_fall_as_documented():
    for signal in ("variance", "frontier"):
        values = [hit_signal(rate, signal) for rate in RATES]
        assert values[:21] == sorted(values[:21])
        assert values[20:] == sorted(values[20:], reverse=True)
        assert (values[0], values[20], values[40]) == (0.0, 1.0, 0.0)
    hard = [hit_signal(rate, "hard") for rate in RATES]
    assert hard[0] == hard[-1] == 0
    assert hard[1:] == sorted(hard[1:], reverse=True)
    assert [hit_signal(rate, "rate") for rate in RATES] == RATES
    band = [hit_signal(rate, "band", (0.25, 0.75)) for rate in RATES]
    assert band == [float(0.25 < rate < 0.75) for rate in RATES]


def test_a_group_signal_is_gone_after_a_baseline_and_not_in_a_product():
    from rewardkit.advantages import estimate_advantages

    correct, groups = [1.0, 0.0, 0.0, 0.0], ["p"] * 4
    signal = HitRate()([""] * 4, prompt=groups, correct=correct)
    alone = estimate_advantages(correct, groups)
    added = estimate_advantages([c + s for c, s in zip(correct, signal)], groups)
    times = estimate_advantages([c * s for c, s in zip(correct, signal)], groups)
    assert added.values == pytest.approx(alone.values)
    assert times.values == pytest.approx([0.75 * value for value in alone.values])


def opensir(rate, low, high, samples):
    """The difficulty score of OpenSIR's published code."""
    valid = [s for s in (i / samples for i in range(1, samples + 1)) if low <= s <= high]
    if rate < low or rate > high:
        return 0.0
    middle = (low + high) / 2
    distance = abs(rate - middle) / (middle - low)
    return 1.0 - (1.0 - 1.0 / len(valid)) * distance


@given(rate=st.floats(0, 1), low=st.floats(0, 0.5), width=st.floats(0.2, 0.5))
def test_solvability_is_opensirs(rate, low, width):
    shaper = Solvability(low=low, high=low + width, samples=8)
    wanted = opensir(rate, low, low + width, 8)
    assert shaper([""], solve_rate=[rate]) == pytest.approx([wanted])


def test_solvability_rises_to_the_middle_and_falls_from_there():
    values = Solvability(low=0.2, high=0.8)([""] * 41, solve_rate=RATES)
    assert values[:21] == sorted(values[:21])
    assert values[20:] == sorted(values[20:], reverse=True)
    assert values[20] == 1.0


@pytest.mark.parametrize(
    ("kind", "options"),
    [
        (SelfConfidence, {"kind": "mean"}),
        (MajorityLabel, {"agree": 0.0, "differ": 1.0}),
        (MajorityLabel, {"keep": 1}),
        (MajorityLabel, {"agreement": (0.9, 0.1)}),
        (MajorityLabel, {"agreement": (0.9,)}),
        (EllipticalBonus, {"ridge": 0.0}),
        (NeighbourDistance, {"neighbours": 0}),
        (HitRate, {"signal": "best"}),
        (HitRate, {"band": (0.5, 0.1)}),
        (Solvability, {"low": 0.9, "high": 0.1}),
        (Solvability, {"low": 0.51, "high": 0.59, "samples": 8}),
    ],
)
def test_an_option_that_cannot_be_is_refused(kind, options):
    with pytest.raises(ConfigError):
        kind(**options)


def test_gaps_outside_of_0_to_1_are_refused():
    for bad in ([1.5], ["a"], "ab"):
        with pytest.raises(ConfigError, match="gaps"):
            SelfConfidence()([""], prompt=["p"], answer_gaps=[bad])
