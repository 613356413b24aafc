"""Grades Prolog programs by all of their solutions, run by SWI-Prolog in a sandbox."""

from rewardkit.verifiers.prolog.verifier import PrologVerifier

__all__ = ["PrologVerifier"]
