"""Implicit process rewards: a log-ratio of two policies as a reward of every token (PRIME)."""

from rewardkit.advantages.arrays import Array, masked_mean, namespace
from rewardkit.errors import ConfigError

__all__ = ["implicit_loss", "implicit_rewards", "prime_advantages"]


def implicit_rewards(
    logps: Array, reference_logps: Array, mask: Array, *, beta: float = 0.05
) -> Array:
    """Returns (B, T) r_t = beta (log pi_phi - log pi_ref), 0 where masked (arXiv:2502.01456).

    As in the released code of PRIME, `prime_core_algos.py`; the paper's equation numbers could not
    be had.

    Args:
        logps: (B, T) of the implicit reward model.
        reference_logps: (B, T) of its reference.
        mask: (B, T) 1 where a token counts.
        beta: 0.05 in the paper's code.
    """
    xp = namespace(logps)
    return xp.where(mask != 0, beta * (logps - reference_logps), xp.zeros_like(logps))


def implicit_loss(rewards: Array, mask: Array, outcomes: Array) -> Array:
    """Returns (B,) the cross-entropy of sigmoid(sum of token rewards) with the outcome.

    As in PRIME's released code, `compute_ce_dpo_loss_rm`, without its mean over the batch.

    Args:
        rewards: (B, T) of `implicit_rewards`.
        mask: (B, T).
        outcomes: (B,) in [0, 1].
    """
    xp = namespace(rewards)
    total = xp.where(mask != 0, rewards, xp.zeros_like(rewards)).sum(1)
    # log(1 + e^-|x|) + max(x, 0) - x y, which holds for large |x| too.
    softplus = xp.log1p(xp.exp(-xp.abs(total)))
    return softplus + xp.where(total > 0, total, xp.zeros_like(total)) - total * outcomes


def prime_advantages(
    rewards: Array,
    outcomes: Array,
    groups: Array,
    mask: Array,
    *,
    gamma: float = 1.0,
    whiten: bool = True,
) -> Array:
    """Returns (B, T) advantages from token rewards and outcomes, each with its own baseline.

    A_t = sum_(s >= t) gamma^(s-t) (r_s - mean of the others' mean token reward)
        + outcome - mean of the others' outcomes,
    with a leave-one-out baseline each, then, as PRIME's code does, whitened over all tokens. That
    code takes n / (n - 1) r_s less the sum of all means over n - 1, which differs from this by
    (r_s - own mean) / (n - 1); for outcomes both are the same. A row alone in its group has a
    baseline of its own mean, so it gets no outcome term.

    Args:
        rewards: (B, T) of `implicit_rewards`.
        outcomes: (B,).
        groups: (B,) integer ids.
        mask: (B, T).
        gamma: discount by token of the process part, in [0, 1].
        whiten: to mean 0 and deviation 1 over the tokens that count.

    Raises:
        ConfigError: gamma is outside [0, 1].
    """
    if not 0 <= gamma <= 1:
        raise ConfigError(f"gamma is in [0, 1], not {gamma!r}")
    xp = namespace(rewards)
    zeros = xp.zeros_like(rewards)
    inside = mask != 0
    process = _leave_one_out(masked_mean(rewards, mask), groups)
    gaps = xp.where(inside, rewards - process[:, None], zeros)
    result = zeros + 0.0
    running = xp.zeros_like(outcomes + rewards[:, 0])
    for t in range(rewards.shape[1] - 1, -1, -1):
        running = gaps[:, t] + gamma * running
        result[:, t] = running
    outcome = outcomes - _leave_one_out(outcomes, groups)
    result = xp.where(inside, result + outcome[:, None], zeros)
    if not whiten:
        return result
    kept = result[inside]
    if kept.shape[0] < 2:
        return zeros
    spread = xp.sqrt(((kept - kept.mean()) ** 2).sum() / (kept.shape[0] - 1))
    return xp.where(inside, (result - kept.mean()) / (spread + 1e-8), zeros)


def _leave_one_out(values: Array, groups: Array) -> Array:
    """Returns (B,) the mean of the other rows of the group; the row's own where it is alone."""
    xp = namespace(values)
    ones = xp.ones_like(values)
    same = xp.where(
        groups[:, None] == groups[None, :], ones[None, :], xp.zeros_like(values)[None, :]
    )
    count = same.sum(1)
    total = (same * values[None, :]).sum(1)
    return xp.where(count > 1, (total - values) / xp.where(count > 1, count - 1, ones), values)
