"""SQL queries, graded by the databases on which they differ from a reference."""

from rewardkit.verifiers.sql.verifier import SqlVerifier

__all__ = ["SqlVerifier"]
