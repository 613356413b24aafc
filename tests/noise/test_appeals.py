"""Rates while training runs, and the pass rate behind noisy verdicts."""

import numpy as np
import pytest

from rewardkit.errors import ConfigError
from rewardkit.noise import (
    AppealsEstimator,
    Audit,
    Estimate,
    Rates,
    TwoSidedAudit,
    estimate_rates,
    prediction_powered_pass_rate,
    rogan_gladen,
)

PASS, SHARE, ROLLOUTS = 0.4, 0.1, 1024


def simulate(seed, steps, *, rho0, rho1, judge=None):
    """Yields the counts of each training step; the judge errs by its own rates."""
    rng = np.random.default_rng(seed)
    fp, fn = (0.0, 0.0) if judge is None else (judge.rho0.value, judge.rho1.value)

    def check(right, wrong):
        seen_right, seen_wrong = rng.binomial(right, SHARE), rng.binomial(wrong, SHARE)
        found = rng.binomial(seen_right, 1 - fn) + rng.binomial(seen_wrong, fp)
        return int(seen_right + seen_wrong), int(found)

    for _ in range(steps):
        right = rng.binomial(ROLLOUTS, PASS)
        hit, hacked = rng.binomial(right, 1 - rho1), rng.binomial(ROLLOUTS - right, rho0)
        yield {
            "accepted": int(hit + hacked),
            "rejected": int(ROLLOUTS - hit - hacked),
            "of_accepted": check(hit, hacked),
            "of_rejected": check(right - hit, ROLLOUTS - right - hacked),
        }


def appeals(steps, **options):
    """Returns the estimate after each step, the first fifty left out."""
    estimator, seen = AppealsEstimator(share=SHARE, **options), []
    for step in steps:
        appealed, flipped = step["of_rejected"]
        estimator = estimator.update(accepted=step["accepted"], appealed=appealed, flipped=flipped)
        seen.append(estimator.rho1)
    return np.array(seen[50:])


def two_sided(steps, **options):
    audit, seen = TwoSidedAudit(**options), []
    for step in steps:
        audit = audit.update(
            accepted=step["accepted"],
            rejected=step["rejected"],
            checked_accepted=step["of_accepted"][0],
            right_accepted=step["of_accepted"][1],
            checked_rejected=step["of_rejected"][0],
            right_rejected=step["of_rejected"][1],
        )
        seen.append(audit)
    return [audit.rates() for audit in seen[50:]]


def test_one_step_is_the_published_formula():
    found = AppealsEstimator(share=0.1, decay=0.5).update(accepted=80, appealed=10, flipped=2)
    first = (20 + 1e-5) / (20 + 80 + 2e-5)
    assert found.rho1 == pytest.approx(first)
    again = found.update(accepted=100, appealed=10, flipped=0)
    assert again.rho1 == pytest.approx(0.5 * first + 0.5 * 1e-5 / 100, rel=1e-6)


def test_appeals_find_the_rate_of_a_verifier_that_accepts_nothing_wrong():
    assert appeals(simulate(1, 600, rho0=0.0, rho1=0.2)).mean() == pytest.approx(0.2, abs=0.008)


def test_appeals_are_low_where_wrong_rollouts_pass_and_a_two_sided_audit_is_not():
    seen = appeals(simulate(2, 600, rho0=0.3, rho1=0.2))
    assert seen.mean() < 0.15  # accepted wrong ones are counted as right
    audits = two_sided(simulate(2, 600, rho0=0.3, rho1=0.2))
    assert np.mean([one.rho1.value for one in audits]) == pytest.approx(0.2, abs=0.01)
    assert np.mean([one.rho0.value for one in audits]) == pytest.approx(0.3, abs=0.01)


def test_a_judges_own_errors_are_corrected_by_its_rates():
    judge = Rates.exact(0.1, 0.05)
    counts = list(simulate(3, 600, rho0=0.1, rho1=0.2, judge=judge))
    naive = two_sided(counts)
    corrected = two_sided(counts, judge=judge)
    assert abs(np.mean([one.rho1.value for one in naive]) - 0.2) > 0.04
    assert np.mean([one.rho1.value for one in corrected]) == pytest.approx(0.2, abs=0.012)
    assert np.mean([one.rho0.value for one in corrected]) == pytest.approx(0.1, abs=0.012)


def test_a_judges_errors_are_corrected_in_appeals_too():
    judge = Rates.exact(0.0, 0.3)
    counts = list(simulate(4, 600, rho0=0.0, rho1=0.2, judge=judge))
    assert appeals(counts).mean() < 0.16
    assert appeals(counts, judge=judge).mean() == pytest.approx(0.2, abs=0.01)


