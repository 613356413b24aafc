"""The loop: prompts, rollouts, rewards, advantages, an optimizer step.

A step depends on the weights, the optimizer, the sampler's state and numbers made from the seed and
the step's own number, and on nothing else: so a run that was killed goes on as if it had not been.
"""

import random
import time
from collections.abc import Iterable, Iterator, Mapping
from contextlib import ExitStack
from typing import Any

import torch

from rewardkit.advantages import Advantages, AdvantageStage
from rewardkit.errors import ConfigError
from rewardkit.reward import Reward
from rewardkit_grpo import parallel
from rewardkit_grpo.actor import Actor, Rollouts
from rewardkit_grpo.config import GRPOConfig
from rewardkit_grpo.data import Tokenizer, columns_of, load_prompts
from rewardkit_grpo.display import Display, NoDisplay
from rewardkit_grpo.evaluation import evaluate
from rewardkit_grpo.experience import Experience, explore
from rewardkit_grpo.learner import Learner, NotFiniteError
from rewardkit_grpo.metrics import Metrics, MetricsLog, reward_metrics, speed_metrics
from rewardkit_grpo.models import Model, prepared
from rewardkit_grpo.records import write_rollouts
from rewardkit_grpo.resume import restore_run, save_run
from rewardkit_grpo.rows import LearnerReport, train_rows
from rewardkit_grpo.samplers import make_sampler
from rewardkit_grpo.scoring import Scored, looks_at_rows, score_groups
from rewardkit_grpo.sharding import Shards
from rewardkit_grpo.stages import correction_metrics, make_stage

__all__ = ["Trainer", "train"]


def train(
    model: Model,
    tokenizer: Tokenizer,
    reward: Reward,
    dataset: Iterable[Mapping[str, Any]],
    config: GRPOConfig,
    *,
    eval_dataset: Iterable[Mapping[str, Any]] | None = None,
    stage: AdvantageStage | None = None,
    display: Display | None = None,
) -> "Trainer":
    """Trains the model in place, and returns the trainer, whose `history` has every step.

    Args:
        model: a transformers causal language model with fp32 weights.
        tokenizer: its own.
        reward: what completions are worth.
        dataset: rows with `prompt` and the columns that the reward reads.
        config: of the run.
        eval_dataset: rows for pass@k.
        stage: advantages of your own making, in place of the config's.
        display: shows the run; None shows nothing.

    Raises:
        RewardkitError: the config, the data or the installation must be corrected first.
        NotFiniteError: a loss or gradient is not finite, and `on_nan` is `stop`.
    """
    trainer = Trainer(
        model, tokenizer, reward, dataset, config, eval_dataset=eval_dataset, stage=stage
    )
    trainer.run(display=display)
    return trainer


