"""The pytest plugin: the fixture `check_reward`, `--rewardkit-profile`, `--rewardkit-database`.

A module of its own at the top, so that pytest loads it without hypothesis.
"""

from collections.abc import Callable
from typing import Any

import pytest

__all__ = ["check_reward", "pytest_addoption"]


def pytest_addoption(parser: pytest.Parser) -> None:
    """Adds the profile of the audits, and the folder of their failing cases."""
    group = parser.getgroup("rewardkit")
    group.addoption(
        "--rewardkit-database",
        metavar="DIR",
        help="Folder that keeps the failing cases of check_reward, which are tried first.",
    )
    group.addoption(
        "--rewardkit-profile",
        choices=("smoke", "fast", "deep"),
        default="fast",
        help="How hard check_reward looks.",
    )


@pytest.fixture
def check_reward(request: pytest.FixtureRequest) -> Callable[..., None]:
    """`rewardkit.testing.check_reward` with the profile and the database of this run."""

    def check(reward: Any, **options: Any) -> None:
        __tracebackhide__ = True
        from rewardkit.testing import check_reward as checked

        options.setdefault("profile", request.config.getoption("--rewardkit-profile"))
        options.setdefault("database", request.config.getoption("--rewardkit-database"))
        checked(reward, **options)

    return check
