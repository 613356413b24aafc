"""Turning functions, arguments and errors into bytes and text that travel between processes."""

import io
import pickle
from typing import Any

from rewardkit.errors import ConfigError
from rewardkit.runtime.outcome import MAX_DETAIL

__all__ = ["CannotTravelError", "describe", "pack"]


class CannotTravelError(ConfigError):
    """A function or an argument that no worker can be given."""


class _Pickler(pickle.Pickler):
    def reducer_override(self, value: object) -> Any:  # noqa: ANN401
        module = getattr(value, "__module__", None)
        if module == "__main__" and (isinstance(value, type) or hasattr(value, "__code__")):
            name = getattr(value, "__qualname__", value)
            raise CannotTravelError(
                f"{name!r} is defined in the script that is running, which workers do not import. "
                "Put it into a module of its own and import it from there"
            )
        return NotImplemented


def pack(value: object, *, what: str) -> bytes:
    """Returns `value` pickled for a worker.

    Args:
        value: a function, an argument tuple, anything.
        what: how an error names it.

    Raises:
        CannotTravelError: it cannot be pickled, or refers to the running script.
    """
    buffer = io.BytesIO()
    try:
        _Pickler(buffer, pickle.HIGHEST_PROTOCOL).dump(value)
    except CannotTravelError:
        raise
    except Exception as error:
        raise CannotTravelError(
            f"{what} cannot be sent to a worker: {describe(error)}. Use a function of an "
            "importable module, and arguments that can be pickled"
        ) from error
    return buffer.getvalue()


def describe(error: BaseException) -> str:
    """Returns the error's type and message in one bounded line, whatever its methods do."""
    name = type.__getattribute__(type(error), "__name__")
    try:
        text = str(error)
    except BaseException:
        text = "(its message cannot be read)"
    line = " ".join(f"{name}: {text[: 4 * MAX_DETAIL]}".split()).rstrip(": ")
    return line[:MAX_DETAIL]