class Trainer:
    """A run; the arguments are those of `train`."""

    def __init__(
        self,
        model: Model,
        tokenizer: Tokenizer,
        reward: Reward,
        dataset: Iterable[Mapping[str, Any]],
        config: GRPOConfig,
        *,
        eval_dataset: Iterable[Mapping[str, Any]] | None = None,
        stage: AdvantageStage | None = None,
    ) -> None:
        parallel.start()
        if config.prompts_per_step % parallel.world_size():
            raise ConfigError(
                f"prompts_per_step is a multiple of the {parallel.world_size()} processes, not "
                f"{config.prompts_per_step}"
            )
        self.stage = stage or make_stage(config)
        self.reward, self.config = reward, config
        limit = config.max_prompt_tokens
        self.prompts = load_prompts(dataset, tokenizer, reward=reward, max_tokens=limit)
        self.eval_prompts = []
        if eval_dataset is not None:
            where = "the evaluation set"
            self.eval_prompts = load_prompts(eval_dataset, tokenizer, reward=reward, where=where)
        device = parallel.device_of_rank()
        self.model = prepared(model, config, device)
        self.shards = Shards(self.model, device) if config.sharding == "fsdp" else None
        updates = config.steps * config.epochs * config.minibatches
        self.learner = Learner(self.model, config, total_updates=updates, shards=self.shards)
        self.actor = Actor(self.model, tokenizer, config, shards=self.shards)
        difficulties = [prompt.columns.get("difficulty") for prompt in self.prompts]
        known = [float(value) for value in difficulties if isinstance(value, int | float)]
        self.sampler = make_sampler(
            config, len(self.prompts), known if len(known) == len(self.prompts) else None
        )
        self.step = 0
        """Steps done."""
        self.history: list[Metrics] = []
        """Of every step of this process; on rank 0 alone they say something."""

    def run(self, *, display: Display | None = None) -> None:
        """Goes from the newest checkpoint, if there is one, to the last step."""
        config = self.config
        restore_run(self)
        with ExitStack() as stack:
            shown = stack.enter_context(display or NoDisplay())
            log = None
            if parallel.rank() == 0:
                log = stack.enter_context(MetricsLog.of_run(config))
            if self.step:
                shown.say(f"going on after step {self.step}")
            while self.step < config.steps:
                metrics = self.train_step()
                if config.eval_every and self.eval_prompts and self.step % config.eval_every == 0:
                    metrics |= self.evaluate()
                self.history.append(metrics)
                if log is not None:
                    log.write(self.step, metrics)
                    shown.show(self.step, metrics)
                last = self.step == config.steps
                if last or (config.save_every and self.step % config.save_every == 0):
                    save_run(self)

    def train_step(self) -> Metrics:
        """Takes one step and returns what it was like, on rank 0."""
        start = time.perf_counter()
        own = self.explore()
        whole = own.gathered()
        # On one rank: a stage that measures something on the way sees each completion once.
        advantages = parallel.from_first(lambda: self.advantages(whole.rollouts, whole.scored))
        mine = set(own.rollouts.groups)
        rows = [i for i, group in enumerate(whole.rollouts.groups) if group in mine]
        report, failed = self.learn(own.rollouts, advantages.taken(rows))
        self._observe(whole)
        self.step += 1
        if parallel.rank():
            return {}
        rollouts, result = whole.rollouts, whole.scored.result
        if self.config.save_rollouts:
            path = self.config.output_dir / "rollouts.jsonl"
            write_rollouts(path, self.step, rollouts, result, advantages)
        return (
            reward_metrics(result, advantages, rollouts.groups, rollouts.truncated)
            | report.means()
            | self.stage.metrics
            | correction_metrics(self.stage, result.scores, rollouts.groups, advantages)
            | {"learner/not_finite": float(failed), "learner/skipped_rows": report.skipped_rows}
            | {"learner/rate": self.config.learning_rate * self.learner.rate(self.learner.updates)}
            | {"entropy": rollouts.entropy, "reward/failed_groups": float(len(whole.scored.errors))}
            | speed_metrics(whole, step_s=time.perf_counter() - start)
        )

    def explore(self) -> Experience:
        """Returns this rank's completions of the next prompts, with their rewards."""
        overlap = self.config.overlap_reward
        if overlap is None:
            overlap = looks_at_rows(self.reward)
        return explore(self._parts(), self.score, overlap=overlap)

    def sample(self) -> Rollouts:
        """Returns this rank's completions of the next prompts, without rewards."""
        return Rollouts.joined(self._parts())

    def _parts(self) -> Iterator[Rollouts]:
        config = self.config
        rng = random.Random(f"{config.seed}/{self.step}")
        drawn = self.sampler.draw(config.prompts_per_step, rng)
        # A prompt is one rank's: its group is never split.
        own = range(parallel.rank(), len(drawn), parallel.world_size())
        prompts = [self.prompts[drawn[place]] for place in own]
        self.actor.generator.refresh(self.learner.updates)
        return self.actor.parts(prompts, group_size=config.group_size, stream=self.step, groups=own)

    def score(self, rollouts: Rollouts) -> Scored:
        """Returns what the reward says."""
        return score_groups(
            self.reward,
            rollouts.texts,
            rollouts.groups,
            # The name is TRL's, so that one reward reads it in both.
            {**columns_of(rollouts.prompts), "completion_ids": rollouts.completions},
            on_error=self.config.on_reward_error,
        )

    def advantages(self, rollouts: Rollouts, scored: Scored) -> Advantages:
        """Returns what the gradient is multiplied by: one number a completion, or one a token."""
        return self.stage(
            scored.result.scores,
            rollouts.groups,
            components=scored.result.components,
            verdicts=scored.result.verdicts,
            weights=self.reward.weights,
            columns=columns_of(rollouts.prompts),
            completions=rollouts.texts,
            lengths=rollouts.lengths,
            token_starts=lambda row: self.actor.token_starts(rollouts.completions[row]),
        )

    def learn(self, rollouts: Rollouts, advantages: Advantages) -> tuple[LearnerReport, bool]:
        """Learns from a step; says how it went on all ranks, and whether it was not finite."""
        rows = train_rows(rollouts, advantages, mask_truncated=self.config.mask_truncated)
        try:
            own = self.learner.update(rows, seed=self.config.seed * 1_000_003 + self.step)
        except NotFiniteError as error:
            rank = f"-rank-{parallel.rank()}" if parallel.rank() else ""
            path = self.config.output_dir / f"not-finite-step-{self.step + 1}{rank}.pt"
            path.parent.mkdir(parents=True, exist_ok=True)
            torch.save([row.as_dict() for row in rows], path)
            if self.config.on_nan == "stop":
                raise NotFiniteError(f"{error}; the batch is in {path}") from error
            return LearnerReport(), True
        return LearnerReport.joined(parallel.gather([own])), False

    def evaluate(self) -> Metrics:
        """Returns pass@k and the mean reward on the evaluation set, sampled as in training."""
        return evaluate(
            self.actor,
            self.score,
            self.eval_prompts,
            updates=self.learner.updates,
            samples=self.config.eval_samples,
            ks=self.config.eval_ks,
        )

    def _observe(self, whole: Experience) -> None:
        """Tells the sampler how each prompt's group went, on all ranks alike."""
        size, scores = self.config.group_size, whole.scored.result.scores
        indices, means = [], []
        for start in range(0, len(scores), size):
            known = [score for score in scores[start : start + size] if score is not None]
            indices.append(whole.rollouts.prompts[start].index)
            means.append(sum(known) / len(known) if known else None)
        self.sampler.observe(indices, means)
