"""The five shapes in which frameworks call a reward, without any framework.

Batch columns and one sample's arguments (`Scorer`), an object with fields (`ObjectShape`), JSON
over HTTP (`JsonShape`) and a step of an environment (`EnvironmentSession`). An adapter picks one
and renames.
"""

from rewardkit.shapes.environment import EnvironmentSession, EnvironmentStep
from rewardkit.shapes.limits import refuse_stage, scalar_scorer
from rewardkit.shapes.objects import ObjectShape, read_path
from rewardkit.shapes.requests import JsonShape
from rewardkit.shapes.rollouts import Rollouts
from rewardkit.shapes.scored import Scored, ScoredRow
from rewardkit.shapes.scorer import OnMissing, Scorer, as_reward
from rewardkit.shapes.tokens import completion_from_ids, token_starts, turn_ends

__all__ = [
    "EnvironmentSession",
    "EnvironmentStep",
    "JsonShape",
    "ObjectShape",
    "OnMissing",
    "Rollouts",
    "Scored",
    "ScoredRow",
    "Scorer",
    "as_reward",
    "completion_from_ids",
    "read_path",
    "refuse_stage",
    "scalar_scorer",
    "token_starts",
    "turn_ends",
]
