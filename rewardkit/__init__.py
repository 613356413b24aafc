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
    from rewardkit.verifiers.code import CodeVerifier
    from rewardkit.verifiers.kb import KbVerifier, QaVerifier
    from rewardkit.verifiers.math import MathVerifier
    from rewardkit.verifiers.prolog import PrologVerifier
    from rewardkit.verifiers.sql import SqlVerifier

__all__ = [
    "AnswerPolicy",
    "CodeVerifier",
    "Completion",
    "Gate",
    "HttpRunner",
    "InlineRunner",
    "Json",
    "KbVerifier",
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
    "Shaper",
    "SqlVerifier",
    "StepVerdict",
    "Verdict",
    "Verifier",
    "__version__",
    "completion_text",
]

# A verifier brings what it grades with; nobody waits for those that they do not name.
_VERIFIERS = {
    "CodeVerifier": "code",
    "KbVerifier": "kb",
    "MathVerifier": "math",
    "PrologVerifier": "prolog",
    "QaVerifier": "kb",
    "SqlVerifier": "sql",
}


_RUNNERS = {
    "HttpRunner": "client",
    "InlineRunner": "runtime",
    "PoolRunner": "runtime",
    "RayRunner": "runtime.ray_runner",
    "RewardClient": "client",
}


def __getattr__(name: str) -> object:
    if name in _RUNNERS:
        made = globals()[name] = getattr(import_module(f"rewardkit.{_RUNNERS[name]}"), name)
        return made
    if name not in _VERIFIERS:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = globals()[name] = getattr(
        import_module(f"rewardkit.verifiers.{_VERIFIERS[name]}"), name
    )
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
