"""Lean proofs."""

from rewardkit.verifiers.lean.backends import Backend, Check, Replay
from rewardkit.verifiers.lean.kimina import KiminaLean
from rewardkit.verifiers.lean.local import LocalLean
from rewardkit.verifiers.lean.repl import ReplLean
from rewardkit.verifiers.lean.tactics import TacticProof, TacticState
from rewardkit.verifiers.lean.verifier import LeanVerifier

__all__ = [
    "Backend",
    "Check",
    "KiminaLean",
    "LeanVerifier",
    "LocalLean",
    "ReplLean",
    "Replay",
    "TacticProof",
    "TacticState",
]
