"""One batch of rollouts, one or more optimizer steps."""

import math
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field
from typing import Any

import torch
from torch import Tensor, nn

from rewardkit_grpo import parallel
from rewardkit_grpo.aggregation import StepTotals
from rewardkit_grpo.config import GRPOConfig
from rewardkit_grpo.divergence import kl_estimate, kl_loss
from rewardkit_grpo.importance import importance_weights
from rewardkit_grpo.logprobs import (
    TokenScores,
    collate,
    completion_scores,
    completion_scores_shared,
)
from rewardkit_grpo.losses import LOSSES, LossInputs, LossOptions, policy_loss
from rewardkit_grpo.models import Model
from rewardkit_grpo.trust_region import trust_region_multipliers

__all__ = ["Learner", "LearnerReport", "NotFiniteError", "TrainRow"]


class NotFiniteError(RuntimeError):
    """A loss or a gradient is NaN or infinite; the weights were not touched."""


@dataclass(frozen=True, slots=True)
class TrainRow:
    """One completion as the learner takes it."""

    group: int
    """Rows of one group have one prompt."""
    prompt: tuple[int, ...]
    completion: tuple[int, ...]
    sampler_logps: tuple[float, ...]
    advantages: tuple[float, ...]
    """One a token."""
    counts: bool = True
    """False for a row that is in no denominator: undecided, or truncated and masked."""

    @property
    def teaches(self) -> bool:
        """Whether its policy gradient is not 0."""
        return self.counts and any(self.advantages)


@dataclass(slots=True)
class LearnerReport:
    """Sums over the tokens of one `update`, and what each optimizer step did."""

    tokens: int = 0
    """Tokens that went through a backward pass."""
    sums: dict[str, float] = field(default_factory=dict)
    grad_norms: list[float] = field(default_factory=list)
    losses: list[float] = field(default_factory=list)
    skipped_rows: int = 0
    """Rows that were left out of the forward pass because they could teach nothing."""

    def add(self, name: str, values: Tensor, mask: Tensor) -> None:
        """Adds the values where the mask is 1."""
        kept = torch.where(mask > 0, values.detach(), 0.0)
        self.sums[name] = self.sums.get(name, 0.0) + kept.sum().item()

    def means(self) -> dict[str, float]:
        """Returns the means over tokens and steps."""
        found = {name: value / max(self.tokens, 1) for name, value in self.sums.items()}
        for name, values in (("grad_norm", self.grad_norms), ("loss", self.losses)):
            if values:
                found[name] = math.fsum(values) / len(values)
        return found


