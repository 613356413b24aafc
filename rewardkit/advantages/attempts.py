"""Several attempts at one task in a row: advantages for success by the K-th, without bias."""

from types import ModuleType

from rewardkit.advantages.arrays import Array, namespace
from rewardkit.errors import ConfigError

__all__ = ["attempt_advantages", "attempt_weights", "verification_at_k"]


def verification_at_k(passed: Array, reached: Array) -> Array:
    """Returns the share of trajectories that succeed by their last attempt: Verification@K.

    Args:
        passed: (N, K) 1 where the attempt passed.
        reached: (N, K) 1 where the attempt was made: all before it failed.
    """
    xp = _checked(passed, reached)
    return xp.where((passed * reached).sum(1) > 0, 1.0, 0.0).mean()


def attempt_weights(passed: Array, reached: Array, *, rates: Array | None = None) -> Array:
    """Returns (N, K) the chance that all later attempts fail, given that this one did.

    Success at attempt i is worth only what the later attempts would not have brought: with p_j the
    success rate of attempt j where it is reached, w_i = prod_(j > i) (1 - p_j), and
    grad Verification@K = E sum_i w_i (r_i - p_i) grad log pi(attempt i). Weighing by the row's own
    later outcomes instead is biased: after a success there are none (CAL-GRPO, arXiv:2604.17912;
    the identity is worked out here from the definition of Verification@K).

    Args:
        passed: (N, K) of one prompt's N trajectories.
        reached: (N, K).
        rates: (K,) known success rates; None to estimate them for each row from the other rows.
            Of the others that failed attempt i, the share that failed all the rest: the product of
            their failure rates. Where no other row failed attempt i there is no estimate: weight 0.
    """
    xp = _checked(passed, reached)
    failed = reached * (1 - passed)
    if rates is not None:
        later = xp.ones_like(passed[0])
        for i in range(passed.shape[1] - 2, -1, -1):
            later[i] = later[i + 1] * (1 - rates[i + 1])
        return later[None, :] * reached
    lost = failed[:, -1]
    others_failed = failed.sum(0)[None, :] - failed
    others_lost = (lost.sum() - lost)[:, None] + xp.zeros_like(failed)
    safe = xp.where(others_failed == 0, xp.ones_like(failed), others_failed)
    share = xp.where(others_failed == 0, xp.zeros_like(failed), others_lost / safe)
    share[:, -1] = 1.0  # nothing comes after the last attempt
    return share * reached


def attempt_advantages(passed: Array, reached: Array, *, rates: Array | None = None) -> Array:
    """Returns (N, K) the advantage of each attempt for Verification@K; 0 where it was not made.

    w_i (r_i - b_i), with w_i of `attempt_weights` and b_i the success rate of attempt i: the known
    one, or the mean over the other rows that reached it. An attempt that no other row reached gets
    0, as in the paper, so that rare late attempts teach a little less than they should.

    Args:
        passed: as above.
        reached: as above.
        rates: as above.
    """
    xp = _checked(passed, reached)
    weights = attempt_weights(passed, reached, rates=rates)
    if rates is not None:
        return weights * (passed - rates[None, :]) * reached
    won = passed * reached
    others = reached.sum(0)[None, :] - reached
    safe = xp.where(others == 0, xp.ones_like(reached), others)
    baseline = (won.sum(0)[None, :] - won) / safe
    alone = others == 0
    return xp.where(alone, xp.zeros_like(weights), weights * (passed - baseline) * reached)


def _checked(passed: Array, reached: Array) -> ModuleType:
    xp = namespace(passed)
    if passed.shape != reached.shape or len(passed.shape) != 2:
        raise ConfigError(f"passed {passed.shape} and reached {reached.shape} are both (N, K)")
    shown = reached[:, 1:] - reached[:, :-1] * (1 - passed[:, :-1])
    if bool((shown > 0).any()):
        raise ConfigError("an attempt is reached only where the one before it was made and failed")
    return xp
