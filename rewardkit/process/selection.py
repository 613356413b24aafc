"""Which steps may teach, and how much: SAS, CalibAdv, CSPO. NumPy arrays and torch tensors alike.

Steps are (B, K) here, padded, with a mask; `step_tokens` or `StepBatch.to_tokens` bring the result
to the tokens.
"""

import math
from collections.abc import Sequence

from rewardkit.advantages.arrays import Array, array_advantages, namespace
from rewardkit.errors import ConfigError

__all__ = ["calibrate_negatives", "control_advantages", "rebalance", "select_steps"]


def select_steps(confidence: Array, mask: Array, correct: Array, *, share: float = 0.3) -> Array:
    """Returns (B, K) of 0 and 1: which steps keep their advantage (SAS, arXiv:2604.24003).

    In a correct rollout the `share` of the least confident steps gets advantage 0; in a failed one
    the `share` of the most confident, which may be right and only have been cut off. A step's
    confidence is the mean log-probability of its tokens. Of K steps ceil(K share) are left out in a
    correct rollout and K - ceil(K (1 - share)) in a failed one.

    After the released code, `verl/trainer/ppo/ray_trainer.py` of SAS with `sas_strategy=both`; the
    paper's equation number could not be had. Its steps are those of the reasoning, cut at empty
    lines, so that the tokens of the answer keep their advantage. It counts by `ceil(len(cuts)+1 *
    ratio)`, without the brackets around the sum: as it runs, it masks every step of a correct
    rollout and none of a failed one. Here the share is what the paper says.

    Args:
        confidence: (B, K); more is surer.
        mask: (B, K) 1 where there is a step.
        correct: (B,) 1 where the verifier passed.
        share: in [0, 1]; the paper takes 0.3.
    """
    if not 0 <= share <= 1:
        raise ConfigError(f"share is in [0, 1], not {share!r}")
    xp = namespace(confidence)
    keep = xp.where(mask != 0, xp.ones_like(confidence), xp.zeros_like(confidence))
    for row in range(confidence.shape[0]):
        own = [k for k in range(confidence.shape[1]) if bool(mask[row, k] != 0)]
        right = bool(correct[row] != 0)
        # Rounded before, since 10 * (1 - 0.3) is a little less than 7 for a computer.
        part = round(len(own) * (share if right else 1 - share), 9)
        dropped = math.ceil(part) if right else len(own) - math.ceil(part)
        sign = 1.0 if right else -1.0
        for k in sorted(own, key=lambda k: sign * float(confidence[row, k]))[:dropped]:
            keep[row, k] = 0
    return keep


def calibrate_negatives(advantages: Array, correctness: Array) -> Array:
    """Returns (B, K) advantages in which negative ones shrink where the step is known to be right.

    A < 0 becomes A (1 - q), q the correctness of the step; other advantages stay. The soft penalty
    of CalibAdv (arXiv:2604.18235), after the released code,
    `compute_grpo_outcome_softpenalty_advantage` in `verl/trainer/ppo/core_algos.py` as its training
    script sets it; the paper's equation number could not be had.

    Args:
        advantages: (B, K), or (B, 1) for one a completion.
        correctness: (B, K) in [0, 1]; 0 where nothing is known.
    """
    xp = namespace(advantages)
    if bool(((correctness < 0) | (correctness > 1)).any()):
        raise ConfigError("correctness is in [0, 1]")
    wide = advantages + xp.zeros_like(correctness)
    return xp.where(wide < 0, wide * (1 - correctness), wide)


def rebalance(advantages: Array, groups: Array, mask: Array, *, target: float = 1.0) -> Array:
    """Returns advantages whose positive part is scaled to the negative one over `target`, by group.

    For each group, with P and N the sums of its positive and negative entries under the mask, the
    positive ones are multiplied by |N| / (P target), and a group without both signs gets 0 under
    the mask: nothing there says what would balance it. After the released code of CalibAdv
    (arXiv:2604.18235), `advantage_scale` in `verl/trainer/ppo/core_algos.py` as its training script
    sets it: on the tokens of the answer, after `calibrate_negatives`.

    Args:
        advantages: (B, T).
        groups: (B,) integer ids.
        mask: (B, T) 1 on the tokens that are balanced; the others stay.
        target: |N| over P afterwards, above 0; 1, as in the script, makes the sums equal.
    """
    if not target > 0:
        raise ConfigError(f"target is above 0, not {target!r}")
    xp = namespace(advantages)
    zeros = xp.zeros_like(advantages)
    inside = mask != 0
    gains = xp.where(inside & (advantages > 0), advantages, zeros).sum(1)
    losses = -xp.where(inside & (advantages < 0), advantages, zeros).sum(1)
    same = xp.where(
        groups[:, None] == groups[None, :],
        xp.ones_like(gains)[None, :],
        xp.zeros_like(gains)[None, :],
    )
    plus, minus = (same * gains[None, :]).sum(1), (same * losses[None, :]).sum(1)
    both = (plus > 0) & (minus > 0)
    ones = xp.ones_like(plus)
    scale = xp.where(both, minus / (target * xp.where(both, plus, ones)), ones)
    scaled = xp.where(advantages > 0, advantages * scale[:, None], advantages)
    return xp.where(inside, xp.where(both[:, None], scaled, zeros), advantages)


def control_advantages(
    rewards: Array, groups: Array, control: Array, *, eps: float = 1e-4
) -> Array:
    """Returns (B, K) advantages of control segments alone (CSPO of MERA, arXiv:2508.04460).

    Segment-wise GRPO with a control mask: the rewards of the k-th control segments of a group are
    normalised among themselves, and every other segment gets 0, so that the text of the reasoning
    is not pushed about by what the control did. The paper's equations could not be read, and the
    released code (`src_train_eval/main_cspo.py`) has the mask and the rewards but no advantage: one
    score for all control tokens of a rollout, 0 elsewhere. With one reward in a row this is that,
    under GRPO's (r - m) / (s + eps); rewards that differ by place are after the abstract.

    Args:
        rewards: (B, K) one a segment; NaN where there is none or it is undecided.
        groups: (B,) integer ids.
        control: (B, K) 1 where the segment is a control segment.
        eps: added to the deviation.
    """
    if rewards.shape != control.shape or len(rewards.shape) != 2:
        raise ConfigError(f"rewards {rewards.shape} and control {control.shape} are both (B, K)")
    xp = namespace(rewards)
    out = xp.zeros_like(rewards)
    for row, column in enumerate(_by_place(control)):
        for place, segment in enumerate(column):
            out[row, segment] = place + 1.0
    found = xp.zeros_like(rewards)
    for place in range(1, int(max(1.0, float(out.max()))) + 1):
        here = out == place
        some = here.any(1)
        missing = xp.zeros_like(rewards[:, 0]) + xp.nan
        picked = xp.where(some, xp.where(here, rewards, xp.zeros_like(rewards)).sum(1), missing)
        values = array_advantages(picked, groups, estimator="group_z", eps=eps)
        found = xp.where(here, values[:, None], found)
    return found


def _by_place(control: Array) -> list[Sequence[int]]:
    """Returns the control segments of each row, in order."""
    return [
        [k for k in range(control.shape[1]) if bool(control[row, k] != 0)]
        for row in range(control.shape[0])
    ]
