from collections.abc import Iterator

import pytest

from rewardkit.verifiers.prolog import PrologVerifier
from tests._needs import needs_program


@pytest.fixture(scope="session")
def verifier() -> Iterator[PrologVerifier]:
    needs_program("swipl", get="apt-get install swi-prolog-nox")
    with PrologVerifier(timeout_s=2, inferences=3_000_000) as made:
        yield made
