"""Steps of a completion: cut it, score its steps, and turn the scores into rewards or advantages.

`docs/process.md` shows each part. Importing this loads neither NumPy nor torch.
"""

from rewardkit.process.batch import StepBatch
from rewardkit.process.beliefs import (
    Beliefs,
    LogProb,
    Scorer,
    belief_advantages,
    probe_beliefs,
)
from rewardkit.process.builders import (
    by_entropy,
    by_number,
    by_sentence,
    by_separator,
    by_size,
    by_tag,
    by_turn,
)
from rewardkit.process.claims import ClaimCheck, ClaimVerifier, equality_claim
from rewardkit.process.counterfactual import (
    changed_tokens,
    counterfactual_rewards,
    revision_gains,
)
from rewardkit.process.credit import (
    Spread,
    StepCredit,
    combine_advantages,
    spans_to_tokens,
    step_tokens,
)
from rewardkit.process.equalities import EqualityVerifier, Link, check_equalities
from rewardkit.process.implicit import implicit_loss, implicit_rewards, prime_advantages
from rewardkit.process.judge import Ask, Quorum, StepJudge, read_first_wrong
from rewardkit.process.margins import (
    PreferencePair,
    confidence_margin,
    margin_loss,
    preference_pairs,
)
from rewardkit.process.montecarlo import (
    Check,
    CompletionValues,
    FirstError,
    Sampler,
    completion_values,
    exploration_bonus,
    locate_first_error,
    rollout_value,
)
from rewardkit.process.prm import QwenPRM, SkyworkPRM
from rewardkit.process.redundancy import (
    external_redundancy,
    internal_redundancy,
    redundancy_reward,
    truncation_redundancy,
    windows,
)
from rewardkit.process.scorers import TransformersScorer
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
from rewardkit.process.selection import (
    calibrate_negatives,
    control_advantages,
    rebalance,
    select_steps,
)
from rewardkit.process.turns import ToolOutcome, TurnVerifier, tokens_from_ends, tool_outcome

__all__ = [
    "Aggregator",
    "Ask",
    "Beliefs",
    "Check",
    "ClaimCheck",
    "ClaimVerifier",
    "CompletionValues",
    "EqualityVerifier",
    "FirstError",
    "Link",
    "LogProb",
    "Missing",
    "Offsets",
    "PreferencePair",
    "Quorum",
    "QwenPRM",
    "Sampler",
    "ScoreKind",
    "Scorer",
    "Segmentation",
    "SkyworkPRM",
    "Spread",
    "StepBatch",
    "StepCredit",
    "StepJudge",
    "StepScores",
    "StepTokens",
    "ToolOutcome",
    "TransformersScorer",
    "TurnVerifier",
    "aggregate_steps",
    "belief_advantages",
    "by_entropy",
    "by_number",
    "by_sentence",
    "by_separator",
    "by_size",
    "by_tag",
    "by_turn",
    "calibrate_negatives",
    "changed_tokens",
    "check_equalities",
    "combine_advantages",
    "completion_values",
    "confidence_margin",
    "control_advantages",
    "counterfactual_rewards",
    "equality_claim",
    "exploration_bonus",
    "external_redundancy",
    "implicit_loss",
    "implicit_rewards",
    "internal_redundancy",
    "locate_first_error",
    "margin_loss",
    "offsets_from_starts",
    "preference_pairs",
    "prime_advantages",
    "probe_beliefs",
    "read_first_wrong",
    "rebalance",
    "redundancy_reward",
    "revision_gains",
    "rollout_value",
    "select_steps",
    "spans_to_tokens",
    "step_tokens",
    "tokens_from_ends",
    "tool_outcome",
    "truncation_redundancy",
    "windows",
]
