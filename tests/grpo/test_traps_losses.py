"""What goes wrong in trainers, with the number that is right: ratios, clips, KL, baselines."""

import itertools
import math

import pytest

from tests._needs import needs

torch = needs("torch")

from rewardkit.advantages import AdvantageStage, compare_advantages, estimate_advantages
from rewardkit.noise import Channel, NoiseCorrection, Rates
from rewardkit_grpo.aggregation import StepTotals
from rewardkit_grpo.divergence import kl_estimate, kl_loss
from rewardkit_grpo.importance import importance_weights
from rewardkit_grpo.losses import LOSSES, LossInputs, LossOptions, policy_loss


def slope(name, ratio, advantage, **options):
    """dL/dlog pi of one token whose ratio is given."""
    logps = torch.tensor([[math.log(ratio)]], dtype=torch.float64, requires_grad=True)
    one = torch.ones(1, 1, dtype=torch.float64)
    inputs = LossInputs(logps, torch.zeros_like(one), advantage * one, one, 2 * one)
    found = policy_loss(name, inputs, totals=StepTotals(1, 1, 1), options=LossOptions(**options))
    found.loss.backward()
    return float(logps.grad)


@pytest.mark.parametrize("name", sorted(set(LOSSES) - {"pgbc", "pgfc"}))
def test_09_at_ratio_one_every_loss_has_the_gradient_of_reinforce(name):
    logps = torch.randn(3, 4, dtype=torch.float64, requires_grad=True)
    mask = torch.tensor([[1, 1, 1, 1], [1, 1, 0, 0], [1, 0, 0, 0]], dtype=torch.float64)
    advantages = torch.tensor([[1.0], [-2.0], [0.5]], dtype=torch.float64).expand(3, 4)
    inputs = LossInputs(logps, logps.detach(), advantages, mask, torch.ones(3, 1))
    totals = StepTotals.of(mask, max_tokens=4)
    found = policy_loss(name, inputs, totals=totals)
    (actual,) = torch.autograd.grad(found.loss, logps)
    aggregation = LOSSES[name].aggregation
    plain = policy_loss("reinforce", inputs, totals=totals, aggregation=aggregation)
    (expected,) = torch.autograd.grad(plain.loss, logps)
    if name == "quatro":  # the ratio of a whole row: each of its tokens has the row's gradient
        expected = -advantages * mask / 3
    torch.testing.assert_close(actual, expected)
    assert float(found.clipped.sum()) == 0


POLICY = torch.tensor([0.5, 0.2, 0.2, 0.1], dtype=torch.float64)
REFERENCE = torch.tensor([0.25, 0.25, 0.3, 0.2], dtype=torch.float64)


def test_11_kl_values_by_enumeration():
    gap = POLICY.log() - REFERENCE.log()
    exact = float((POLICY * gap).sum())
    mean = {
        name: float((POLICY * kl_estimate(POLICY.log(), REFERENCE.log(), name)).sum())
        for name in ("k1", "k2", "k3")
    }
    assert mean["k1"] == pytest.approx(exact, abs=1e-15)
    assert mean["k3"] == pytest.approx(exact, abs=1e-15)
    assert abs(mean["k2"] - exact) > 1e-3
    assert kl_estimate(POLICY.log(), REFERENCE.log(), "k3").min() >= 0
    assert kl_estimate(POLICY.log(), REFERENCE.log(), "k1").min() < 0


def kl_gradient(term):
    """The gradient by the logits of E_old[term], where old is the policy itself."""
    logits = POLICY.log().clone().requires_grad_()
    logps = torch.log_softmax(logits, -1)
    (POLICY * term(logps)).sum().backward()
    return logits.grad


