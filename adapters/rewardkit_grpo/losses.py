"""Policy losses by name, as pure functions of log-probabilities: one number a token.

Each takes what `LossInputs` holds and returns (B, T) losses to be minimised; `policy_loss` weighs
them with `token_weights`, so that micro-batches add up to the step. With A the advantage, pi the
policy that is trained, pi_old the one at the start of the step, r = pi / pi_old:

    name        loss of a token                                   aggregation
    grpo        -min(r A, clip(r, 1 - eps_low, 1 + eps_high) A)   sequence_mean
    bnpo        the same                                          local_token_mean
    dr_grpo     the same                                          fixed_length
    dapo        the same, eps_high > eps_low                      token_mean
    gspo        the same with one ratio a sequence                sequence_mean
    cispo       -sg(min(r, ratio_max)) A log pi                   token_mean
    is_grpo     -r A                                              sequence_mean
    reinforce   -A log pi                                         sequence_sum
    rloo        the same; A is leave-one-out                      sequence_sum
    pgbc, pgfc  the same; A is a coefficient of `stages`          sequence_sum
    quatro      -R A + lam (R log R - R + 1), R by sequence       sequence_mean
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

import torch
from torch import Tensor

from rewardkit.errors import ConfigError
from rewardkit_grpo.aggregation import Aggregation, StepTotals, token_weights

__all__ = ["LOSSES", "LossInputs", "LossOptions", "LossOutput", "PolicyLoss", "policy_loss"]


@dataclass(frozen=True, slots=True, kw_only=True)
class LossOptions:
    """Numbers of the losses; each loss reads its own."""

    eps_low: float = 0.2
    """How far a ratio may fall below 1 before its token stops teaching."""
    eps_high: float | None = None
    """The same above 1; None for `eps_low`. DAPO's clip-higher: 0.28."""
    delta: float | None = None
    """Largest ratio of a token with a negative advantage (arXiv:2505.07291); None for no bound."""
    ratio_max: float = 5.0
    """CISPO's bound on the ratio, as a multiple: 1 + eps_max of the paper."""
    trust_region: float = 0.05
    """QUATRO's bound on KL(pi || pi_old) of a prompt, in nats."""


class LossInputs(NamedTuple):
    """What a loss sees of a micro-batch; all (B, T) but `groups`."""

    logps: Tensor
    """log pi of each completion token, with gradient."""
    old_logps: Tensor
    """log pi_old, without gradient."""
    advantages: Tensor
    """The same in each token of a row, unless credit is by step or token."""
    mask: Tensor
    """1 where a token counts, of the dtype of `logps`."""
    multipliers: Tensor | None = None
    """(B, 1) QUATRO's Lagrange multipliers, by prompt; from `trust_region_multipliers`."""


class LossOutput(NamedTuple):
    """A micro-batch's share of the step's loss."""

    loss: Tensor
    """A scalar; the shares of all micro-batches add up to the step's loss."""
    tokens: Tensor
    """(B, T) unweighted losses."""
    clipped: Tensor
    """(B, T) of 0 and 1: where the clip has stopped the gradient."""


class PolicyLoss(NamedTuple):
    """A loss and the aggregation that belongs to it."""

    tokens: Callable[[LossInputs, LossOptions], tuple[Tensor, Tensor]]
    """Returns (B, T) losses and (B, T) clip marks."""
    aggregation: Aggregation


def policy_loss(
    name: str,
    inputs: LossInputs,
    *,
    totals: StepTotals,
    options: LossOptions | None = None,
    aggregation: Aggregation | None = None,
    weights: Tensor | None = None,
) -> LossOutput:
    """Returns a micro-batch's share of the loss.

    Args:
        name: a key of `LOSSES`.
        inputs: the micro-batch.
        totals: of the whole optimizer step.
        options: the loss's numbers.
        aggregation: in place of the loss's own.
        weights: (B, T) sampler-to-learner importance weights; None for 1.

    Raises:
        ConfigError: there is no such loss or aggregation.
    """
    if name not in LOSSES:
        raise ConfigError(f"no loss is named {name!r}; there are: {', '.join(LOSSES)}")
    loss = LOSSES[name]
    tokens, clipped = loss.tokens(inputs, options or LossOptions())
    if weights is not None:
        tokens = tokens * weights
    scale = token_weights(aggregation or loss.aggregation, inputs.mask, totals)
    # A masked token may hold anything, even inf: it is cut out, not multiplied by 0.
    kept = torch.where(inputs.mask > 0, tokens, 0.0)
    return LossOutput((kept * scale).sum(), kept, torch.where(inputs.mask > 0, clipped, 0.0))


def clipped_loss(inputs: LossInputs, options: LossOptions) -> tuple[Tensor, Tensor]:
    """Returns -min(r A, clip(r) A) by token (PPO, arXiv:1707.06347, equation 7).

    `eps_high` above `eps_low` is DAPO's clip-higher; `delta` holds r where A < 0.
    """
    ratio = (inputs.logps - inputs.old_logps).exp()
    return _clip(ratio, inputs.advantages, options)


