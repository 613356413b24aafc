"""Direction, length and noise of every estimator by sampling, beside the exact clean gradient."""

import math

import numpy as np
import pytest

from benchmarks._tabular import hackable, heavy, iid, measure, two_verifiers
from benchmarks.noise_direction import ESTIMATORS

GROUPS = 2500
WORLDS = {"iid": iid(), "heavy": heavy(), "two": two_verifiers(), "hackable": hackable()}


@pytest.fixture(scope="module")
def found():
    rng = np.random.default_rng(8)
    batches = {name: world.sample(rng, GROUPS) for name, world in WORLDS.items()}
    return {
        (world, name): measure(batch, estimate(batch))
        for world, batch in batches.items()
        for name, estimate in ESTIMATORS.items()
    }


def expected(world, weights):
    """Returns cosine and length of the clean gradient with each prompt's part weighted."""
    clean = world.clean_gradient()
    parts = (clean**2).sum(1)
    along = (weights * parts).sum() / parts.sum()
    return along / math.sqrt((weights**2 * parts).sum() / parts.sum()), along


def close(one, cosine, length):
    # The mean's error has 48 parts, which all shorten the cosine; 4 errors for the length.
    lost = 1 - one.error**2 * 2
    return cosine * lost - one.error < one.cosine <= 1 and abs(one.scale - length) < 4 * one.error


JS = np.array([WORLDS["two"].channel.strata[s].j for s in WORLDS["two"].strata])


@pytest.mark.parametrize("world", ["iid", "heavy"])
def test_under_one_channel_the_plain_gradient_is_right_but_short(found, world):
    plain = found[world, "noisy, leave-one-out"]
    assert plain.cosine > 0.995
    assert plain.scale == pytest.approx(WORLDS[world].channel.rates.j, abs=4 * plain.error)
    assert found[world, "noisy, z-score"].cosine > 0.995


@pytest.mark.parametrize("world", ["iid", "heavy"])
@pytest.mark.parametrize(
    "name",
    [
        "backward, leave-one-out, one pair of rates",
        "backward, leave-one-out, rates by stratum",
        "forward, one pair of rates",
    ],
)
def test_under_one_channel_a_correction_restores_the_length(found, world, name):
    assert close(found[world, name], 1, 1)


@pytest.mark.parametrize("name", [n for n in ESTIMATORS if "clean" in n or "stratum" in n])
def test_rates_by_stratum_repair_the_direction_where_verifiers_differ(found, name):
    assert close(found["two", name], 1, 1)


@pytest.mark.parametrize(
    ("name", "times"),
    [
        ("noisy, leave-one-out", 1),
        ("backward, leave-one-out, one pair of rates", 1 / WORLDS["two"].channel.rates.j),
        ("forward, centred (refused)", 1),
    ],
)
def test_one_pair_of_rates_leaves_the_direction_of_the_closed_form(found, name, times):
    cosine, length = expected(WORLDS["two"], JS)
    assert 0.8 < cosine < 0.86
    one = found["two", name]
    assert one.cosine == pytest.approx(cosine, abs=one.error)
    assert one.scale == pytest.approx(times * length, abs=4 * one.error)


def test_two_halves_with_j_of_a_fifth_and_one_have_cosine_083():
    weights = np.array([0.2, 1.0])
    assert weights.mean() / math.sqrt((weights**2).mean()) == pytest.approx(0.832, abs=5e-4)


def test_a_hackable_format_leaves_the_direction_wrong_whatever_the_correction(found):
    noisy = [n for n in ESTIMATORS if "clean" not in n]
    cosines = [found["hackable", name].cosine for name in noisy]
    assert max(cosines) < 0.95
    assert found["hackable", "clean, leave-one-out"].cosine > 0.995


@pytest.mark.parametrize("world", WORLDS)
def test_what_is_refused_gives_what_the_plain_estimator_gives(found, world):
    for refused, plain in (
        ("backward, z-score (refused)", "noisy, z-score"),
        ("forward, centred (refused)", "noisy, leave-one-out"),
    ):
        a, b = found[world, refused], found[world, plain]
        assert (a.cosine, a.scale, a.snr) == pytest.approx((b.cosine, b.scale, b.snr), rel=1e-3)


@pytest.mark.parametrize("world", WORLDS)
def test_a_correction_adds_no_signal_and_the_forward_one_loses_some(found, world):
    plain = found[world, "noisy, leave-one-out"].snr
    assert found[world, "backward, leave-one-out, one pair of rates"].snr == pytest.approx(plain)
    assert found[world, "forward, one pair of rates"].snr < 0.9 * plain
