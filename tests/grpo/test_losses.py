"""Each loss has the gradient that its equation says."""

import math

import pytest

from tests._needs import needs

torch = needs("torch")

from rewardkit.errors import ConfigError
from rewardkit_grpo.aggregation import StepTotals, token_weights
from rewardkit_grpo.divergence import distillation_kl, kl_loss
from rewardkit_grpo.losses import LOSSES, LossInputs, LossOptions, policy_loss
from rewardkit_grpo.trust_region import trust_region_multiplier, trust_region_multipliers

OPTIONS = LossOptions(eps_low=0.2, eps_high=0.28, delta=3.0, ratio_max=1.5)


def batch(seed):
    generator = torch.Generator().manual_seed(seed)
    logps = -torch.rand(4, 6, generator=generator, dtype=torch.float64) * 3
    old = logps + 0.4 * torch.randn(4, 6, generator=generator, dtype=torch.float64)
    advantages = torch.randn(4, 6, generator=generator, dtype=torch.float64)
    lengths = torch.tensor([6, 3, 1, 5])
    mask = (torch.arange(6)[None] < lengths[:, None]).double()
    return LossInputs(logps, old, advantages, mask, torch.full((4, 1), 2.0, dtype=torch.float64))


def value(name, inputs):
    totals = StepTotals.of(inputs.mask, max_tokens=6)
    return policy_loss(name, inputs, totals=totals, options=OPTIONS).loss


# What a loss differentiates through; the weight of cispo is a constant, as its equation says.
SMOOTH = sorted(set(LOSSES) - {"cispo", "gspo"})


@pytest.mark.parametrize("name", SMOOTH)
@pytest.mark.parametrize("seed", [0, 1, 2])
def test_the_gradient_is_the_slope_of_the_loss(name, seed):
    inputs = batch(seed)
    logps = inputs.logps.clone().requires_grad_()
    value(name, inputs._replace(logps=logps)).backward()
    step = 1e-6
    for row in range(4):
        for column in range(6):
            moved = [inputs.logps.clone(), inputs.logps.clone()]
            moved[0][row, column] += step
            moved[1][row, column] -= step
            high, low = (float(value(name, inputs._replace(logps=m))) for m in moved)
            slope = (high - low) / (2 * step)
            assert float(logps.grad[row, column]) == pytest.approx(slope, abs=1e-7)


@pytest.mark.parametrize("seed", [0, 1, 2])
def test_gspo_with_equal_advantages_has_the_gradient_of_its_sequence_objective(seed):
    inputs = batch(seed)
    row = inputs.advantages[:, :1]
    logps = inputs.logps.clone().requires_grad_()
    value("gspo", inputs._replace(logps=logps, advantages=row.expand(4, 6))).backward()
    other = inputs.logps.clone().requires_grad_()
    gap = ((other - inputs.old_logps) * inputs.mask).sum(1) / inputs.mask.sum(1)
    ratio = gap.exp()
    own = torch.where(row[:, 0] < 0, ratio.clamp(max=3.0), ratio)
    objective = torch.minimum(own * row[:, 0], ratio.clamp(0.8, 1.28) * row[:, 0])
    (-objective.mean()).backward()
    torch.testing.assert_close(logps.grad, other.grad)


@pytest.mark.parametrize("seed", [0, 1, 2])
def test_cispo_has_the_gradient_of_weighted_reinforce(seed):
    inputs = batch(seed)
    logps = inputs.logps.clone().requires_grad_()
    value("cispo", inputs._replace(logps=logps)).backward()
    ratio = (inputs.logps - inputs.old_logps).exp().clamp(max=1.5)
    expected = -ratio * inputs.advantages * inputs.mask / inputs.mask.sum()
    torch.testing.assert_close(logps.grad, expected)


def test_a_masked_token_may_hold_anything():
    inputs = batch(0)
    broken = inputs.logps.clone()
    broken[2, 1:] = -math.inf
    for name in LOSSES:
        logps = broken.clone().requires_grad_()
        found = value(name, inputs._replace(logps=logps))
        found.backward()
        assert torch.equal(found.detach(), value(name, inputs).detach())
        assert torch.isfinite(logps.grad[inputs.mask > 0]).all()


