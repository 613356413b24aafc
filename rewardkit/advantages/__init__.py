"""The advantage stage: from rewards to the numbers that multiply the gradient.

Framework-free: lists in, lists out; `arrays`, `sets` and `attempts` take NumPy arrays and torch
tensors alike. The packages in `adapters/` carry the result into each trainer.
"""

from rewardkit.advantages.arrays import array_advantages, importance_weights
from rewardkit.advantages.attempts import (
    attempt_advantages,
    attempt_weights,
    verification_at_k,
)
from rewardkit.advantages.audit import AdvantageAudit, AdvantageDifference, compare_advantages
from rewardkit.advantages.estimators import (
    Advantages,
    Estimator,
    StdKind,
    estimate_advantages,
)
from rewardkit.advantages.sets import max_at_k, max_at_k_advantages, set_advantages
from rewardkit.advantages.stage import AdvantageStage, Coefficients
from rewardkit.advantages.steps import process_advantages, span_tokens, spread

__all__ = [
    "AdvantageAudit",
    "AdvantageDifference",
    "AdvantageStage",
    "Advantages",
    "Coefficients",
    "Estimator",
    "StdKind",
    "array_advantages",
    "attempt_advantages",
    "attempt_weights",
    "compare_advantages",
    "estimate_advantages",
    "importance_weights",
    "max_at_k",
    "max_at_k_advantages",
    "process_advantages",
    "set_advantages",
    "span_tokens",
    "spread",
    "verification_at_k",
]