class Learner:
    """The policy, its optimizer and its reference.

    Args:
        model: weights in fp32; those that require a gradient are trained.
        config: of the run.
        total_updates: optimizer steps of the whole run, for the schedule.
    """

    def __init__(self, model: Model, config: GRPOConfig, *, total_updates: int) -> None:
        self.model, self.config, self.total_updates = model, config, total_updates
        self.parameters: list[nn.Parameter] = [p for p in model.parameters() if p.requires_grad]
        self.device: torch.device = self.parameters[0].device
        self.optimizer = torch.optim.AdamW(
            self.parameters,
            lr=config.learning_rate,
            betas=config.adam_betas,
            weight_decay=config.weight_decay,
        )
        self.updates = 0
        """Optimizer steps done."""
        self.reference: dict[str, Tensor] = {}
        if config.beta and not config.lora_rank:
            # A second copy of the weights, put in place of the policy's for a forward pass.
            self.reference = {
                name: value.detach().clone()
                for name, value in model.named_parameters()
                if value.requires_grad
            }
        self._scores = torch.compile(self._forward) if config.compile else self._forward

    def autocast(self) -> AbstractContextManager[None]:
        """Returns the precision of the run's matrix products."""
        if self.config.precision == "fp32":
            return nullcontext()
        return torch.autocast(self.device.type, torch.bfloat16)

    def update(self, rows: Sequence[TrainRow], *, seed: int) -> LearnerReport:
        """Learns from a batch and says how it went.

        Args:
            rows: of this rank; groups are whole.
            seed: of the minibatches.

        Raises:
            NotFiniteError: the loss or the gradient is not finite; the weights are as before it.
        """
        report = LearnerReport()
        rows = sorted((row for row in rows if row.counts), key=lambda row: row.group)
        old = None if self.config.one_update else self._old_logps(rows)
        generator = torch.Generator().manual_seed(seed)
        for _ in range(self.config.epochs):
            count = self.config.minibatches
            order = torch.randperm(len(rows), generator=generator).tolist()
            if count == 1:
                order = list(range(len(rows)))
            for part in range(count):
                chosen = sorted(order[part::count])
                self._step([rows[i] for i in chosen], old and [old[i] for i in chosen], report)
        return report

    def _step(self, rows: list[TrainRow], old: list[Tensor] | None, report: LearnerReport) -> None:
        """Takes one optimizer step on `rows`."""
        local_tokens = sum(len(row.completion) for row in rows)
        active = [i for i, row in enumerate(rows) if row.teaches or self.config.beta]
        sequences, tokens, teaching = parallel.sum_counts(
            [len(rows), local_tokens, len(active)], self.device
        )
        report.skipped_rows += len(rows) - len(active)
        if not teaching:
            return
        totals = StepTotals(
            sequences, tokens, local_tokens, parallel.world_size(), self.config.max_new_tokens
        )
        multipliers = self._multipliers(rows)
        self.optimizer.zero_grad(set_to_none=True)
        loss = 0.0
        for part in self._micro_batches(rows, active):
            own = [rows[i] for i in part]
            batch_old = None if old is None else [old[i] for i in part]
            held = None if multipliers is None else [multipliers[i] for i in part]
            loss += self._backward(own, batch_old, held, totals, report)
        parallel.sum_gradients(self.parameters)
        norm = nn.utils.clip_grad_norm_(self.parameters, self.config.max_grad_norm).item()
        if not (math.isfinite(norm) and math.isfinite(loss)):
            self.optimizer.zero_grad(set_to_none=True)
            raise NotFiniteError(f"the loss is {loss} and the gradient's norm {norm}")
        for group in self.optimizer.param_groups:
            group["lr"] = self.config.learning_rate * self.rate(self.updates)
        self.optimizer.step()
        self.updates += 1
        report.grad_norms.append(norm)
        report.losses.append(loss)

    def _backward(
        self,
        rows: list[TrainRow],
        old: list[Tensor] | None,
        multipliers: list[float] | None,
        totals: StepTotals,
        report: LearnerReport,
    ) -> float:
        """Adds the gradient of one micro-batch."""
        config = self.config
        scores, mask = self._scores(rows)
        logps = scores.logps
        old_logps = logps.detach() if old is None else self._padded(old, logps)
        sampled = self._padded([row.sampler_logps for row in rows], logps)
        inputs = LossInputs(
            logps,
            old_logps,
            self._padded([row.advantages for row in rows], logps),
            mask,
            None if multipliers is None else logps.new_tensor(multipliers)[:, None],
        )
        weights = importance_weights(
            old_logps,
            sampled,
            mask,
            correction=config.correction,
            largest=config.correction_largest,
        )
        found = policy_loss(
            config.loss, inputs, totals=totals, options=self._options(), weights=weights
        )
        loss = found.loss
        if config.beta:
            reference = self._reference_logps(rows)
            term = policy_loss(
                "reinforce",
                inputs._replace(logps=kl_loss(logps, old_logps, reference), advantages=-mask),
                totals=totals,
                aggregation=LOSSES[config.loss].aggregation,
            )
            loss = loss + config.beta * term.loss
            report.add("kl", kl_estimate(logps.detach(), reference), mask)
        loss.backward()  # type: ignore[no-untyped-call] # torch leaves it untyped
        report.tokens += int(mask.sum())
        report.add("entropy", scores.entropy, mask)
        report.add("clip_fraction", found.clipped, mask)
        report.add("sampler_gap", (old_logps - sampled).abs(), mask)
        return loss.item()

    def rate(self, update: int) -> float:
        """Returns the share of the learning rate at an optimizer step."""
        warmup = self.config.warmup_steps
        if update < warmup:
            return (update + 1) / warmup
        share = (update - warmup) / max(self.total_updates - warmup, 1)
        if self.config.schedule == "linear":
            return max(1 - share, 0.0)
        if self.config.schedule == "cosine":
            return 0.5 * (1 + math.cos(math.pi * min(share, 1.0)))
        return 1.0

    def _options(self) -> LossOptions:
        c = self.config
        return LossOptions(
            eps_low=c.eps_low,
            eps_high=c.eps_high,
            delta=c.delta,
            ratio_max=c.ratio_max,
            trust_region=c.trust_region,
        )

    def _multipliers(self, rows: Sequence[TrainRow]) -> list[float] | None:
        if self.config.loss != "quatro":
            return None
        values = [row.advantages[0] for row in rows]
        return trust_region_multipliers(
            values, [row.group for row in rows], self.config.trust_region
        )

    def _micro_batches(self, rows: list[TrainRow], active: Sequence[int]) -> Iterator[list[int]]:
        """Yields rows whose padded tokens fit the budget: whole groups, or like lengths."""
        shared = self._shares
        key: Callable[[int], Any] = (
            (lambda i: (rows[i].group, len(rows[i].completion)))
            if shared
            else (lambda i: len(rows[i].prompt) + len(rows[i].completion))
        )
        part: list[int] = []
        for i in sorted(active, key=key):
            longer = [*part, i]
            prompts = {rows[j].group for j in longer} if shared else longer
            width = max(len(rows[j].prompt) for j in longer)
            length = max(len(rows[j].completion) for j in longer)
            if (
                part
                and len(prompts) * width + len(longer) * length > self.config.micro_batch_tokens
            ):
                yield part
                longer = [i]
            part = longer
        if part:
            yield part

    @property
    def _shares(self) -> bool:
        return self.config.share_prompts and not self.config.gradient_checkpointing

    def _forward(self, rows: Sequence[TrainRow]) -> tuple[TokenScores, Tensor]:
        """Returns the scores of the rows' tokens and their mask."""
        config = self.config
        completions = [row.completion for row in rows]
        with self.autocast():
            if self._shares:
                prompts = {row.group: row.prompt for row in rows}
                places = {group: place for place, group in enumerate(prompts)}
                batch = collate(list(prompts.values()), completions, device=self.device)
                owners = torch.tensor([places[row.group] for row in rows], device=self.device)
                scores = completion_scores_shared(
                    self.model,
                    batch,
                    owners,
                    temperature=config.temperature,
                    chunk_tokens=config.chunk_tokens,
                )
            else:
                prompts_each = [row.prompt for row in rows]
                batch = collate(prompts_each, completions, device=self.device)
                scores = completion_scores(
                    self.model,
                    batch,
                    temperature=config.temperature,
                    chunk_tokens=config.chunk_tokens,
                )
        return scores, batch.completion_mask.to(scores.logps)

    @torch.no_grad()
    def _old_logps(self, rows: list[TrainRow]) -> list[Tensor]:
        """Returns each row's log-probabilities under the policy of now."""
        found: list[Tensor] = [torch.empty(0)] * len(rows)
        needed = [i for i, row in enumerate(rows) if row.teaches or self.config.beta]
        for part in self._micro_batches(rows, needed):
            scores, _ = self._scores([rows[i] for i in part])
            for place, i in enumerate(part):
                found[i] = scores.logps[place, : len(rows[i].completion)].clone()
        return found

    @torch.no_grad()
    def _reference_logps(self, rows: Sequence[TrainRow]) -> Tensor:
        if self.config.lora_rank:
            with self.model.disable_adapter():
                return self._forward(rows)[0].logps
        trained = dict(self.model.named_parameters())
        kept = {name: trained[name].data for name in self.reference}
        try:
            for name, value in self.reference.items():
                trained[name].data = value
            return self._forward(rows)[0].logps
        finally:
            for name, value in kept.items():
                trained[name].data = value

    def _padded(self, rows: Sequence[Sequence[float] | Tensor], like: Tensor) -> Tensor:
        out = torch.zeros_like(like, requires_grad=False)
        for index, row in enumerate(rows):
            out[index, : len(row)] = torch.as_tensor(row, dtype=like.dtype)
        return out
