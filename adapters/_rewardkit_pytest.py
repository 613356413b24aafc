"""The pytest plugin: the fixture `check_reward`, and `--rewardkit-profile`.

A module of its own at the top, so that pytest loads it without hypothesis.
"""

from collections.abc import Callable
from typing import Any

import pytest

__all__ = ["check_reward", "pytest_addoption"]


def pytest_addoption(parser: pytest.Parser) -> None:
    """Adds the profile of the audits."""
    parser.getgroup("rewardkit").addoption(
        "--rewardkit-profile",
        choices=("fast", "deep"),
        default="fast",
        help="How hard check_reward looks.",
    )


@pytest.fixture
def check_reward(request: pytest.FixtureRequest) -> Callable[..., None]:
    """`rewardkit.testing.check_reward` with the profile of this run."""

    def check(reward: Any, **options: Any) -> None:
        __tracebackhide__ = True
        from rewardkit.testing import check_reward as checked

        options.setdefault("profile", request.config.getoption("--rewardkit-profile"))
        checked(reward, **options)

    return check
