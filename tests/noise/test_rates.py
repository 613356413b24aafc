"""Error rates from labels: uniform, by verdict, by stratum, planned, and as a file."""

import math
import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rewardkit.errors import ConfigError, DataError
from rewardkit.noise import (
    Audit,
    Channel,
    Estimate,
    Rates,
    estimate_channel,
    estimate_rates,
    labels_for_half_width,
    labels_to_show_below,
    logit_rates,
    measure_spread,
    plan_audit,
    pool_partially,
)
from tests._needs import needs


def audit_by_verdict(chance, *, pass_rate, rho0, rho1, rows, each):
    """Draws a world of rows, and labels `each` accepted and `each` rejected ones of it."""
    cells = {(v, t): 0 for v in (0, 1) for t in (0, 1)}
    for _ in range(rows):
        right = chance.random() < pass_rate
        accepted = chance.random() < (1 - rho1 if right else rho0)
        cells[accepted, right] += 1
    drawn = {}
    for verdict in (0, 1):
        truths = [1] * cells[verdict, 1] + [0] * cells[verdict, 0]
        drawn[verdict] = sum(chance.sample(truths, each))
    return Audit(
        accepted_right=drawn[1],
        accepted_wrong=each - drawn[1],
        rejected_right=drawn[0],
        rejected_wrong=each - drawn[0],
        accepted_total=cells[1, 0] + cells[1, 1],
        rejected_total=cells[0, 0] + cells[0, 1],
    )


def test_a_uniform_audit_gives_plain_shares():
    rates = estimate_rates(Audit(90, 4, 10, 96))
    assert (rates.rho0.value, rates.rho1.value) == (0.04, 0.1)
    assert rates.rho0.low == pytest.approx(0.0156636, abs=1e-6)  # Wilson, 4 of 100
    assert rates.j == pytest.approx(0.86)


def test_an_audit_of_every_row_by_verdict_is_the_uniform_one():
    whole = estimate_rates(Audit(90, 4, 10, 96))
    parts = estimate_rates(Audit(90, 4, 10, 96, accepted_total=94, rejected_total=106))
    assert parts.rho0.value == pytest.approx(whole.rho0.value)
    assert parts.rho1.value == pytest.approx(whole.rho1.value)


def test_verdict_shares_are_what_turns_one_probability_into_the_other():
    # 1,000 rows: 400 right of which 300 pass, 600 wrong of which 60 pass. A tenth is labelled.
    rates = estimate_rates(Audit(30, 6, 10, 54, accepted_total=360, rejected_total=640))
    assert rates.rho0.value == pytest.approx(0.1)
    assert rates.rho1.value == pytest.approx(0.25)


def test_the_delta_method_has_the_slope_of_the_formula():
    audit = Audit(600, 100, 150, 650, accepted_total=3_000, rejected_total=9_000)
    [fp, _] = logit_rates(audit)
    q, ppv, f = 3000.5 / 12_001, 600.5 / 701, 150.5 / 801

    def formula(q, ppv, f):
        rho0 = q * (1 - ppv) / (q * (1 - ppv) + (1 - q) * (1 - f))
        return math.log(rho0 / (1 - rho0))

    variances = (q * (1 - q) / 12_001, ppv * (1 - ppv) / 701, f * (1 - f) / 801)
    h, slopes = 1e-6, []
    for i in range(3):
        up, down = [q, ppv, f], [q, ppv, f]
        up[i] += h
        down[i] -= h
        slopes.append((formula(*up) - formula(*down)) / (2 * h))
    variance = sum(s * s * v for s, v in zip(slopes, variances))
    assert fp.centre == pytest.approx(formula(q, ppv, f), abs=1e-9)
    assert fp.variance == pytest.approx(variance, rel=1e-6)