def test_reinforce_is_the_gradient_of_the_expected_reward_by_enumeration():
    rewards = torch.tensor([1.0, 0.0, 0.3], dtype=torch.float64)
    logits = torch.tensor([0.2, -0.5, 0.9], dtype=torch.float64, requires_grad=True)
    policy = torch.softmax(logits, 0)
    (exact,) = torch.autograd.grad(-(policy * rewards).sum(), logits, retain_graph=True)
    total = torch.zeros(3, dtype=torch.float64)
    one = torch.ones(1, 1, dtype=torch.float64)
    for action in range(3):
        logps = torch.log_softmax(logits, 0)[action].reshape(1, 1)
        inputs = LossInputs(logps, logps.detach(), rewards[action] * one, one)
        loss = policy_loss("reinforce", inputs, totals=StepTotals(1, 1, 1)).loss
        total += policy[action].detach() * torch.autograd.grad(loss, logits)[0]
    torch.testing.assert_close(total, exact)


def quatro_gradient(logits, old, advantages, multiplier):
    """The gradient of E_old[loss] by the logits, over every action."""
    logits = logits.clone().requires_grad_()
    one = torch.ones(3, 1, dtype=torch.float64)
    logps = torch.log_softmax(logits, 0)[:, None]
    inputs = LossInputs(logps, old.log()[:, None], advantages[:, None], one, multiplier * one)
    tokens, _ = LOSSES["quatro"].tokens(inputs, LossOptions())
    (old[:, None] * tokens).sum().backward()
    return logits.grad


def test_quatro_rests_at_the_optimum_of_its_trust_region():
    old = torch.full((3,), 1 / 3, dtype=torch.float64)
    advantages = torch.tensor([1.0, -0.8, -0.2], dtype=torch.float64)
    multiplier = trust_region_multiplier(advantages.tolist(), 0.05)
    best = torch.softmax(advantages / multiplier, 0)
    assert float((best * (best / old).log()).sum()) == pytest.approx(0.05, rel=1e-6)
    at_best = quatro_gradient(best.log(), old, advantages, multiplier)
    assert float(at_best.abs().max()) < 1e-12
    assert float(quatro_gradient(old.log(), old, advantages, multiplier).abs().max()) > 0.01


def test_quatro_multipliers_are_by_group_and_bounded():
    found = trust_region_multipliers([1.0, -1.0, 0.1, -0.1, 0.0], ["a", "a", "b", "b", "c"], 0.02)
    assert found[0] == found[1] > found[2] == found[3] > found[4] > 0
    with pytest.raises(ConfigError, match="trust_region"):
        trust_region_multiplier([1.0], 0.0)


def test_kl_loss_is_exact_after_several_steps_too():
    old = torch.tensor([0.5, 0.2, 0.3], dtype=torch.float64)
    reference = torch.tensor([0.3, 0.3, 0.4], dtype=torch.float64)
    logits = torch.tensor([0.3, -0.2, 0.4], dtype=torch.float64, requires_grad=True)
    logps = torch.log_softmax(logits, 0)
    estimate = (old * kl_loss(logps, old.log(), reference.log())).sum()
    exact = (logps.exp() * (logps - reference.log())).sum()
    torch.testing.assert_close(estimate, exact)
    torch.testing.assert_close(
        *(torch.autograd.grad(term, logits, retain_graph=True)[0] for term in (estimate, exact))
    )


def test_distillation_is_the_kl_over_the_vocabulary():
    student = torch.randn(2, 3, 7, dtype=torch.float64, requires_grad=True)
    teacher = torch.randn(2, 3, 7, dtype=torch.float64)
    found = distillation_kl(student, teacher, temperature=0.7)
    one, two = (torch.distributions.Categorical(logits=x / 0.7) for x in (student, teacher))
    torch.testing.assert_close(found, torch.distributions.kl_divergence(one, two))
    assert float(distillation_kl(teacher, teacher).abs().max()) < 1e-12
    with pytest.raises(ConfigError, match="vocabulary"):
        distillation_kl(student, teacher[..., :5])


def test_weights_of_the_means_add_up_to_one():
    mask = batch(0).mask
    totals = StepTotals.of(mask, max_tokens=6)
    for aggregation in ("sequence_mean", "token_mean", "local_token_mean"):
        assert float(token_weights(aggregation, mask, totals).sum()) == pytest.approx(1.0)
    assert float(token_weights("sequence_sum", mask, totals).sum()) == pytest.approx(15 / 4)
    assert float(token_weights("fixed_length", mask, totals).sum()) == pytest.approx(15 / 24)


def test_unknown_names_are_listed():
    inputs = batch(0)
    with pytest.raises(ConfigError, match="dr_grpo"):
        policy_loss("ppo", inputs, totals=StepTotals.of(inputs.mask))
    with pytest.raises(ConfigError, match="token_mean"):
        token_weights("sum", inputs.mask, StepTotals.of(inputs.mask))
