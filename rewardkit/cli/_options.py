"""The options that several commands share, and the verifier that they make."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from rewardkit.errors import ConfigError
from rewardkit.verdict import Json
from rewardkit.verifier import Verifier
from rewardkit.verifiers.catalog import VERIFIERS

if TYPE_CHECKING:
    from rewardkit.runtime import Runner

__all__ = [
    "AgainstFile",
    "CompletionColumn",
    "IdColumn",
    "ModeOption",
    "OptionTexts",
    "OptionalVerifier",
    "RayAddress",
    "ReferenceColumn",
    "SplitOption",
    "VerifierName",
    "build_verifier",
    "make_runner",
    "read_options",
    "verifier_config",
]

VerifierName = Annotated[
    str,
    typer.Option(
        "--verifier",
        "-v",
        help=f"{', '.join(sorted(VERIFIERS))}; or a class of your own: `my_module:MyVerifier`.",
    ),
]
OptionalVerifier = Annotated[
    str | None,
    typer.Option(
        "--verifier",
        "-v",
        help=f"{', '.join(sorted(VERIFIERS))}; or a class of your own: `my_module:MyVerifier`. "
        "[default: math]",
    ),
]
ModeOption = Annotated[
    str | None,
    typer.Option("--mode", "-m", help="Short for `--option mode=…`: `strict`, `lenient`."),
]
OptionTexts = Annotated[
    list[str] | None,
    typer.Option(
        "--option", "-o", metavar="KEY=VALUE", help="An option of the verifier; repeatable."
    ),
]
CompletionColumn = Annotated[
    str,
    typer.Option(help="Column with the model's output; `a.b` reads nested columns."),
]
ReferenceColumn = Annotated[
    str,
    typer.Option(help="Column with the reference; `reward_model.ground_truth` works."),
]
SplitOption = Annotated[
    str | None, typer.Option(help="Split of a Hugging Face dataset that has several.")
]

AgainstFile = Annotated[
    Path | None,
    typer.Option(help="Another scored file: the report shows where the two disagree."),
]
IdColumn = Annotated[
    str | None,
    typer.Option(help="Match rows of `--against` by this column, not by place and content."),
]


RayAddress = Annotated[
    str | None,
    typer.Option(help="Of a Ray cluster, as in `auto`. [default: one of its own, here]"),
]


def make_runner(name: str, *, workers: int | None, ray_address: str | None = None) -> "Runner":
    """Returns the runner of this name.

    Raises:
        ConfigError: an option is outside its range, or does not belong to it.
        EngineMissingError: Ray is not installed.
    """
    from rewardkit.runtime import InlineRunner, PoolRunner

    if ray_address is not None and name != "ray":
        raise ConfigError("--ray-address belongs to --runner ray: give both.")
    if name == "inline":
        return InlineRunner()
    if name == "pool":
        return PoolRunner(workers=workers)
    from rewardkit.runtime.ray_runner import RayRunner

    return RayRunner(address=ray_address, workers=workers)


def read_options(name: str, mode: str | None, texts: Sequence[str] | None) -> dict[str, object]:
    """Returns a verifier's options, as the command line gives them.

    Raises:
        ConfigError: an option is unknown, given twice, or has a wrong value.
    """
    from rewardkit.verifiers.catalog import parse_options

    given = list(texts or ())
    if mode is not None:
        if any(text.partition("=")[0].strip() == "mode" for text in given):
            raise ConfigError("give either --mode or --option mode=…, not both.")
        given.append(f"mode={mode}")
    return parse_options(name, given)


def build_verifier(name: str, options: dict[str, object]) -> Verifier:
    """Returns the verifier with these options.

    Raises:
        ConfigError: a value is outside its range.
        EngineMissingError: what the verifier needs is not installed.
    """
    from rewardkit.verifiers.catalog import make_verifier

    return make_verifier(name, **options)


def verifier_config(name: str, options: dict[str, object]) -> dict[str, Json]:
    """Returns what decides the verdicts: version, verifier, and every option, given or default."""
    from rewardkit._version import __version__
    from rewardkit.verifiers.catalog import effective_options

    # How many workers grade changes no verdict.
    values = {k: v for k, v in effective_options(name, options).items() if k != "workers"}
    return {
        "rewardkit": __version__,
        "verifier": name,
        **{f"option {k}": v for k, v in values.items()},
    }
