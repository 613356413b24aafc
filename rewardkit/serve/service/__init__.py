"""The HTTP reward service: `rewardkit serve reward.yaml`."""

from importlib import import_module
from typing import TYPE_CHECKING

from rewardkit.serve.service.limits import ServiceLimits

if TYPE_CHECKING:
    from rewardkit.serve.service._app import make_service
    from rewardkit.serve.service._server import listen, serve

__all__ = ["ServiceLimits", "listen", "make_service", "serve"]

# What needs the extra `serve` is imported when it is asked for.
_LAZY = {"listen": "_server", "make_service": "_app", "serve": "_server"}


def __getattr__(name: str) -> object:
    if name not in _LAZY:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = globals()[name] = getattr(import_module(f"{__name__}.{_LAZY[name]}"), name)
    return value
