"""The trainer's options, checked before anything is loaded."""

import difflib
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Literal, Self, TypeAlias, TypeVar

from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

from rewardkit.advantages import Estimator, StdKind
from rewardkit.errors import ConfigError
from rewardkit_grpo.importance import Correction
from rewardkit_grpo.losses import LOSSES

__all__ = ["GRPOConfig", "SamplerName", "checked"]

M = TypeVar("M", bound=BaseModel)

SamplerName: TypeAlias = Literal["plain", "hit_rate", "adarft", "frontier"]

# What the paper of each loss takes; the others are centred and scaled by group, as in GRPO.
_ESTIMATORS: dict[str, Estimator] = {
    "dr_grpo": "mean",
    "reinforce": "leave_one_out",
    "rloo": "leave_one_out",
    "is_grpo": "leave_one_out",
    "quatro": "leave_one_out",
}


class GRPOConfig(BaseModel):
    """What a run does; every field has a default that works on a CPU."""

    model_config = ConfigDict(extra="forbid", use_attribute_docstrings=True)

    output_dir: Path = Path("out/grpo")
    """Holds metrics, rollouts and checkpoints; a run that finds a checkpoint there goes on."""
    seed: int = 0
    """Of everything random: prompts, samples, minibatches."""
    steps: int = Field(default=100, ge=1)
    """How many batches of rollouts are made and learnt from."""

    prompts_per_step: int = Field(default=8, ge=1)
    """Over all ranks."""
    group_size: int = Field(default=8, ge=2)
    """Completions of one prompt."""
    max_new_tokens: int = Field(default=256, ge=1)
    """A completion that has not ended by then is truncated."""
    max_prompt_tokens: int | None = Field(default=None, ge=1)
    """A longer prompt is an error, not a cut; None for no bound."""
    temperature: float = Field(default=1.0, gt=0)
    """Of the sampler, and of the log-probabilities that are learnt from."""
    stop: tuple[str, ...] = ()
    """Texts of one token each that end a completion, beside the model's own end."""
    top_k: int = Field(default=0, ge=0)
    """Samples from the k likeliest tokens; 0 for all."""
    top_p: float = Field(default=1.0, gt=0, le=1)
    """Samples from the smallest set of tokens with this much probability."""
    cuts_k: int = Field(default=0, ge=0)
    """CUTS: uniform over up to k tokens, each of probability `cuts_min_p` or more; 0 for off."""
    cuts_min_p: float = Field(default=0.05, gt=0, le=1)
    """See `cuts_k`."""
    cuts_share: float = Field(default=0.5, ge=0, le=1)
    """Share of each group that is sampled with CUTS; the rest is sampled plainly."""
    generation_rows: int = Field(default=256, ge=1)
    """Completions that are generated side by side."""

    loss: str = "grpo"
    """A name of `rewardkit_grpo.losses.LOSSES`."""
    estimator: Estimator | None = None
    """How advantages are made; None for what the paper of the loss takes."""
    std: StdKind = "sample"
    """Divisor of a group's variance."""
    advantage_eps: float = Field(default=1e-4, ge=0)
    """Added to a deviation, in units of the reward."""
    eps_low: float = Field(default=0.2, gt=0)
    """How far a ratio may fall below 1; 3e-4 suits gspo."""
    eps_high: float | None = Field(default=None, gt=0)
    """How far it may rise above 1; None for `eps_low`. 0.28 for DAPO, 4e-4 for gspo."""
    delta: float | None = Field(default=None, gt=1)
    """Largest ratio where the advantage is negative."""
    ratio_max: float = Field(default=5.0, ge=1)
    """CISPO's bound."""
    trust_region: float = Field(default=0.05, gt=0)
    """QUATRO's bound, in nats."""
    beta: float = Field(default=0.0, ge=0)
    """Weight of KL(policy || reference model)."""
    mask_truncated: bool = False
    """Leaves truncated completions out of loss, gradient and denominators; baselines keep them."""
    correction: Correction = "none"
    """Makes up for a sampler that is not the learner: worth it where they differ in precision."""
    correction_largest: float = Field(default=2.0, gt=0)
    """Bound on its weights."""

    rho0: float = Field(default=0.0, ge=0, lt=1)
    """The verifier's false-positive rate, for pgbc and pgfc."""
    rho1: float = Field(default=0.0, ge=0, lt=1)
    """The verifier's false-negative rate, for pgbc and pgfc."""
    noise: Path | None = None
    """A `noise.json` with the verifier's rates, by stratum too, in place of rho0 and rho1."""
    noise_scale: float | Literal["ema", "j"] = 1.0
    """What corrected coefficients are divided by: never a group's own deviation."""
    accept_at: float | None = Field(default=None, gt=0)
    """From which reward on pgbc and pgfc take one as accepted; None: rewards are 0 or 1."""
    noisy_control: bool = False
    """Runs the same path with rates of 0: what a corrected run is compared with."""

    minibatches: int = Field(default=1, ge=1)
    """Optimizer steps that one batch of rollouts is split into."""
    epochs: int = Field(default=1, ge=1)
    """How often the batch is gone through."""
    micro_batch_tokens: int = Field(default=16_384, ge=1)
    """Padded tokens of one forward pass; changes memory and speed, never the gradient."""
    learning_rate: float = Field(default=1e-6, gt=0)
    schedule: Literal["constant", "linear", "cosine"] = "constant"
    """Of the learning rate, after the warm-up, down to 0."""
    warmup_steps: int = Field(default=0, ge=0)
    weight_decay: float = Field(default=0.0, ge=0)
    adam_betas: tuple[float, float] = (0.9, 0.999)
    max_grad_norm: float = Field(default=1.0, gt=0)

    precision: Literal["fp32", "bf16"] = "fp32"
    """Of the matrix products. Weights, LM head and log-probabilities are fp32 in both."""
    share_prompts: bool = True
    """Runs each prompt once for all its completions, with gradient."""
    chunk_tokens: int = Field(default=0, ge=0)
    """Tokens whose logits exist at once; 0 for all. 1024 for large vocabularies."""
    gradient_checkpointing: bool = False
    """Less memory, a second forward pass; prompts are then not shared."""
    compile: bool = False
    """torch.compile for the learner's forward pass."""

    lora_rank: int = Field(default=0, ge=0)
    """Trains adapters of this rank in all linear layers; 0 trains everything. Needs peft."""
    lora_alpha: int = Field(default=32, ge=1)

    sampler: SamplerName = "plain"
    """Which prompts come next: see `rewardkit_grpo.samplers`."""
    hit_rate_band: tuple[float, float] = (0.1, 0.9)
    """The `hit_rate` sampler prefers prompts inside of it."""
    target_difficulty: float = Field(default=0.5, ge=0, le=1)
    """The mean reward that `adarft` and `frontier` steer to."""
    replay_share: float = Field(default=0.0, ge=0, lt=1)
    """Share of a step's prompts that are drawn again from those with rare successes."""

    on_reward_error: Literal["abstain", "zero", "raise"] = "abstain"
    """What becomes of the completions of a prompt whose reward raises."""
    on_nan: Literal["stop", "skip"] = "stop"
    """After a loss or gradient that is not finite; the batch is saved either way."""

    eval_every: int = Field(default=0, ge=0)
    """Steps between evaluations; 0 for none."""
    eval_samples: int = Field(default=4, ge=1)
    """Completions of each prompt of the evaluation set."""
    eval_ks: tuple[int, ...] = (1, 4)
    """The k of pass@k, each at most `eval_samples`."""
    save_every: int = Field(default=0, ge=0)
    """Steps between checkpoints; 0 for one at the end."""
    keep_checkpoints: int = Field(default=2, ge=1)
    save_rollouts: bool = True
    """Writes rollouts.jsonl, which `rewardkit score` reads."""
    tensorboard: bool = False
    """Also writes the metrics for TensorBoard, which must be installed."""

    @model_validator(mode="after")
    def _fits_together(self) -> Self:
        if self.loss not in LOSSES:
            raise ValueError(f"loss: no loss is named {self.loss!r}; there are {', '.join(LOSSES)}")
        if self.loss in ("pgbc", "pgfc"):
            if self.estimator is not None:
                raise ValueError(
                    f"estimator: {self.loss} makes its own coefficients, and any group estimator "
                    "would cancel them; leave it away"
                )
            if self.noise is not None and (self.rho0 or self.rho1):
                raise ValueError("noise: give a file, or rho0 and rho1, not both")
        elif self.rho0 or self.rho1 or self.noise is not None:
            raise ValueError("rho0, rho1, noise: only the losses pgbc and pgfc read them")
        if self.loss not in ("grpo", "bnpo", "dr_grpo", "dapo") and self.delta is not None:
            raise ValueError(f"delta: the loss {self.loss} has no use for it")
        if max(self.eval_ks, default=0) > self.eval_samples:
            raise ValueError("eval_ks: pass@k needs eval_samples of k or more")
        if not 0 <= self.hit_rate_band[0] < self.hit_rate_band[1] <= 1:
            raise ValueError("hit_rate_band: give (low, high) with 0 <= low < high <= 1")
        if not isinstance(self.noise_scale, str) and not self.noise_scale > 0:
            raise ValueError("noise_scale: give a number above 0, ema or j")
        return self

    @property
    def group_estimator(self) -> Estimator:
        """The estimator that is used where the loss has no coefficients of its own."""
        return self.estimator or _ESTIMATORS.get(self.loss, "group_z")

    @property
    def one_update(self) -> bool:
        """Whether the policy that learns is the one that sampled: every ratio is then 1."""
        return self.minibatches == 1 and self.epochs == 1


def checked(kind: type[M], data: Mapping[str, Any], *, where: str = "the config") -> M:
    """Returns a model of pydantic, or says in our words what is wrong with the data.

    Args:
        kind: its class.
        data: its fields.
        where: what the message calls the data.

    Raises:
        ConfigError: a field is unknown, missing or wrong; all of them are listed.
    """
    try:
        return kind.model_validate(data)
    except ValidationError as error:
        lines = []
        for problem in error.errors():
            place = ".".join(str(part) for part in problem["loc"])
            text = problem["msg"].removeprefix("Value error, ")
            if problem["type"] == "extra_forbidden":
                text = "there is no such option" + _hint(str(problem["loc"][-1]), kind)
            lines.append(f"{place}: {text}" if place else text)
        raise ConfigError(f"{where}: " + "; ".join(lines)) from None


def _hint(name: str, kind: type[BaseModel]) -> str:
    known = {*kind.model_fields, *GRPOConfig.model_fields}
    close = difflib.get_close_matches(name, known, n=1)
    return f"; did you mean {close[0]}?" if close else ""
