"""Rewards that are not verdicts: format, length, repetition, diversity, confidence and others.

Each is a small configured object, and a component of a `rewardkit.Reward`.
"""

from rewardkit.shaping.abstention import Abstention
from rewardkit.shaping.base import CompletionShaper, GroupShaper, Range, Row, Unit
from rewardkit.shaping.confidence import (
    Measure,
    Preference,
    SelfConfidence,
    answer_confidence,
    preferences,
)
from rewardkit.shaping.curriculum import HitRate, HitSignal, Solvability, hit_signal
from rewardkit.shaping.diversity import (
    EllipticalBonus,
    Embed,
    NeighbourDistance,
    elliptical_bonus,
)
from rewardkit.shaping.format import JsonFormat, TagFormat, ThinkFormat
from rewardkit.shaping.group_length import DifficultyLength, GroupLength
from rewardkit.shaping.language import LanguageConsistency
from rewardkit.shaping.length import (
    CosineLength,
    LinearLength,
    OverlongPenalty,
    TokenDiscount,
)
from rewardkit.shaping.parallel import (
    DC_COT,
    THREADWEAVER,
    Acceleration,
    LongestPathPenalty,
    PathLengths,
    ThreadGrammar,
    path_lengths,
)
from rewardkit.shaping.pseudo_labels import MajorityLabel, answer_key
from rewardkit.shaping.repetition import RepetitionPenalty
from rewardkit.shaping.steps import IrisParts, IrisReward
from rewardkit.shaping.tags import TagConstraints
from rewardkit.shaping.turns import ClarifyPause, ToolTurns

__all__ = [
    "DC_COT",
    "THREADWEAVER",
    "Abstention",
    "Acceleration",
    "ClarifyPause",
    "CompletionShaper",
    "CosineLength",
    "DifficultyLength",
    "EllipticalBonus",
    "Embed",
    "GroupLength",
    "GroupShaper",
    "HitRate",
    "HitSignal",
    "IrisParts",
    "IrisReward",
    "JsonFormat",
    "LanguageConsistency",
    "LinearLength",
    "LongestPathPenalty",
    "MajorityLabel",
    "Measure",
    "NeighbourDistance",
    "OverlongPenalty",
    "PathLengths",
    "Preference",
    "Range",
    "RepetitionPenalty",
    "Row",
    "SelfConfidence",
    "Solvability",
    "TagConstraints",
    "TagFormat",
    "ThinkFormat",
    "ThreadGrammar",
    "TokenDiscount",
    "ToolTurns",
    "Unit",
    "answer_confidence",
    "answer_key",
    "elliptical_bonus",
    "hit_signal",
    "path_lengths",
    "preferences",
]
