"""A language model as a verifier: a closed verdict, an honest abstention, hard to talk round."""

from rewardkit.verifiers.judge.canaries import CANARIES, JudgeAlarm
from rewardkit.verifiers.judge.local import LocalJudge
from rewardkit.verifiers.judge.rubric import Criterion, Rubric
from rewardkit.verifiers.judge.skills import SkillLibrary, SkillPrototype
from rewardkit.verifiers.judge.verifier import JudgeVerifier

__all__ = [
    "CANARIES",
    "Criterion",
    "JudgeAlarm",
    "JudgeVerifier",
    "LocalJudge",
    "Rubric",
    "SkillLibrary",
    "SkillPrototype",
]
