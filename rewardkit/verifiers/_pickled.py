"""Objects with locks and caches that are pickled without them."""

from abc import abstractmethod
from typing import Any

__all__ = ["PickledSettings"]


class PickledSettings:
    """Pickled by its public attributes; what begins with `_` is made anew by `_reset`."""

    @abstractmethod
    def _reset(self) -> None:
        """Makes the private attributes: locks, caches."""

    def __getstate__(self) -> dict[str, Any]:
        return {k: v for k, v in self.__dict__.items() if not k.startswith("_")}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self._reset()
