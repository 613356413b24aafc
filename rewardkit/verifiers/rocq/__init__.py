"""Rocq (Coq) proofs."""

from rewardkit.verifiers.rocq.verifier import RocqVerifier

__all__ = ["RocqVerifier"]
