"""Dafny programs."""

from rewardkit.verifiers.dafny.verifier import DafnyVerifier

__all__ = ["DafnyVerifier"]
