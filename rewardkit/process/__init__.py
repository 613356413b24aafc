"""Steps of a completion: cut it, score its steps, and turn the scores into rewards or advantages.

`docs/process.md` shows each part. Importing this loads neither NumPy nor torch.
"""

from rewardkit.process.batch import StepBatch
from rewardkit.process.builders import (
    by_entropy,
    by_number,
    by_sentence,
    by_separator,
    by_size,
    by_tag,
    by_turn,
)
from rewardkit.process.credit import (
    Spread,
    StepCredit,
    combine_advantages,
    spans_to_tokens,
    step_tokens,
)
from rewardkit.process.equalities import EqualityVerifier, Link, check_equalities
from rewardkit.process.scores import (
    Aggregator,
    Missing,
    ScoreKind,
    StepScores,
    aggregate_steps,
)
from rewardkit.process.segmentation import (
    Offsets,
    Segmentation,
    StepTokens,
    offsets_from_starts,
)

__all__ = [
    "Aggregator",
    "EqualityVerifier",
    "Link",
    "Missing",
    "Offsets",
    "ScoreKind",
    "Segmentation",
    "Spread",
    "StepBatch",
    "StepCredit",
    "StepScores",
    "StepTokens",
    "aggregate_steps",
    "by_entropy",
    "by_number",
    "by_sentence",
    "by_separator",
    "by_size",
    "by_tag",
    "by_turn",
    "check_equalities",
    "combine_advantages",
    "offsets_from_starts",
    "spans_to_tokens",
    "step_tokens",
]
