"""rewardkit: the reward layer for reinforcement learning with verifiable rewards."""

# Another distribution installs a package of this name; this line tells ours apart.
__distribution__ = "rewardkit"

from importlib import import_module
from typing import TYPE_CHECKING

from rewardkit._version import __version__
from rewardkit.answer import AnswerPolicy
from rewardkit.completion import Completion, completion_text
from rewardkit.errors import RewardkitError
from rewardkit.reward import Gate, Reward, RewardResult, Shaper
from rewardkit.verdict import Json, Reason, StepVerdict, Verdict
from rewardkit.verifier import Verifier

if TYPE_CHECKING:
    from rewardkit.client import HttpRunner, RewardClient
    from rewardkit.runtime import InlineRunner, PoolRunner
    from rewardkit.runtime.ray_runner import RayRunner
    from rewardkit.verifiers.cascade import Cascade
    from rewardkit.verifiers.choice import ChoiceVerifier
    from rewardkit.verifiers.code import CodeVerifier
    from rewardkit.verifiers.dafny import DafnyVerifier
    from rewardkit.verifiers.judge import JudgeVerifier, LocalJudge
    from rewardkit.verifiers.kb import KbVerifier, QaVerifier
    from rewardkit.verifiers.lean import LeanVerifier
    from rewardkit.verifiers.math import MathVerifier
    from rewardkit.verifiers.prolog import PrologVerifier
    from rewardkit.verifiers.rocq import RocqVerifier
    from rewardkit.verifiers.similarity import SimilarityVerifier
    from rewardkit.verifiers.sql import SqlVerifier

__all__ = [
    "AnswerPolicy",
    "Cascade",
    "ChoiceVerifier",
    "CodeVerifier",
    "Completion",
    "DafnyVerifier",
    "Gate",
    "HttpRunner",
    "InlineRunner",
    "Json",
    "JudgeVerifier",
    "KbVerifier",
    "LeanVerifier",
    "LocalJudge",
    "MathVerifier",
    "PoolRunner",
    "PrologVerifier",
    "QaVerifier",
    "RayRunner",
    "Reason",
    "Reward",
    "RewardClient",
    "RewardResult",
    "RewardkitError",
    "RocqVerifier",
    "Shaper",
    "SimilarityVerifier",
    "SqlVerifier",
    "StepVerdict",
    "Verdict",
    "Verifier",
    "__version__",
    "completion_text",
]

# Each brings what it works with; nobody waits for those that they do not name.
_LAZY = {
    "Cascade": "verifiers.cascade",
    "ChoiceVerifier": "verifiers.choice",
    "CodeVerifier": "verifiers.code",
    "DafnyVerifier": "verifiers.dafny",
    "HttpRunner": "client",
    "InlineRunner": "runtime",
    "JudgeVerifier": "verifiers.judge",
    "KbVerifier": "verifiers.kb",
    "LeanVerifier": "verifiers.lean",
    "LocalJudge": "verifiers.judge",
    "MathVerifier": "verifiers.math",
    "PoolRunner": "runtime",
    "PrologVerifier": "verifiers.prolog",
    "QaVerifier": "verifiers.kb",
    "RayRunner": "runtime.ray_runner",
    "RewardClient": "client",
    "RocqVerifier": "verifiers.rocq",
    "SimilarityVerifier": "verifiers.similarity",
    "SqlVerifier": "verifiers.sql",
}


def __getattr__(name: str) -> object:
    if name not in _LAZY:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = globals()[name] = getattr(import_module(f"rewardkit.{_LAZY[name]}"), name)
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
