"""Checkpoints that are whole or not there, and files that go back to where one was taken."""

import os
import pickle
from pathlib import Path
from typing import Any, TypeAlias

import torch

from rewardkit.errors import DataError

__all__ = ["State", "latest_checkpoint", "load_checkpoint", "rewind", "save_checkpoint"]

State: TypeAlias = dict[str, Any]
"""Tensors and plain data: what `torch.load(weights_only=True)` reads."""


def save_checkpoint(folder: Path, step: int, state: State, *, keep: int) -> Path:
    """Writes a checkpoint and removes the oldest ones.

    It is written under another name, flushed to the disk and renamed: a process that is killed at
    any point leaves the old checkpoints as they were.

    Args:
        folder: is created where it is missing.
        step: steps that are done.
        state: what is written.
        keep: checkpoints that stay, this one among them.
    """
    folder.mkdir(parents=True, exist_ok=True)
    path, partial = folder / f"step-{step:08d}.pt", folder / f".partial-{os.getpid()}"
    with partial.open("wb") as file:
        torch.save(state, file)
        file.flush()
        os.fsync(file.fileno())
    partial.replace(path)
    _flush_folder(folder)
    for old in _checkpoints(folder)[:-keep]:
        old.unlink()
    for leftover in folder.glob(".partial-*"):
        leftover.unlink()
    return path


def latest_checkpoint(folder: Path) -> Path | None:
    """Returns the newest checkpoint of a folder, or None."""
    found = _checkpoints(folder)
    return found[-1] if found else None


def load_checkpoint(path: Path, device: torch.device) -> State:
    """Returns what `save_checkpoint` wrote.

    Raises:
        DataError: the file is no checkpoint of ours.
    """
    try:
        state: object = torch.load(path, map_location=device, weights_only=True)
    except (OSError, RuntimeError, ValueError, EOFError, pickle.UnpicklingError) as error:
        raise DataError(f"{path} cannot be read as a checkpoint: {error}") from error
    if not isinstance(state, dict) or "step" not in state:
        raise DataError(f"{path} is no checkpoint of this trainer")
    return state


def rewind(path: Path, size: int) -> None:
    """Cuts a file that grew after a checkpoint back to the size that it had then.

    Raises:
        DataError: the file is shorter than that, so something else has changed it.
    """
    if not path.exists():
        if size:
            raise DataError(f"{path} is gone, and the checkpoint has {size} bytes of it")
        return
    if path.stat().st_size < size:
        raise DataError(f"{path} is shorter than when the checkpoint was taken: it was changed")
    os.truncate(path, size)


def _checkpoints(folder: Path) -> list[Path]:
    return sorted(folder.glob("step-*.pt")) if folder.is_dir() else []


def _flush_folder(folder: Path) -> None:
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
