"""`rewardkit train`: the included trainer."""

import sys
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from rewardkit.cli._console import counted, explain_errors
from rewardkit.errors import ConfigError

__all__ = ["train"]

train = typer.Typer(no_args_is_help=True, rich_markup_mode="markdown", help="Train a model.")


@train.callback()
def _train() -> None:
    """Train a model on rewards."""


@train.command("grpo")
@explain_errors
def train_grpo(
    config: Annotated[Path, typer.Argument(metavar="CONFIG", help="A YAML file; see the docs.")],
    set_: Annotated[
        list[str] | None,
        typer.Option(
            "--set", metavar="KEY=VALUE", help="A field in place of the file's: `train.steps=10`."
        ),
    ] = None,
    check: Annotated[
        bool, typer.Option("--check", help="Check config, data and reward; load no model.")
    ] = False,
) -> None:
    """Train a model with GRPO, or one of its kin, on a data set and a reward.

    A run that was stopped or killed goes on when the same command is given again: the next step is
    the one that it would have been.

    **Examples**

    `rewardkit train grpo config.yaml`

    `rewardkit train grpo config.yaml --set train.steps=20 --set train.loss=dapo`

    `torchrun --nproc-per-node 8 -m rewardkit train grpo config.yaml`

    **Exit codes**: 0 trained; 2 something must be corrected first.
    """
    from rewardkit.engines import require_extra

    require_extra("grpo")
    # The config may name a module beside it, as `python script.py` could.
    sys.path.insert(0, str(Path.cwd()))
    from rewardkit_grpo import parallel
    from rewardkit_grpo.data import check_columns, check_references
    from rewardkit_grpo.display import LiveDisplay
    from rewardkit_grpo.loading import load_model, load_rows, read_config
    from rewardkit_grpo.resume import save_model
    from rewardkit_grpo.trainer import train as run

    chosen = read_config(config, _overrides(set_ or []))
    rows = load_rows(chosen.dataset)
    held_out = None if chosen.eval_dataset is None else load_rows(chosen.eval_dataset)
    stage = chosen.make_stage()
    with chosen.reward.build() as reward:
        if check:
            where = str(chosen.dataset)
            check_references(reward, list(check_columns(rows, where=where)), where=where)
            typer.echo(f"{config}: fine; {counted(len(rows), 'row')}")
            return
        model, tokenizer = load_model(chosen.model)
        parallel.start()
        console = Console(stderr=True, quiet=parallel.rank() > 0)
        trainer = run(
            model,
            tokenizer,
            reward,
            rows,
            chosen.train,
            eval_dataset=held_out,
            stage=stage,
            display=LiveDisplay(console, steps=chosen.train.steps),
        )
    folder = chosen.train.output_dir / "model"
    save_model(trainer.model, folder, shards=trainer.shards)
    if parallel.rank():
        return
    tokenizer.save_pretrained(folder)
    typer.echo(f"model: {folder}")
    if chosen.train.save_rollouts:
        typer.echo(f"rollouts: {chosen.train.output_dir / 'rollouts.jsonl'}")


def _overrides(texts: list[str]) -> dict[str, str]:
    found = {}
    for text in texts:
        name, equals, value = text.partition("=")
        if not equals:
            raise ConfigError(f"--set {text!r} is not of the form key=value, as in train.steps=10.")
        found[name.strip()] = value
    return found
