"""One tree of errors, drawn where it is defined, that travels between processes."""

import pickle
import re

import pytest

from rewardkit import errors
from rewardkit.errors import EngineMissingError, RewardkitError


def test_every_error_is_listed_and_drawn_under_the_one_base():
    drawn = re.findall(r"[├└]── (\w+)", errors.__doc__)
    assert sorted([*drawn, "RewardkitError"]) == errors.__all__
    for name in drawn:
        assert issubclass(getattr(errors, name), RewardkitError)


@pytest.mark.parametrize("name", sorted(set(errors.__all__) - {"EngineMissingError"}))
def test_an_error_keeps_its_text_when_a_worker_sends_it_home(name):
    error = pickle.loads(pickle.dumps(getattr(errors, name)("say what to do")))
    assert type(error).__name__ == name
    assert str(error) == "say what to do"


def test_a_missing_engine_keeps_its_command_when_a_worker_sends_it_home():
    error = pickle.loads(
        pickle.dumps(EngineMissingError("swipl", "apt-get install swi-prolog-nox"))
    )
    assert (error.engine, error.install) == ("swipl", "apt-get install swi-prolog-nox")
    assert str(error) == "not installed here: swipl. To get it: apt-get install swi-prolog-nox"


def test_callers_may_catch_the_builtin_that_fits():
    assert issubclass(errors.ConfigError, ValueError)
    assert issubclass(errors.EngineMissingError, ImportError)
    assert issubclass(errors.ShadowedPackageError, ImportError)
