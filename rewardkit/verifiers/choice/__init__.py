"""Multiple choice and label sets: which option a completion commits to, without a model."""

from rewardkit.verifiers.choice.verifier import ChoiceVerifier

__all__ = ["ChoiceVerifier"]
