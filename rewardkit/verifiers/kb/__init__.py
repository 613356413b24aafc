"""Questions over a knowledge base: SPARQL by its answers, and short answers by their words."""

from rewardkit.verifiers.kb.qa import QaVerifier
from rewardkit.verifiers.kb.verifier import KbVerifier

__all__ = ["KbVerifier", "QaVerifier"]
