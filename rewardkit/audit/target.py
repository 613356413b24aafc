"""From what a caller names to the spec by which a worker finds it."""

import importlib.util
import inspect
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

from rewardkit.audit._subject import Spec
from rewardkit.errors import ConfigError

__all__ = ["find_spec"]


def find_spec(reward: Any, reference_column: str | None) -> Spec:
    """Returns the spec of a reward.

    Raises:
        ConfigError: it cannot be found by name.
    """
    if isinstance(reward, str):
        place, separator, name = reward.rpartition(":")
        if not separator or not place or not name:
            raise ConfigError(
                f"name a reward as file.py:function or package.module:object, not {reward!r}"
            )
        if place.endswith(".py"):
            if not Path(place).is_file():
                raise ConfigError(f"{place}: no such file")
            place = str(Path(place).resolve())
        return Spec(place, name, reference_column)
    return _spec_of_object(reward, reference_column)


def _spec_of_object(reward: Any, reference_column: str | None) -> Spec:
    module = sys.modules.get(getattr(reward, "__module__", ""))
    name = getattr(reward, "__qualname__", None)
    if module is not None and name is not None and "<locals>" not in name:
        return Spec(_place(module), name, reference_column)
    # An object has no name of its own: it is looked for at the top of the modules that are loaded.
    for loaded in list(sys.modules.values()):
        for key, value in list(getattr(loaded, "__dict__", {}).items()):
            if value is reward and getattr(loaded, "__file__", None):
                return Spec(_place(loaded), key, reference_column)
    raise ConfigError(
        f"{reward!r:.100} is not at the top of a module, so no process of its own can load it: "
        "assign it to a name there, and give that or `file.py:name`"
    )


def _place(module: ModuleType) -> str:
    """Returns how another process finds a module: by name if that works there, else by file."""
    file = inspect.getsourcefile(module)
    try:
        found = module.__name__ != "__main__" and importlib.util.find_spec(module.__name__)
    except (ImportError, ValueError):
        found = None
    if not found and file:
        return str(Path(file).resolve())
    return module.__name__
