"""Grades programs by running them in a sandbox against tests that they never see."""

from rewardkit.verifiers.code.verifier import CodeVerifier

__all__ = ["CodeVerifier"]
