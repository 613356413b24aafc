"""From a config file to the objects of a run."""

import importlib
import logging
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import torch
import yaml
from pydantic import BaseModel, ConfigDict, Field, model_validator

from rewardkit.advantages import AdvantageStage
from rewardkit.datasets.readers import open_records, raise_bad_row
from rewardkit.errors import ConfigError, DataError
from rewardkit.noise import Channel, OnlineRates
from rewardkit.reward import Reward
from rewardkit.verifiers.catalog import make_verifier
from rewardkit_grpo.checking import checked
from rewardkit_grpo.config import GRPOConfig
from rewardkit_grpo.data import Tokenizer
from rewardkit_grpo.models import Model
from rewardkit_grpo.stages import CORRECTIONS, make_stage

__all__ = [
    "JudgeConfig",
    "ModelConfig",
    "RewardConfig",
    "RunConfig",
    "load_model",
    "load_rows",
    "read_config",
]


class ModelConfig(BaseModel):
    """Where the model comes from."""

    model_config = ConfigDict(extra="forbid", use_attribute_docstrings=True)

    path: str
    """A folder that `save_pretrained` wrote, or a name that transformers finds."""
    gguf_file: str | None = None
    """A GGUF file in that folder; its weights are taken back to fp32."""


class RewardConfig(BaseModel):
    """What completions are worth: a verifier by name, or a function that makes a `Reward`."""

    model_config = ConfigDict(extra="forbid", use_attribute_docstrings=True)

    verifier: str | None = None
    """A name such as `math`, or `my_module:MyVerifier`."""
    options: dict[str, Any] = Field(default_factory=dict)
    """Of the verifier, or the arguments of the function."""
    factory: str | None = None
    """`my_module:make_reward`, which returns a `Reward`."""

    @model_validator(mode="after")
    def _one_of_two(self) -> "RewardConfig":
        if (self.verifier is None) == (self.factory is None):
            raise ValueError("give either verifier or factory")
        return self

    def build(self) -> Reward:
        """Returns the reward.

        Raises:
            ConfigError: there is no such verifier, option or function, or it makes no `Reward`.
        """
        if self.verifier is not None:
            name = self.verifier.rpartition(":")[2]
            return Reward({name: make_verifier(self.verifier, **self.options)})
        made = _function(str(self.factory))(**self.options)
        if not isinstance(made, Reward):
            raise ConfigError(f"{self.factory} returned a {type(made).__name__}, not a Reward")
        return made


class JudgeConfig(BaseModel):
    """A second verifier that measures the error rates of the first while the run goes on."""

    model_config = ConfigDict(extra="forbid", use_attribute_docstrings=True)

    verifier: str
    """A name such as `math`, or `my_module:MyVerifier`."""
    options: dict[str, Any] = Field(default_factory=dict)
    """Of the verifier."""
    share: float = Field(default=0.1, gt=0, le=1)
    """Of the completions that it checks."""
    stratified_by: tuple[str, ...] = ()
    """Columns of the data set; each combination of their values has rates of its own."""
    decay: float = Field(default=0.98, ge=0, lt=1)
    """How much of the earlier steps' counts stays at each step."""
    noise: Path | None = None
    """The judge's own error rates, a `noise.json`; None takes it for perfect."""

    def build(self, *, seed: int) -> OnlineRates:
        """Returns the rates, which know nothing yet.

        Raises:
            ConfigError: there is no such verifier or option.
            DataError: `noise` cannot be read.
        """
        return OnlineRates(
            make_verifier(self.verifier, **self.options),
            share=self.share,
            stratified_by=self.stratified_by,
            decay=self.decay,
            judge_rates=None if self.noise is None else Channel.load(self.noise).rates,
            seed=seed,
        )