def test_12_kl_as_a_loss_term_has_the_gradient_of_the_kl():
    logits = POLICY.log().clone().requires_grad_()
    logps = torch.log_softmax(logits, -1)
    (logps.exp() * (logps - REFERENCE.log())).sum().backward()
    exact = logits.grad

    def error(term):
        return float((kl_gradient(term) - exact).norm() / exact.norm())

    ref = REFERENCE.log()
    assert error(lambda logps: kl_loss(logps, POLICY.log(), ref)) < 1e-12
    assert error(lambda logps: kl_estimate(logps, ref, "k2")) < 1e-12
    assert float(kl_gradient(lambda logps: kl_estimate(logps, ref, "k1")).norm()) < 1e-12
    assert error(lambda logps: kl_estimate(logps, ref, "k3")) > 0.1
    # k3 alone is the gradient of the forward KL(ref || pi).
    logits = POLICY.log().clone().requires_grad_()
    (REFERENCE * (ref - torch.log_softmax(logits, -1))).sum().backward()
    torch.testing.assert_close(
        kl_gradient(lambda logps: kl_estimate(logps, ref, "k3")), logits.grad
    )


def test_13_a_group_whose_rewards_are_alike_teaches_nothing():
    alike = [float(torch.tensor(0.1, dtype=torch.float32))] * 8
    for eps in (1e-4, 1e-8, 0.0):
        found = estimate_advantages(alike, ["a"] * 8, estimator="group_z", eps=eps)
        assert max(map(abs, found.values)) == 0.0
        assert found.zero_groups == {"a"}


def test_14_sample_and_population_deviation():
    rewards, groups = [1.0, *[0.0] * 7], ["a"] * 8
    sample = estimate_advantages(rewards, groups, estimator="group_z", std="sample")
    population = estimate_advantages(rewards, groups, estimator="group_z", std="population")
    assert sample.values[0] == pytest.approx(2.474, abs=1e-3)
    assert population.values[0] == pytest.approx(2.645, abs=1e-3)


def expected_gradient(estimator):
    """E over all groups of three draws of sum(A grad log pi) / 3, by the logits."""
    rewards = [1.0, 0.0, 0.0, 0.3]
    total = torch.zeros(4, dtype=torch.float64)
    for draw in itertools.product(range(4), repeat=3):
        found = estimate_advantages(
            [rewards[i] for i in draw], ["a"] * 3, estimator=estimator
        ).values
        for action, advantage in zip(draw, found):
            score = -POLICY.clone()
            score[action] += 1
            total += POLICY[list(draw)].prod() * advantage * score / 3
    return total


def test_15_only_leave_one_out_has_the_true_gradient():
    rewards = torch.tensor([1.0, 0.0, 0.0, 0.3], dtype=torch.float64)
    exact = POLICY * (rewards - (POLICY * rewards).sum())

    def scale(estimator):
        found = expected_gradient(estimator)
        return float(found @ exact / (exact @ exact))

    assert scale("leave_one_out") == pytest.approx(1.0, abs=1e-12)
    torch.testing.assert_close(expected_gradient("leave_one_out"), exact)
    assert scale("mean") == pytest.approx(2 / 3, abs=1e-12)
    assert abs(scale("group_z") - 1) > 0.1


@pytest.mark.parametrize(
    ("advantage", "ratio", "options", "expected"),
    [
        (1.0, 1.25, {"eps_high": 0.28}, -1.25),
        (1.0, 1.25, {"eps_high": 0.20}, 0.0),
        (-1.0, 0.75, {}, 0.0),
        (-1.0, 0.85, {}, 0.85),
        (-1.0, 5.0, {}, 5.0),
        (-1.0, 5.0, {"delta": 4.0}, 0.0),
    ],
)
def test_16_where_the_clip_stops_the_gradient(advantage, ratio, options, expected):
    assert slope("dapo", ratio, advantage, **options) == pytest.approx(expected)


def test_18_gspo_has_one_ratio_a_sequence_and_equal_token_gradients():
    gap = torch.tensor([[0.1, -0.2, 0.05, -0.1]], dtype=torch.float64)
    logps = gap.clone().requires_grad_()
    mask = torch.ones_like(gap)
    inputs = LossInputs(logps, torch.zeros_like(gap), mask, mask)
    found = policy_loss("gspo", inputs, totals=StepTotals.of(mask))
    found.loss.backward()
    assert -found.loss.item() == pytest.approx(0.96319, abs=1e-5)
    assert torch.allclose(logps.grad, torch.full_like(gap, -math.exp(-0.0375) / 4))


