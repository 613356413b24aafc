"""The advantage stage: from rewards to the numbers that multiply the gradient.

Framework-free: lists in, lists out. The packages in `adapters/` carry the result into each trainer.
"""

from rewardkit.advantages.audit import AdvantageAudit, AdvantageDifference, compare_advantages
from rewardkit.advantages.estimators import (
    Advantages,
    Estimator,
    StdKind,
    estimate_advantages,
)
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
    "compare_advantages",
    "estimate_advantages",
    "process_advantages",
    "span_tokens",
    "spread",
]