@pytest.mark.parametrize("method", ["wilson", "jeffreys", "clopper_pearson"])
def test_intervals_by_verdict_hold_the_true_rates(method):
    chance, hits, worlds = random.Random(8), [0, 0], 150
    for _ in range(worlds):
        audit = audit_by_verdict(chance, pass_rate=0.4, rho0=0.05, rho1=0.15, rows=3000, each=150)
        rates = estimate_rates(audit, method=method)
        hits[0] += rates.rho0.low <= 0.05 <= rates.rho0.high
        hits[1] += rates.rho1.low <= 0.15 <= rates.rho1.high
    floor = 0.98 if method == "clopper_pearson" else 0.91
    assert min(hits) / worlds >= floor
    assert method != "wilson" or max(hits) < worlds


def test_delta_and_posterior_agree_where_there_is_much_data():
    audit = Audit(1800, 200, 300, 1700, accepted_total=30_000, rejected_total=50_000)
    delta, posterior = (estimate_rates(audit, method=m) for m in ("wilson", "jeffreys"))
    for one, other in ((delta.rho0, posterior.rho0), (delta.rho1, posterior.rho1)):
        assert one.low == pytest.approx(other.low, rel=0.02)
        assert one.high == pytest.approx(other.high, rel=0.02)


@pytest.mark.parametrize("method", ["wilson", "jeffreys", "clopper_pearson"])
@given(
    counts=st.tuples(*[st.integers(0, 40)] * 4).filter(
        lambda c: c[0] + c[1] and c[2] + c[3] and c[0] + c[2] and c[1] + c[3]
    ),
    more=st.tuples(st.integers(0, 1000), st.integers(0, 1000)),
)
def test_every_audit_with_both_truths_gives_ordered_estimates(method, counts, more):
    totals = (counts[0] + counts[1] + more[0], counts[2] + counts[3] + more[1])
    for audit in (Audit(*counts), Audit(*counts, *totals)):
        rates = estimate_rates(audit, method=method)
        assert -1 <= rates.j_low <= rates.j <= rates.j_high


@pytest.mark.parametrize(
    ("audit", "words"),
    [
        (Audit(5, 0, 5, 0), "no wrong row"),
        (Audit(0, 5, 0, 5), "no right row"),
        (Audit(5, 5, 0, 0, 10, 10), "accepted and of rejected"),
    ],
)
def test_what_an_audit_cannot_say_is_refused(audit, words):
    with pytest.raises(ConfigError, match=words):
        estimate_rates(audit)


@pytest.mark.parametrize("counts", [(-1, 0, 0, 0), (5, 5, 5, 5, 9, 10), (5, 5, 5, 5, 20, None)])
def test_impossible_counts_are_refused(counts):
    with pytest.raises(ConfigError):
        Audit(*counts)


def test_the_interval_of_j_holds_it_as_often_as_it_says():
    chance, hits = random.Random(3), 0
    for _ in range(300):
        fp = sum(chance.random() < 0.1 for _ in range(120))
        fn = sum(chance.random() < 0.3 for _ in range(80))
        rates = estimate_rates(Audit(80 - fn, fp, fn, 120 - fp))
        hits += rates.j_low <= 0.6 <= rates.j_high
    assert 0.92 <= hits / 300 <= 0.985


def test_the_spread_between_strata_is_that_of_statsmodels():
    np = needs("numpy")
    meta = needs("statsmodels.stats.meta_analysis")
    audits = [Audit(90, 5, 10, 80), Audit(50, 9, 40, 60), Audit(70, 2, 3, 30)]
    column = [logit_rates(audit)[1] for audit in audits]
    theirs = meta.combine_effects(
        np.array([one.centre for one in column]),
        np.array([one.variance for one in column]),
        method_re="dl",
    )
    mine = measure_spread(column)
    assert mine.variance == pytest.approx(theirs.tau2)
    assert mine.q == pytest.approx(theirs.q)
    assert mine.p_value == pytest.approx(theirs.test_homogeneity().pvalue)
    assert mine.mean == pytest.approx(theirs.mean_effect_re)


