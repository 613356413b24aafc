"""All that a run is made of, to a checkpoint and back."""

from pathlib import Path
from typing import TYPE_CHECKING

import torch

from rewardkit.errors import ConfigError
from rewardkit.noise import NoiseCorrection
from rewardkit_grpo import parallel
from rewardkit_grpo.checkpoint import (
    State,
    latest_checkpoint,
    load_checkpoint,
    rewind,
    save_checkpoint,
)
from rewardkit_grpo.models import Model
from rewardkit_grpo.sharding import (
    Shards,
    part_like,
    split_optimizer,
    whole_optimizer,
    whole_state,
)

if TYPE_CHECKING:
    from rewardkit_grpo.trainer import Trainer

__all__ = ["restore_run", "save_model", "save_run"]

_FILES = ("metrics.jsonl", "rollouts.jsonl")


def save_run(trainer: "Trainer") -> None:
    """Writes a checkpoint of the run, by rank 0; all ranks call it.

    It is the same whatever the number of ranks, and a run may go on with another one.
    """
    if trainer.shards is not None:
        trainer.shards.release()
    folder = trainer.config.output_dir
    named = ((n, p) for n, p in trainer.model.named_parameters() if p.requires_grad)
    weights = whole_state(named)
    optimizer = whole_optimizer(trainer.learner.optimizer.state_dict())
    if parallel.rank():
        return
    corrected = trainer.stage.estimator
    state: State = {
        "step": trainer.step,
        "updates": trainer.learner.updates,
        "weights": weights,
        "optimizer": optimizer,
        "sampler": trainer.sampler.state(),
        "noise": corrected.state() if isinstance(corrected, NoiseCorrection) else None,
        "sizes": {
            name: (folder / name).stat().st_size if (folder / name).exists() else 0
            for name in _FILES
        },
    }
    keep = trainer.config.keep_checkpoints
    save_checkpoint(folder / "checkpoints", trainer.step, state, keep=keep)


def save_model(model: Model, folder: Path, *, shards: Shards | None = None) -> None:
    """Writes a model as `save_pretrained` does, by rank 0; all ranks call it."""
    weights = None
    if shards is not None:
        shards.release()
        weights = whole_state(model.named_parameters())
    if parallel.rank() == 0:
        model.save_pretrained(folder, **({} if weights is None else {"state_dict": weights}))
    parallel.barrier()


def restore_run(trainer: "Trainer") -> None:
    """Goes back to the newest checkpoint of the output folder, what was logged since included.

    Raises:
        ConfigError: it is of another model.
        DataError: it cannot be read, or a log is shorter than it was.
    """
    folder = trainer.config.output_dir
    path = latest_checkpoint(folder / "checkpoints")
    sizes = dict.fromkeys(_FILES, 0)
    if path is not None:
        state = load_checkpoint(path, trainer.learner.device)
        own = {n: p for n, p in trainer.model.named_parameters() if p.requires_grad}
        shapes = {name: value.shape for name, value in state["weights"].items()}
        if {name: value.shape for name, value in own.items()} != shapes:
            raise ConfigError(f"{path} is of another model: give another output_dir, or remove it")
        with torch.no_grad():
            for name, value in state["weights"].items():
                own[name].copy_(part_like(value, own[name]))
        optimizer = split_optimizer(state["optimizer"], trainer.learner.parameters)
        trainer.learner.optimizer.load_state_dict(optimizer)
        trainer.learner.updates, trainer.step = state["updates"], state["step"]
        trainer.sampler.restore(state["sampler"])
        corrected = trainer.stage.estimator
        if isinstance(corrected, NoiseCorrection) and state["noise"] is not None:
            corrected.restore(state["noise"])
        sizes = state["sizes"]
    if parallel.rank() == 0:
        for name, size in sizes.items():
            rewind(folder / name, size)
