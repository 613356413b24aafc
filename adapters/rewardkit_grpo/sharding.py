"""Weights, gradients and optimizer state split over the ranks, by FSDP2 (`fully_shard`).

Each rank keeps its part of everything. All weights are together on every rank from the sampling of
a step to its last backward pass: no rank waits for another one while it generates or learns, so
ranks may have unequal numbers of tokens and micro-batches. Gradients are then summed once.
"""

from collections.abc import Iterable, Mapping
from typing import Any

import torch
from torch import Tensor, nn

from rewardkit.errors import ConfigError
from rewardkit_grpo import parallel
from rewardkit_grpo.models import Model, backbone

__all__ = ["Shards", "part_like", "split_optimizer", "whole", "whole_optimizer", "whole_state"]


class Shards:
    """Splits a model over the ranks, in place.

    Args:
        model: on its device; the weights of rank 0 and of the others are the same.
        device: of this rank.

    Raises:
        ConfigError: there is no process group, or no list of layers in the model.
    """

    def __init__(self, model: Model, device: torch.device) -> None:
        from torch.distributed.device_mesh import init_device_mesh
        from torch.distributed.fsdp import FSDPModule, fully_shard

        if not torch.distributed.is_initialized():
            raise ConfigError("sharding: fsdp needs several processes: start with torchrun")
        mesh = init_device_mesh(device.type, (parallel.world_size(),))
        for layer in _layers(model):
            fully_shard(layer, mesh=mesh, reshard_after_forward=False)
        fully_shard(model, mesh=mesh, reshard_after_forward=False)
        self.model, self.device = model, device
        self._modules = [part for part in model.modules() if isinstance(part, FSDPModule)]
        for part in self._modules:
            # The losses are divided by global totals already: gradients are summed, not averaged.
            part.set_gradient_divide_factor(1.0)
        # FSDP takes the first module that runs for the root.
        with torch.no_grad():
            self._touch()
        self.release()
        self._accumulate()

    def gather(self) -> None:
        """Puts all weights together on every rank; all ranks call it."""
        for part in self._modules:
            part.unshard()

    def release(self) -> None:
        """Keeps this rank's part of the weights alone."""
        for part in self._modules:
            part.reshard()

    def sum_gradients(self) -> None:
        """Sums the ranks' gradients into each one's part, and releases; all ranks call it.

        Every rank runs the same token and takes 0 times its gradient: what that adds is nothing,
        and all ranks reduce the same gradients in the same order, whatever they have learnt from.
        """
        for part in self._modules:
            part.set_requires_gradient_sync(True, recurse=False)
            part.set_reshard_after_backward(True, recurse=False)
        self.model.set_is_last_backward(True)
        (self._touch() * 0.0).backward()  # type: ignore[no-untyped-call]
        self._accumulate()

    def _accumulate(self) -> None:
        self.model.set_is_last_backward(False)
        for part in self._modules:
            part.set_requires_gradient_sync(False, recurse=False)
            part.set_reshard_after_backward(False, recurse=False)

    def _touch(self) -> Tensor:
        token = torch.zeros((1, 1), dtype=torch.long, device=self.device)
        total: Tensor = self.model(input_ids=token, use_cache=False).logits.sum()
        return total


def _layers(model: Model) -> nn.ModuleList:
    found = [part for part in backbone(model).modules() if isinstance(part, nn.ModuleList)]
    if not found:
        raise ConfigError(f"sharding: a {type(model).__name__} has no list of layers to split")
    return max(found, key=len)


def whole(value: Any) -> Any:
    """Returns a split tensor as a whole one, and anything else as it is; all ranks call it."""
    return value.full_tensor() if hasattr(value, "full_tensor") else value


def whole_state(named: Iterable[tuple[str, Tensor]]) -> dict[str, Tensor]:
    """Returns named tensors, whole; all ranks call it."""
    return {name: whole(value.detach()) for name, value in named}


def part_like(value: Tensor, like: Any) -> Tensor:
    """Returns this rank's part of a whole tensor, split as `like` is; all ranks call it."""
    if not hasattr(like, "device_mesh"):
        return value
    from torch.distributed.tensor import distribute_tensor

    return distribute_tensor(value, like.device_mesh, like.placements)


def whole_optimizer(state: Mapping[str, Any]) -> dict[str, Any]:
    """Returns an optimizer's state with whole tensors; all ranks call it."""
    own = {
        index: {name: whole(value) for name, value in values.items()}
        for index, values in state["state"].items()
    }
    return {**state, "state": own}


def split_optimizer(state: Mapping[str, Any], parameters: list[nn.Parameter]) -> dict[str, Any]:
    """Returns what `whole_optimizer` made, split as the parameters are; all ranks call it."""
    own = {
        index: {
            name: part_like(value, parameters[index])
            if value.shape == parameters[index].shape
            else value
            for name, value in values.items()
        }
        for index, values in state["state"].items()
    }
    return {**state, "state": own}