def test_strata_that_do_not_differ_are_pooled_and_those_that_do_stay_apart():
    alike = pool_partially({"a": Audit(90, 5, 10, 95), "b": Audit(88, 6, 12, 94)})
    assert alike["a"].rho1.value == pytest.approx(alike["b"].rho1.value)
    apart = pool_partially({"a": Audit(950, 50, 50, 950), "b": Audit(550, 50, 450, 950)})
    assert apart["a"].rho1.value == pytest.approx(0.05, abs=0.005)
    assert apart["b"].rho1.value == pytest.approx(0.45, abs=0.005)
    assert apart["a"].rho0.value == pytest.approx(apart["b"].rho0.value)


def test_a_small_stratum_borrows_and_a_large_one_does_not():
    audits = {
        "large": Audit(1900, 50, 100, 950),
        "other": Audit(700, 50, 300, 950),
        "small": Audit(2, 0, 2, 4),
    }
    rates = pool_partially(audits)
    assert rates["large"].rho1.value == pytest.approx(0.05, abs=0.005)
    assert 0.15 < rates["small"].rho1.value < 0.5


def test_a_stratum_without_labels_gets_the_mean_and_moves_nothing():
    audits = {"a": Audit(95, 5, 5, 95), "b": Audit(70, 5, 30, 95)}
    before = pool_partially(audits)
    after = pool_partially({**audits, "empty": Audit(), "no right one": Audit(0, 1, 0, 9)})
    for name in audits:
        assert after[name].rho1 == before[name].rho1
    assert before["a"].rho1.value < after["empty"].rho1.value < before["b"].rho1.value
    assert after["empty"].rho1.high > before["b"].rho1.high
    assert after["empty"].rho1 == after["no right one"].rho1
    alone = pool_partially({"a": audits["a"], "empty": Audit()})
    assert alone["empty"].rho0.value == pytest.approx(alone["a"].rho0.value)
    with pytest.raises(ConfigError, match="label more rows"):
        pool_partially({"x": Audit(1, 0, 1, 0), "y": Audit(1, 0, 1, 0)})


def test_partial_pooling_is_nearer_the_truth_than_either_extreme():
    chance = random.Random(11)
    errors = {"own": 0.0, "one": 0.0, "pooled": 0.0}
    for _ in range(60):
        truths = {str(k): chance.uniform(0.05, 0.35) for k in range(8)}
        audits = {}
        for name, rate in truths.items():
            missed = sum(chance.random() < rate for _ in range(25))
            audits[name] = Audit(25 - missed, 2, missed, 23)
        pooled = pool_partially(audits)
        total = sum(a.rejected_right for a in audits.values()) / (25 * len(audits))
        for name, rate in truths.items():
            errors["own"] += (audits[name].rejected_right / 25 - rate) ** 2
            errors["one"] += (total - rate) ** 2
            errors["pooled"] += (pooled[name].rho1.value - rate) ** 2
    assert errors["pooled"] < min(errors["own"], errors["one"])


def test_a_channel_warns_where_strata_differ_and_where_nothing_is_known():
    strata = {"boxed": Audit(95, 5, 5, 95), "prose": Audit(55, 5, 45, 95)}
    whole = strata["boxed"] + strata["prose"]
    channel = estimate_channel(whole, strata, stratified_by=("format",))
    assert [w.partition(" ")[0] for w in channel.warnings] == ["rho1"]
    assert channel.rates_for("boxed").rho1.value < 0.1 < channel.rates_for("prose").rho1.value
    assert channel.rates_for("unheard of") is channel.rates
    coin = estimate_channel(Audit(11, 10, 9, 10))
    assert "J" in coin.warnings[0]


def test_unpooled_strata_that_cannot_be_estimated_are_named():
    strata = {"boxed": Audit(95, 5, 5, 95), "prose": Audit(5, 0, 5, 0)}
    channel = estimate_channel(strata["boxed"] + strata["prose"], strata, pooled=False)
    assert set(channel.strata) == {"boxed"}
    assert any("'prose'" in w for w in channel.warnings)