@pytest.mark.parametrize("judge", [None, Rates.exact(0.05, 0.1)])
def test_intervals_of_the_two_sided_audit_hold_the_rates(judge):
    hits = np.zeros(2)
    for seed in range(150):
        rates = two_sided(
            simulate(seed, 51, rho0=0.1, rho1=0.2, judge=judge), decay=0.95, judge=judge
        )[-1]
        hits += [
            rates.rho0.low <= 0.1 <= rates.rho0.high,
            rates.rho1.low <= 0.2 <= rates.rho1.high,
        ]
    assert (hits / 150 >= 0.9).all()
    assert (hits / 150 < 1).any()


def test_counts_fade_so_that_a_change_is_followed():
    counts = [*simulate(5, 200, rho0=0.05, rho1=0.1), *simulate(6, 200, rho0=0.05, rho1=0.4)]
    rates = two_sided(counts, decay=0.95)
    assert rates[100].rho1.value == pytest.approx(0.1, abs=0.04)
    assert rates[-1].rho1.value == pytest.approx(0.4, abs=0.06)


@pytest.mark.parametrize(
    "make",
    [
        lambda: AppealsEstimator(share=0),
        lambda: AppealsEstimator(decay=1),
        lambda: AppealsEstimator(alpha=0),
        lambda: AppealsEstimator(judge=Rates.exact(0.5, 0.5)),
        lambda: AppealsEstimator().update(accepted=1, appealed=1, flipped=2),
        lambda: TwoSidedAudit(decay=-0.1),
        lambda: TwoSidedAudit().rates(),
        lambda: TwoSidedAudit().update(
            accepted=1, rejected=1, checked_accepted=2, right_accepted=1,
            checked_rejected=1, right_rejected=1,
        ),
        lambda: TwoSidedAudit().update(
            accepted=9, rejected=9, checked_accepted=2, right_accepted=2,
            checked_rejected=2, right_rejected=2,
        ).rates(),
    ],
)  # fmt: skip
def test_what_cannot_be_is_refused(make):
    with pytest.raises(ConfigError):
        make()


def draw(rng, rows, labels, *, pass_rate, rho0, rho1):
    """Returns a uniform audit, and the verdicts' count on the rows without a label."""

    def counts(n):
        right = rng.binomial(n, pass_rate)
        hit, hacked = rng.binomial(right, 1 - rho1), rng.binomial(n - right, rho0)
        return int(hit), int(hacked), int(right - hit), int(n - right - hacked)

    hit, hacked, *_ = counts(rows - labels)
    return Audit(*counts(labels)), hit + hacked


@pytest.mark.parametrize("world", [{"pass_rate": 0.4, "rho0": 0.05, "rho1": 0.2}])
def test_both_pass_rates_are_unbiased_cover_and_beat_labels_alone(world):
    rng, rows, labels, repeats = np.random.default_rng(6), 20_000, 500, 250
    found = {"rogan_gladen": [], "powered": [], "labels": []}
    for _ in range(repeats):
        audit, accepted = draw(rng, rows, labels, **world)
        rates = estimate_rates(audit)
        everyone = accepted + audit.accepted_labelled
        found["rogan_gladen"].append(rogan_gladen(everyone, rows, rates))
        found["powered"].append(prediction_powered_pass_rate(audit, accepted, rows - labels))
        share = audit.right / labels
        found["labels"].append(Estimate.exact(share))
    errors = {
        name: np.array([one.value - world["pass_rate"] for one in column])
        for name, column in found.items()
    }
    for name, gain in (("rogan_gladen", 0.95), ("powered", 0.75)):
        covered = np.mean([one.low <= world["pass_rate"] <= one.high for one in found[name]])
        assert abs(errors[name].mean()) < 0.004
        assert 0.91 <= covered <= 0.99
        assert errors[name].std() < gain * errors["labels"].std()


def test_a_perfect_verifier_is_taken_at_its_word():
    found = rogan_gladen(300, 1000, Rates.exact(0.0, 0.0))
    assert found.value == pytest.approx(0.3)
    powered = prediction_powered_pass_rate(Audit(30, 0, 0, 70), 3000, 10_000)
    assert powered.value == pytest.approx(0.3, abs=0.001)


def test_a_useless_verifier_leaves_the_labels_alone():
    found = prediction_powered_pass_rate(Audit(20, 20, 20, 20), 5000, 10_000)
    assert found.value == pytest.approx(0.5)
    assert (found.high - found.low) / 2 == pytest.approx(1.96 * (0.25 / 80) ** 0.5, rel=1e-3)


@pytest.mark.parametrize(
    "make",
    [
        lambda: rogan_gladen(5, 4, Rates.exact(0, 0)),
        lambda: rogan_gladen(0, 0, Rates.exact(0, 0)),
        lambda: rogan_gladen(5, 10, Rates.exact(0.6, 0.5)),
        lambda: prediction_powered_pass_rate(Audit(1, 0, 0, 0), 5, 10),
        lambda: prediction_powered_pass_rate(Audit(5, 5, 5, 5, 10, 10), 5, 10),
        lambda: prediction_powered_pass_rate(Audit(5, 5, 5, 5), 11, 10),
    ],
)
def test_impossible_pass_rates_are_refused(make):
    with pytest.raises(ConfigError):
        make()
