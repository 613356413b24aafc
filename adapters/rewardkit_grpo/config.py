"""The trainer's options, checked before anything is loaded."""

from pathlib import Path
from typing import Literal, Self, TypeAlias

from pydantic import BaseModel, ConfigDict, Field, model_validator

from rewardkit.advantages import Estimator, StdKind
from rewardkit_grpo.importance import Correction
from rewardkit_grpo.losses import LOSSES
from rewardkit_grpo.server_config import ServerConfig
from rewardkit_grpo.trackers import TrackerName

__all__ = ["GRPOConfig", "SamplerName"]

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
    overlap_reward: bool | None = None
    """Judges them while the next ones are generated; None: where every component of the reward
    looks at one completion by itself. With True, others see `generation_rows` at once."""
    server: ServerConfig | None = None
    """What samples in this process's place; None for the policy itself."""
    sharding: Literal["none", "fsdp"] = "none"
    """`fsdp` splits weights, gradients and optimizer state over the ranks of torchrun."""

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
    correction: Correction | None = None
    """Makes up for a sampler that is not the learner; None: `token_truncate` where a server
    samples, else `none`: worth it where they differ in precision."""
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
    report_to: tuple[TrackerName, ...] = ()
    """Also sends the metrics to `tensorboard`, `trackio` or `wandb`, which must be installed."""
    project: str = "rewardkit"
    """The project that `trackio` and `wandb` list the run under."""

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
        self._check_machinery()
        if not isinstance(self.noise_scale, str) and not self.noise_scale > 0:
            raise ValueError("noise_scale: give a number above 0, ema or j")
        return self

    def _check_machinery(self) -> None:
        if self.server is not None:
            if self.cuts_k or self.top_k or self.top_p < 1:
                raise ValueError(
                    "server: its log-probabilities would be those of the cut distribution; leave "
                    "top_k, top_p and cuts_k"
                )
            if (self.server.weights == "lora") != bool(self.lora_rank):
                raise ValueError("server.weights: lora goes with a lora_rank, reload without one")
        if self.sharding == "fsdp" and self.beta and not self.lora_rank:
            raise ValueError("beta: with sharding, the reference needs lora_rank; or leave beta")
        if self.sharding == "fsdp" and self.compile:
            raise ValueError("compile: not with sharding")

    @property
    def shares_prompts(self) -> bool:
        """Whether the learner runs each prompt once for all its completions."""
        return self.share_prompts and not self.gradient_checkpointing

    @property
    def sampler_correction(self) -> Correction:
        """The correction that is used for a sampler that is not the learner."""
        return self.correction or ("none" if self.server is None else "token_truncate")

    @property
    def group_estimator(self) -> Estimator:
        """The estimator that is used where the loss has no coefficients of its own."""
        return self.estimator or _ESTIMATORS.get(self.loss, "group_z")

    @property
    def one_update(self) -> bool:
        """Whether the policy that learns is the one that sampled: every ratio is then 1."""
        return self.minibatches == 1 and self.epochs == 1
