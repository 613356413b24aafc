"""Where else the metrics of a run go: TensorBoard, trackio, Weights & Biases."""

import importlib
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Literal, Protocol, TypeAlias

from rewardkit.errors import EngineMissingError

__all__ = ["Tracker", "TrackerName", "open_tracker"]

TrackerName: TypeAlias = Literal["tensorboard", "trackio", "wandb"]


class Tracker(Protocol):
    """Takes the metrics of each step."""

    def write(self, step: int, metrics: Mapping[str, float]) -> None:
        """Takes one step."""
        ...

    def close(self) -> None:
        """Sends what is left."""
        ...


def open_tracker(
    name: TrackerName, folder: Path, *, project: str, config: Mapping[str, Any]
) -> Tracker:
    """Returns a tracker of a run; one that goes on after a kill goes on there too.

    Args:
        name: which.
        folder: of the run; its own name is the run's.
        project: that the run is listed under.
        config: of the run, as plain data.

    Raises:
        EngineMissingError: it is not installed.
    """
    if name == "tensorboard":
        return _TensorBoard(folder / "tensorboard")
    return _Run(name, folder, project, config)


class _TensorBoard:
    def __init__(self, folder: Path) -> None:
        try:
            from torch.utils.tensorboard import SummaryWriter
        except ImportError:
            raise EngineMissingError("tensorboard", "pip install tensorboard") from None
        self._board: Any = SummaryWriter(str(folder))

    def write(self, step: int, metrics: Mapping[str, float]) -> None:
        for name, value in metrics.items():
            self._board.add_scalar(name, value, step)

    def close(self) -> None:
        self._board.close()


class _Run:
    """Trackio and wandb have one interface."""

    def __init__(
        self, name: TrackerName, folder: Path, project: str, config: Mapping[str, Any]
    ) -> None:
        options: dict[str, Any] = {}
        if name == "trackio":
            # It reads this when it is imported; a user's own choice comes first.
            os.environ.setdefault("TRACKIO_DIR", str(folder.resolve() / "trackio"))
        else:
            options = {"dir": str(folder), "id": folder.name}
        try:
            self._module: Any = importlib.import_module(name)
        except ImportError:
            raise EngineMissingError(name, f"pip install {name}") from None
        self._module.init(
            project=project, name=folder.name, config=dict(config), resume="allow", **options
        )

    def write(self, step: int, metrics: Mapping[str, float]) -> None:
        self._module.log(dict(metrics), step=step)

    def close(self) -> None:
        self._module.finish()