class RunConfig(BaseModel):
    """A config file: what is trained, on what, for what, and how."""

    model_config = ConfigDict(extra="forbid", use_attribute_docstrings=True)

    model: ModelConfig
    dataset: Path
    """A file that `rewardkit score` could read, with a column `prompt`."""
    eval_dataset: Path | None = None
    reward: RewardConfig
    judge: JudgeConfig | None = None
    train: GRPOConfig = Field(default_factory=GRPOConfig)

    @model_validator(mode="after")
    def _judge_is_used(self) -> "RunConfig":
        if self.judge is not None and self.train.loss not in CORRECTIONS:
            raise ValueError(f"judge: only the losses {' and '.join(CORRECTIONS)} use its rates")
        if self.judge is not None and (self.train.rho0 or self.train.rho1 or self.train.noise):
            raise ValueError("judge: it measures what rho0, rho1 and noise would give; leave them")
        return self

    def make_stage(self) -> AdvantageStage:
        """Returns the advantage stage, with the judge's rates if there is one."""
        online = None if self.judge is None else self.judge.build(seed=self.train.seed)
        return make_stage(self.train, online)


def read_config(path: Path, overrides: Mapping[str, str] | None = None) -> RunConfig:
    """Returns a config file, checked.

    Args:
        path: of a YAML file.
        overrides: dotted names and values in YAML, as in `{"train.steps": "10"}`.

    Raises:
        DataError: the file cannot be read.
        ConfigError: a field is unknown, missing or wrong; all of them are listed.
    """
    try:
        data = yaml.safe_load(path.read_text("utf-8"))
    except OSError as error:
        raise DataError(f"{path}: {error.strerror}") from error
    except (yaml.YAMLError, UnicodeDecodeError) as error:
        raise DataError(f"{path} is no YAML: {error}") from error
    if not isinstance(data, dict):
        raise ConfigError(f"{path}: give the fields model, dataset, reward and train")
    for name, value in (overrides or {}).items():
        *parents, last = name.split(".")
        place = data
        for parent in parents:
            place = place.setdefault(parent, {})
            if not isinstance(place, dict):
                raise ConfigError(f"{name}: {parent} has no fields")
        place[last] = yaml.safe_load(value)
    return checked(RunConfig, data, where=str(path))


def load_model(config: ModelConfig) -> tuple[Model, Tokenizer]:
    """Returns a model with fp32 weights, and its tokenizer.

    Raises:
        DataError: transformers cannot load it.
    """
    from transformers import AutoModelForCausalLM, AutoTokenizer
    from transformers.utils.logging import disable_progress_bar

    disable_progress_bar()  # type: ignore[no-untyped-call]
    logging.getLogger("transformers").setLevel(logging.ERROR)
    more = {} if config.gguf_file is None else {"gguf_file": config.gguf_file}
    try:
        tokenizer = AutoTokenizer.from_pretrained(config.path, **more)
        model = AutoModelForCausalLM.from_pretrained(config.path, dtype=torch.float32, **more)
    except (OSError, ValueError, KeyError) as error:
        raise DataError(f"the model {config.path} cannot be loaded: {error}") from error
    if config.gguf_file is not None:
        model = _plain(model)
    return model, tokenizer


def _plain(model: Model) -> Model:
    """Returns the model as if it had never been quantized, so that it can be saved."""
    settings = model.config.to_dict()
    settings.pop("quantization_config", None)
    made = type(model)(type(model.config).from_dict(settings))
    made.load_state_dict(model.state_dict())
    made.generation_config = model.generation_config
    return made


def load_rows(path: Path) -> list[dict[str, Any]]:
    """Returns the rows of a data file.

    Raises:
        DataError: it cannot be read.
    """
    return [record.data for record in open_records(path).records(raise_bad_row)]


def _function(name: str) -> Callable[..., object]:
    module, _, function = name.partition(":")
    if not function:
        raise ConfigError(f"factory is my_module:my_function, not {name!r}")
    try:
        found = getattr(importlib.import_module(module), function, None)
    except ModuleNotFoundError as error:
        if error.name is None or not f"{module}.".startswith(f"{error.name}."):
            raise
        raise ConfigError(f"no module {module!r}: is its folder in PYTHONPATH?") from None
    if not callable(found):
        raise ConfigError(f"{module} has no function {function!r}")
    made: Callable[..., object] = found
    return made
