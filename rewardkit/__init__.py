"""rewardkit: the reward layer for reinforcement learning with verifiable rewards."""

# Another distribution installs a package of this name; this line tells ours apart.
__distribution__ = "rewardkit"

from rewardkit._version import __version__
from rewardkit.answer import AnswerPolicy
from rewardkit.completion import Completion, completion_text
from rewardkit.errors import RewardkitError
from rewardkit.reward import Gate, Reward, RewardResult, Shaper
from rewardkit.verdict import Json, Reason, StepVerdict, Verdict
from rewardkit.verifier import Verifier
from rewardkit.verifiers.code import CodeVerifier
from rewardkit.verifiers.math import MathVerifier

__all__ = [
    "AnswerPolicy",
    "CodeVerifier",
    "Completion",
    "Gate",
    "Json",
    "MathVerifier",
    "Reason",
    "Reward",
    "RewardResult",
    "RewardkitError",
    "Shaper",
    "StepVerdict",
    "Verdict",
    "Verifier",
    "__version__",
    "completion_text",
]
