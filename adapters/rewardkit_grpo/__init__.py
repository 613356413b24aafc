"""The included GRPO trainer: `rewardkit train grpo config.yaml`, or `rewardkit_grpo.train(…)`.

Read `trainer.py` first: the loop. The modules around it are small and each holds one thing.
"""

from importlib import import_module

from rewardkit.engines import require_extra

_HOMES = {
    "GRPOConfig": "config",
    "Trainer": "trainer",
    "train": "trainer",
}

__all__ = ["GRPOConfig", "Trainer", "train"]  # found by __getattr__


def __getattr__(name: str) -> object:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    require_extra("grpo")
    value = globals()[name] = getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)
    return value
