"""What a test needs of the machine beyond the core of rewardkit.

Where CI is set everything is installed, so what is missing there is a failure: a skip would hide
that nothing was tested. What no installation can mend may skip, with its reason.
"""

import importlib
import os
import shutil
from types import ModuleType
from typing import NoReturn

import pytest

__all__ = ["missing", "needs", "needs_program"]


def missing(reason: str) -> NoReturn:
    """Fails where CI is set, and skips elsewhere."""
    if os.environ.get("CI"):
        pytest.fail(reason, pytrace=False)
    pytest.skip(reason, allow_module_level=True)


def needs(module: str, get: str = "pip install -e '.[dev]'") -> ModuleType:
    """Returns an imported module, where its package is installed.

    One that is installed and cannot be imported is broken, and its own error comes out.

    Args:
        module: dotted name.
        get: the command that installs it.
    """
    try:
        return importlib.import_module(module)
    except ModuleNotFoundError as error:
        package = module.partition(".")[0]
        if error.name is None or error.name.partition(".")[0] != package:
            raise
        missing(f"{package} is not installed here: {get}")


def needs_program(*names: str, get: str) -> str:
    """Returns the path of the first of these programs that is on PATH.

    Args:
        names: what it is called here and there.
        get: the command that installs it.
    """
    for name in names:
        if (path := shutil.which(name)) is not None:
            return path
    missing(f"{names[0]} is not on PATH: {get}")
