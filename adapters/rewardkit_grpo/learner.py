"""One batch of rollouts, one or more optimizer steps."""

import math
from collections.abc import Sequence

import torch
from torch import Tensor, nn

from rewardkit_grpo import parallel
from rewardkit_grpo.aggregation import StepTotals
from rewardkit_grpo.config import GRPOConfig
from rewardkit_grpo.divergence import kl_estimate, kl_loss
from rewardkit_grpo.importance import importance_weights
from rewardkit_grpo.logprobs import collate, completion_logps, completion_logps_shared
from rewardkit_grpo.losses import LOSSES, LossInputs, LossOptions, policy_loss
from rewardkit_grpo.models import Model, autocast
from rewardkit_grpo.reference import Reference
from rewardkit_grpo.rows import LearnerReport, TrainRow, micro_batches, padded
from rewardkit_grpo.schedule import rate_share
from rewardkit_grpo.sharding import Shards, whole
from rewardkit_grpo.trust_region import trust_region_multipliers

__all__ = ["Learner", "NotFiniteError"]


class NotFiniteError(RuntimeError):
    """A loss or a gradient is NaN or infinite; the weights were not touched."""


class Learner:
    """The policy, its optimizer and its reference.

    Args:
        model: weights in fp32; those that require a gradient are trained.
        config: of the run.
        total_updates: optimizer steps of the whole run, for the schedule.
        shards: where weights and optimizer state are split over ranks.
    """

    def __init__(
        self, model: Model, config: GRPOConfig, *, total_updates: int, shards: Shards | None = None
    ) -> None:
        self.model, self.config, self.total_updates = model, config, total_updates
        self.shards = shards
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
        self._reference = Reference(model, kept=bool(config.beta), lora=bool(config.lora_rank))
        self._logps = torch.compile(self._forward) if config.compile else self._forward

    def update(self, rows: Sequence[TrainRow], *, seed: int) -> LearnerReport:
        """Learns from a batch and says how it went.

        Args:
            rows: of this rank; groups are whole.
            seed: of the minibatches.

        Raises:
            NotFiniteError: the loss or the gradient is not finite; the weights are as before it.
        """
        report = LearnerReport()
        self._gather()
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
        self._gather()
        self.optimizer.zero_grad(set_to_none=True)
        loss = 0.0
        for part in micro_batches(
            rows,
            active,
            max_tokens=self.config.micro_batch_tokens,
            shared=self.config.shares_prompts,
        ):
            own = [rows[i] for i in part]
            batch_old = None if old is None else [old[i] for i in part]
            held = None if multipliers is None else [multipliers[i] for i in part]
            loss += self._backward(own, batch_old, held, totals, report)
        if self.shards is None:
            parallel.sum_gradients(self.parameters)
        else:
            self.shards.sum_gradients()
        norm = whole(nn.utils.clip_grad_norm_(self.parameters, self.config.max_grad_norm)).item()
        (broken,) = parallel.sum_counts([int(not math.isfinite(loss))], self.device)
        if broken or not math.isfinite(norm):
            self.optimizer.zero_grad(set_to_none=True)
            raise NotFiniteError(f"the loss is {loss} and the gradient's norm {norm}")
        for group in self.optimizer.param_groups:
            group["lr"] = self.config.learning_rate * self.rate(self.updates)
        self.optimizer.step()
        self.updates += 1
        report.grad_norms.append(norm)
        report.losses.append(loss)

    def _gather(self) -> None:
        if self.shards is not None:
            self.shards.gather()

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
        logps, mask = self._logps(rows)
        old_logps = logps.detach() if old is None else padded(old, logps)
        sampled = padded([row.sampler_logps for row in rows], logps)
        inputs = LossInputs(
            logps,
            old_logps,
            padded([row.advantages for row in rows], logps),
            mask,
            None if multipliers is None else logps.new_tensor(multipliers)[:, None],
        )
        weights = importance_weights(
            old_logps,
            sampled,
            mask,
            correction=config.sampler_correction,
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
        loss.backward()  # type: ignore[no-untyped-call]
        report.tokens += int(mask.sum())
        report.add("clip_fraction", found.clipped, mask)
        report.add("sampler_gap", (old_logps - sampled).abs(), mask)
        return loss.item()

    def rate(self, update: int) -> float:
        """Returns the share of the learning rate at an optimizer step."""
        return rate_share(self.config, update, self.total_updates)

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

    def _forward(self, rows: Sequence[TrainRow]) -> tuple[Tensor, Tensor]:
        """Returns log pi of the rows' tokens and their mask, both (B, T)."""
        config = self.config
        completions = [row.completion for row in rows]
        with autocast(self.device, config.precision):
            if self.config.shares_prompts:
                prompts = {row.group: row.prompt for row in rows}
                places = {group: place for place, group in enumerate(prompts)}
                batch = collate(list(prompts.values()), completions, device=self.device)
                owners = torch.tensor([places[row.group] for row in rows], device=self.device)
                logps = completion_logps_shared(
                    self.model,
                    batch,
                    owners,
                    temperature=config.temperature,
                    chunk_tokens=config.chunk_tokens,
                )
            else:
                prompts_each = [row.prompt for row in rows]
                batch = collate(prompts_each, completions, device=self.device)
                logps = completion_logps(
                    self.model,
                    batch,
                    temperature=config.temperature,
                    chunk_tokens=config.chunk_tokens,
                )
        return logps, batch.completion_mask.to(logps)

    @torch.no_grad()
    def _old_logps(self, rows: list[TrainRow]) -> list[Tensor]:
        """Returns each row's log-probabilities under the policy of now."""
        found: list[Tensor] = [torch.empty(0)] * len(rows)
        needed = [i for i, row in enumerate(rows) if row.teaches or self.config.beta]
        for part in micro_batches(
            rows,
            needed,
            max_tokens=self.config.micro_batch_tokens,
            shared=self.config.shares_prompts,
        ):
            logps, _ = self._logps([rows[i] for i in part])
            for place, i in enumerate(part):
                found[i] = logps[place, : len(rows[i].completion)].clone()
        return found

    @torch.no_grad()
    def _reference_logps(self, rows: Sequence[TrainRow]) -> Tensor:
        with self._reference():
            return self._forward(rows)[0]
