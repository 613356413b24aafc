"""What every test may use."""

import os
from pathlib import Path

import pytest
from hypothesis import settings

import rewardkit
from tests import _needs, _venvs

ROOT = Path(__file__).resolve().parents[1]

# A loaded machine is slow without being wrong, so no example has a deadline.
settings.register_profile("local", deadline=None)
settings.register_profile("ci", deadline=None, derandomize=True, print_blob=True)
settings.load_profile("ci" if os.environ.get("CI") else "local")


def pytest_configure() -> None:
    if getattr(rewardkit, "__distribution__", None) != "rewardkit":
        raise pytest.UsageError(f"another distribution's rewardkit is imported: {rewardkit}")


@pytest.fixture(scope="session")
def root() -> Path:
    """The checkout."""
    return ROOT


@pytest.fixture(scope="session")
def shared_dir() -> Path:
    """The optional data sets: $REWARDKIT_SHARED, else `shared` beside the checkout."""
    folder = Path(os.environ.get("REWARDKIT_SHARED") or ROOT.parent / "shared")
    if not folder.is_dir():
        pytest.skip("no shared data here; set REWARDKIT_SHARED to its folder")
    return folder


@pytest.fixture(scope="session")
def package_index() -> None:
    """Skips where pip reaches no index; where CI is set, that is a failure instead."""
    if not _venvs.index_answers():
        _needs.missing("pip reaches no package index here")


@pytest.fixture(scope="session")
def built(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """The sdist and the wheel of this tree."""
    return _venvs.build(ROOT, tmp_path_factory.mktemp("dist"))