def test_19_cispo_keeps_a_bounded_gradient_where_ppo_has_none():
    assert slope("cispo", 10.0, 1.0, ratio_max=5.0) == pytest.approx(-5.0)
    assert slope("grpo", 10.0, 1.0) == 0.0


def test_20_importance_weights_make_up_for_the_sampler():
    sampler, value = REFERENCE, torch.tensor([-1.0, 0.2, -3.0, 2.0], dtype=torch.float64)
    mask = torch.ones(4, 1, dtype=torch.float64)

    def expectation(**options):
        weights = importance_weights(POLICY.log()[:, None], sampler.log()[:, None], mask, **options)
        return float((sampler * weights[:, 0] * value).sum())

    exact = float((POLICY * value).sum())
    free = math.inf
    assert expectation(correction="token_truncate", largest=free) == pytest.approx(exact)
    assert expectation(correction="sequence_mask", largest=free) == pytest.approx(exact)
    assert abs(expectation(correction="none") - exact) > 0.05
    assert abs(expectation(correction="token_truncate", largest=1.5) - exact) > 0.05


def test_20_a_sequence_weight_is_the_product_over_its_tokens():
    logps = torch.tensor([[0.1, -0.3, 5.0]])
    mask = torch.tensor([[1.0, 1.0, 0.0]])
    found = importance_weights(logps, torch.zeros(1, 3), mask, correction="sequence_truncate")
    assert torch.allclose(found, torch.full((1, 3), math.exp(-0.2)))


def test_20_a_masked_weight_leaves_out_what_is_above_the_bound():
    found = importance_weights(
        torch.tensor([[0.5, 1.0, 5.0]]),
        torch.zeros(1, 3),
        torch.tensor([[1.0, 1.0, 0.0]]),
        correction="token_mask",
        largest=2.0,
    )
    assert found[0].tolist() == pytest.approx([math.exp(0.5), 0.0, 1.0])


def test_23_a_correction_is_seen_to_act_and_a_cancelled_one_is_seen_not_to():
    rewards = [1.0, 0.0, 0.0, 1.0, 1.0, 1.0, 0.0, 0.0]
    groups = ["a"] * 4 + ["b"] * 4
    channel = Channel(
        Rates.exact(0.1, 0.1),
        {"sure": Rates.exact(0.0, 0.0), "poor": Rates.exact(0.3, 0.3)},
        stratified_by=("source",),
    )
    columns = {"source": ["sure"] * 4 + ["poor"] * 4}
    plain = AdvantageStage("leave_one_out")(rewards, groups)
    corrected = AdvantageStage(NoiseCorrection("backward", channel))(
        rewards, groups, columns=columns
    )
    difference = compare_advantages(corrected, plain)
    assert difference.mean > 0.1
    assert difference.cosine < 0.999
    forward = AdvantageStage(NoiseCorrection("forward", Rates.exact(0.0, 0.3)))(rewards, groups)
    assert compare_advantages(forward, plain).cosine < 0.999
    noisy = estimate_advantages(rewards, groups, estimator="group_z", eps=0)
    affine = [(r - 0.1) / 0.6 for r in rewards]
    cancelled = estimate_advantages(affine, groups, estimator="group_z", eps=0)
    assert compare_advantages(cancelled, noisy).maximum < 1e-12


def test_24_groups_are_by_id_and_not_by_place():
    rewards = [1.0, 0.0, 0.5, 0.0, 1.0, 1.0]
    groups = ["a", "a", "a", "b", "b", "b"]
    order = [3, 0, 5, 2, 4, 1]
    plain = estimate_advantages(rewards, groups).values
    moved = estimate_advantages([rewards[i] for i in order], [groups[i] for i in order]).values
    assert moved == [plain[i] for i in order]


def test_25_a_missing_reward_is_in_no_baseline_and_teaches_nothing():
    found = estimate_advantages([1.0, None, 0.0, 0.0], ["a"] * 4)
    assert found.values[1] == 0.0
    assert found.values[0] == pytest.approx(1.0)
    assert found.decided == [True, False, True, True]
    assert all(map(math.isfinite, found.values))
