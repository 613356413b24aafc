"""Dafny programs."""

from rewardkit.verifiers.dafny.strength import Strength, specification_strength
from rewardkit.verifiers.dafny.verifier import DafnyVerifier

__all__ = ["DafnyVerifier", "Strength", "specification_strength"]