def sequence_clipped_loss(inputs: LossInputs, options: LossOptions) -> tuple[Tensor, Tensor]:
    """Returns the clipped loss with one ratio a sequence (GSPO, arXiv:2507.18071, equation 7).

    s = exp(mean over the row's tokens of log pi - log pi_old). Each token carries the value of the
    sequence, and its gradient is spread evenly over the tokens (GSPO-token with equal advantages).
    """
    gap = torch.where(inputs.mask > 0, inputs.logps - inputs.old_logps, 0.0)
    mean = gap.sum(1, keepdim=True) / inputs.mask.sum(1, keepdim=True).clamp(min=1)
    # The value is exp(mean), and the derivative by each token's log pi is that value: with the
    # token weights 1/|o| this is the gradient of s itself.
    ratio = (inputs.logps - inputs.logps.detach() + mean.detach()).exp()
    return _clip(ratio, inputs.advantages, options)


def truncated_weight_loss(inputs: LossInputs, options: LossOptions) -> tuple[Tensor, Tensor]:
    """Returns -sg(min(r, ratio_max)) A log pi (CISPO, arXiv:2506.13585, equation 4).

    A token beyond the bound still teaches, with a bounded weight.
    """
    ratio = (inputs.logps.detach() - inputs.old_logps).exp()
    weight = ratio.clamp(max=options.ratio_max)
    return -weight * inputs.advantages * inputs.logps, (ratio > options.ratio_max).to(ratio)


def importance_loss(inputs: LossInputs, options: LossOptions) -> tuple[Tensor, Tensor]:
    """Returns -r A: the importance-sampled objective with no clip at all."""
    ratio = (inputs.logps - inputs.old_logps).exp()
    return -ratio * inputs.advantages, torch.zeros_like(ratio)


def reinforce_loss(inputs: LossInputs, options: LossOptions) -> tuple[Tensor, Tensor]:
    """Returns -A log pi (Williams 1992): with `sequence_sum` the gradient of -E[R] on policy."""
    return -inputs.advantages * inputs.logps, torch.zeros_like(inputs.logps)


def trust_region_loss(inputs: LossInputs, options: LossOptions) -> tuple[Tensor, Tensor]:
    """Returns -R A + lam (R log R - R + 1) with R the ratio of whole sequences.

    It is the Lagrangian of: maximise E_pi[A] subject to KL(pi || pi_old) <= trust_region, for each
    prompt by itself, which is the problem that QUATRO poses (arXiv:2602.04620). E_old[R log R] is
    that KL, and the terms 1 - R have expectation 0 and make the gradient R (lam log R - A), which
    vanishes exactly at the optimum pi_old exp(A / lam) / Z up to Z. No clip: a sample outside the
    region is pulled back by the log-ratio. Derived from the problem, not from the paper's code.

    Each token carries the value of its row. R is a product over tokens, so many updates from one
    batch of long completions make it large: use few.
    """
    if inputs.multipliers is None:
        raise ConfigError("quatro needs the multipliers of trust_region_multipliers")
    gap = torch.where(inputs.mask > 0, inputs.logps - inputs.old_logps, 0.0)
    log_ratio = gap.sum(1, keepdim=True)
    ratio = log_ratio.exp()
    loss = -ratio * inputs.advantages + inputs.multipliers * (ratio * log_ratio - ratio + 1)
    return loss.expand_as(inputs.logps), torch.zeros_like(inputs.logps)


def _clip(ratio: Tensor, advantages: Tensor, options: LossOptions) -> tuple[Tensor, Tensor]:
    high = options.eps_low if options.eps_high is None else options.eps_high
    free = ratio
    if options.delta is not None:
        free = torch.where(advantages < 0, ratio.clamp(max=options.delta), ratio)
    held = ratio.clamp(1 - options.eps_low, 1 + high)
    loss = -torch.minimum(free * advantages, held * advantages)
    stopped = ((advantages > 0) & (ratio > 1 + high)) | (
        (advantages < 0) & (ratio < 1 - options.eps_low)
    )
    if options.delta is not None:
        stopped = stopped | ((advantages < 0) & (ratio > options.delta))
    return loss, stopped.to(ratio)


LOSSES: dict[str, PolicyLoss] = {
    "grpo": PolicyLoss(clipped_loss, "sequence_mean"),
    "bnpo": PolicyLoss(clipped_loss, "local_token_mean"),
    "dr_grpo": PolicyLoss(clipped_loss, "fixed_length"),
    "dapo": PolicyLoss(clipped_loss, "token_mean"),
    "gspo": PolicyLoss(sequence_clipped_loss, "sequence_mean"),
    "cispo": PolicyLoss(truncated_weight_loss, "token_mean"),
    "is_grpo": PolicyLoss(importance_loss, "sequence_mean"),
    "reinforce": PolicyLoss(reinforce_loss, "sequence_sum"),
    "rloo": PolicyLoss(reinforce_loss, "sequence_sum"),
    "pgbc": PolicyLoss(reinforce_loss, "sequence_sum"),
    "pgfc": PolicyLoss(reinforce_loss, "sequence_sum"),
    "quatro": PolicyLoss(trust_region_loss, "sequence_mean"),
}
"""The losses by name."""