def test_a_channel_is_read_back_as_it_was_written(tmp_path):
    strata = {"boxed": Audit(95, 5, 5, 95, 500, 500), "prose": Audit(55, 5, 45, 95, 200, 400)}
    whole = strata["boxed"] + strata["prose"]
    channel = estimate_channel(whole, strata, stratified_by=("format",), confidence=0.9)
    channel.save(tmp_path / "noise.json")
    assert Channel.load(tmp_path / "noise.json") == channel


@pytest.mark.parametrize(
    "text",
    [
        "",
        "[]",
        "{}",
        '{"format": "rewardkit-noise-1"}',
        '{"format": "rewardkit-noise-1", "confidence": 0.95, "rho0": {"value": 2, "low": 0,'
        ' "high": 3}, "rho1": {"value": 0, "low": 0, "high": 1}}',
        '{"format": "rewardkit-noise-1", "confidence": 0.95, "strata": []}',
    ],
)
def test_a_file_that_holds_no_rates_is_named(tmp_path, text):
    path = tmp_path / "noise.json"
    path.write_text(text)
    with pytest.raises(DataError, match=r"noise\.json"):
        Channel.load(path)
    with pytest.raises(DataError, match=r"other\.json"):
        Channel.load(tmp_path / "other.json")


@pytest.mark.parametrize(("method", "theirs"), [("wilson", "wilson"), ("clopper_pearson", "beta")])
@pytest.mark.parametrize("rate", [0.01, 0.05, 0.2, 0.5])
def test_the_planned_count_is_the_first_that_is_enough(method, theirs, rate):
    proportion = needs("statsmodels.stats.proportion")

    def half(n):
        low, high = proportion.proportion_confint(rate * n, n, method=theirs)
        return (high - low) / 2

    needed = labels_for_half_width(rate, method=method)
    assert half(needed) <= 0.02 < half(needed - 1)


def test_labels_to_show_a_bound_follow_the_closed_form_without_errors():
    for bound in (0.01, 0.02, 0.1):
        assert labels_to_show_below(bound) == math.ceil(math.log(0.05) / math.log(1 - bound))
    assert labels_to_show_below(0.02, errors=2) > labels_to_show_below(0.02, errors=1)


@pytest.mark.parametrize(
    ("pass_rate", "rho0", "rho1"), [(0.5, 0.05, 0.1), (0.2, 0.03, 0.2), (0.8, 0.1, 0.05)]
)
def test_a_planned_audit_reaches_its_half_width(pass_rate, rho0, rho1):
    accept = pass_rate * (1 - rho1) + (1 - pass_rate) * rho0
    plan = plan_audit(accept_rate=accept, rho0=rho0, rho1=rho1, half_width=0.03)
    ppv, missed = pass_rate * (1 - rho1) / accept, pass_rate * rho1 / (1 - accept)
    audit = Audit(
        round(plan.accepted * ppv),
        round(plan.accepted * (1 - ppv)),
        round(plan.rejected * missed),
        round(plan.rejected * (1 - missed)),
        round(1e6 * accept),
        round(1e6 * (1 - accept)),
    )
    rates = estimate_rates(audit)
    halves = [(one.high - one.low) / 2 for one in (rates.rho0, rates.rho1)]
    assert max(halves) == pytest.approx(0.03, rel=0.06)
    assert plan.labels < plan.uniform


def test_a_plan_that_contradicts_itself_is_refused():
    with pytest.raises(ConfigError, match="between rho0 and 1 - rho1"):
        plan_audit(accept_rate=0.02, rho0=0.1, rho1=0.1)
    with pytest.raises(ConfigError):
        plan_audit(accept_rate=0.5, rho0=0.1, rho1=0.1, half_width=0)
    with pytest.raises(ConfigError):
        labels_to_show_below(0)


def test_an_estimate_holds_its_value():
    with pytest.raises(ConfigError):
        Estimate(0.5, 0.6, 0.7)
    assert Rates.exact(0.1, 0.2).j_low == pytest.approx(0.7)
