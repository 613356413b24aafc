"""What the tests of the SQL verifier share."""

from collections.abc import Iterator

import pytest

from tests._needs import needs

needs("sqlglot")
needs("duckdb")

from rewardkit.verifiers.sql import SqlVerifier  # noqa: E402


@pytest.fixture(scope="session")
def verifier() -> Iterator[SqlVerifier]:
    with SqlVerifier(workers=2, timeout_s=30.0) as made:
        yield made
