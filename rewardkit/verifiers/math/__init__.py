"""Math answers: exact numbers, structures, algebra; the verdict says which tier decided."""

from rewardkit.verifiers.math._reference import MathReference, compile_reference
from rewardkit.verifiers.math._verifier import MathVerifier

__all__ = ["MathReference", "MathVerifier", "compile_reference"]
