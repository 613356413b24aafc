"""Several processes, one step: what is summed over the ranks. One process needs none of it."""

import os
from collections.abc import Callable, Iterable
from typing import TypeVar

import torch
from torch import nn

from rewardkit.errors import RewardkitError

__all__ = [
    "barrier",
    "device_of_rank",
    "from_first",
    "gather",
    "rank",
    "start",
    "sum_counts",
    "sum_gradients",
    "world_size",
]

T = TypeVar("T")


def start() -> None:
    """Joins the process group that torchrun describes, if it started this process."""
    if "RANK" in os.environ and not torch.distributed.is_initialized():
        if torch.cuda.is_available():
            torch.cuda.set_device(device_of_rank())
        torch.distributed.init_process_group("nccl" if torch.cuda.is_available() else "gloo")


def _ready() -> bool:
    return torch.distributed.is_available() and torch.distributed.is_initialized()


def rank() -> int:
    """Returns this process's place; 0 without a group."""
    return torch.distributed.get_rank() if _ready() else 0


def world_size() -> int:
    """Returns how many processes train together."""
    return torch.distributed.get_world_size() if _ready() else 1


def device_of_rank() -> torch.device:
    """Returns the GPU of this rank, or the CPU."""
    if not torch.cuda.is_available():
        return torch.device("cpu")
    return torch.device("cuda", int(os.environ.get("LOCAL_RANK", "0")))


def sum_counts(counts: list[int], device: torch.device) -> list[int]:
    """Returns the counts summed over the ranks."""
    if world_size() == 1:
        return counts
    summed = torch.tensor(counts, dtype=torch.long, device=device)
    torch.distributed.all_reduce(summed)
    return [int(count) for count in summed.tolist()]


def gather(rows: list[T]) -> list[T]:
    """Returns the rows of all ranks, in their order; plain data."""
    if world_size() == 1:
        return rows
    parts: list[list[T]] = [[]] * world_size()
    torch.distributed.all_gather_object(parts, rows)
    return [row for part in parts for row in part]


def from_first(make: Callable[[], T]) -> T:
    """Returns on every rank what `make` returns on rank 0, which alone calls it; plain data.

    Raises:
        Exception: what `make` raises, on rank 0; a `RewardkitError` with its text on the others.
    """
    if world_size() == 1:
        return make()
    made: list[object] = [None, ""]
    failed: Exception | None = None
    if rank() == 0:
        try:
            made[0] = make()
        except Exception as error:  # the others would wait for ever
            failed, made[1] = error, f"{type(error).__name__}: {error}"
    torch.distributed.broadcast_object_list(made, src=0)
    if failed is not None:
        raise failed
    if made[1]:
        raise RewardkitError(f"process 0 failed: {made[1]}")
    return made[0]  # type: ignore[return-value] # it is what rank 0 made


def barrier() -> None:
    """Waits until all ranks are here."""
    if world_size() > 1:
        torch.distributed.barrier()


def sum_gradients(parameters: Iterable[nn.Parameter]) -> None:
    """Adds up the gradients of all ranks: the losses are divided by global totals already."""
    if world_size() == 1:
        return
    for parameter in parameters:
        if parameter.grad is None:
            parameter.grad = torch.zeros_like(parameter)
        torch.distributed.all_reduce(parameter.grad)
