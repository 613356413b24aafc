"""The loop: prompts, rollouts, rewards, advantages, an optimizer step.

A step depends on the weights, the optimizer, the sampler's state and numbers made from the seed and
the step's own number, and on nothing else: so a run that was killed goes on as if it had not been.
"""

import random
import time
from collections.abc import Iterable, Mapping
from contextlib import ExitStack
from typing import Any

import torch

from rewardkit.advantages import Advantages, AdvantageStage
from rewardkit.errors import ConfigError
from rewardkit.noise import OnlineRates
from rewardkit.reward import Reward
from rewardkit_grpo import parallel
from rewardkit_grpo.actor import Actor, Rollouts
from rewardkit_grpo.config import GRPOConfig
from rewardkit_grpo.data import Tokenizer, columns_of, load_prompts
from rewardkit_grpo.display import Display, NoDisplay
from rewardkit_grpo.evaluation import pass_at_k
from rewardkit_grpo.learner import Learner, NotFiniteError
from rewardkit_grpo.metrics import Metrics, MetricsLog, reward_metrics, speed_metrics
from rewardkit_grpo.models import Model, prepared
from rewardkit_grpo.records import write_rollouts
from rewardkit_grpo.resume import restore_run, save_run
from rewardkit_grpo.rows import LearnerReport, TrainRow
from rewardkit_grpo.samplers import make_sampler
from rewardkit_grpo.scoring import Scored, score_groups
from rewardkit_grpo.stages import correction_metrics, make_stage
from rewardkit_grpo.trackers import Tracker, open_tracker

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
        self.stage = stage or make_stage(config)
        _check_ranks(config, self.stage)
        self.reward, self.config = reward, config
        limit = config.max_prompt_tokens
        self.prompts = load_prompts(dataset, tokenizer, reward=reward, max_tokens=limit)
        self.eval_prompts = (
            load_prompts(eval_dataset, tokenizer, reward=reward, where="the evaluation set")
            if eval_dataset is not None
            else []
        )
        self.model = prepared(model, config, parallel.device_of_rank())
        updates = config.steps * config.epochs * config.minibatches
        self.learner = Learner(self.model, config, total_updates=updates)
        self.actor = Actor(self.model, tokenizer, config)
        difficulties = [prompt.columns.get("difficulty") for prompt in self.prompts]
        known = [float(value) for value in difficulties if isinstance(value, int | float)]
        self.sampler = make_sampler(
            config, len(self.prompts), known if len(known) == len(self.prompts) else None
        )
        self.step = 0
        """Steps done."""
        self.history: list[Metrics] = []
        """Of every step of this process."""

    def run(self, *, display: Display | None = None) -> None:
        """Goes from the newest checkpoint, if there is one, to the last step."""
        config = self.config
        restore_run(self)
        with ExitStack() as stack:
            shown = stack.enter_context(display or NoDisplay())
            log = None
            if parallel.rank() == 0:
                log = stack.enter_context(MetricsLog(config.output_dir, self._trackers()))
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

    def _trackers(self) -> list[Tracker]:
        config = self.config
        plain = config.model_dump(mode="json")
        return [
            open_tracker(name, config.output_dir, project=config.project, config=plain)
            for name in config.report_to
        ]

    def train_step(self) -> Metrics:
        """Takes one step and returns what it was like."""
        times = [time.perf_counter()]
        rollouts = self.sample()
        times.append(time.perf_counter())
        scored = self.score(rollouts)
        advantages = self.advantages(rollouts, scored)
        times.append(time.perf_counter())
        report, failed = self.learn(rollouts, advantages)
        self._observe(rollouts, scored)
        self.step += 1
        if self.config.save_rollouts:
            rank = parallel.rank()
            name = f"rollouts-{rank}.jsonl" if rank else "rollouts.jsonl"
            path = self.config.output_dir / name
            write_rollouts(path, self.step, rollouts, scored.result, advantages)
        times.append(time.perf_counter())
        return (
            reward_metrics(scored.result, advantages, rollouts.groups, rollouts.truncated)
            | report.means()
            | self.stage.metrics
            | correction_metrics(self.stage, scored.result.scores, rollouts.groups, advantages)
            | {"learner/not_finite": float(failed), "learner/skipped_rows": report.skipped_rows}
            | {"learner/rate": self.config.learning_rate * self.learner.rate(self.learner.updates)}
            | {"entropy": rollouts.entropy, "reward/failed_groups": float(len(scored.errors))}
            | speed_metrics(
                times,
                scored_s=scored.seconds,
                tokens=sum(rollouts.lengths),
                rows=len(rollouts.texts),
            )
        )

    def sample(self) -> Rollouts:
        """Returns this rank's completions of the next prompts."""
        config = self.config
        rng = random.Random(f"{config.seed}/{self.step}")
        drawn = self.sampler.draw(config.prompts_per_step, rng)
        own = range(parallel.rank(), len(drawn), parallel.world_size())
        prompts = [self.prompts[drawn[place]] for place in own]
        return self.actor.sample(
            prompts, group_size=config.group_size, stream=self.step, groups=own
        )

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
        """Learns from a step; says how it went, and whether it was given up as not finite."""
        rows = []
        for i, completion in enumerate(rollouts.completions):
            by_token = None if advantages.tokens is None else advantages.tokens[i]
            cut = rollouts.truncated[i] and self.config.mask_truncated
            rows.append(
                TrainRow(
                    group=rollouts.groups[i],
                    prompt=rollouts.prompts[i].ids,
                    completion=tuple(completion),
                    sampler_logps=tuple(rollouts.logps[i]),
                    advantages=tuple(by_token or [advantages.values[i]] * len(completion)),
                    counts=advantages.decided[i] and not cut,
                )
            )
        try:
            return self.learner.update(rows, seed=self.config.seed * 1_000_003 + self.step), False
        except NotFiniteError as error:
            path = self.config.output_dir / f"not-finite-step-{self.step + 1}.pt"
            path.parent.mkdir(parents=True, exist_ok=True)
            torch.save([row.as_dict() for row in rows], path)
            if self.config.on_nan == "stop":
                raise NotFiniteError(f"{error}; the batch is in {path}") from error
            return LearnerReport(), True

    def evaluate(self) -> Metrics:
        """Returns pass@k and the mean reward on the evaluation set, sampled as in training.

        A completion passes if its reward is 1 or more; one that is undecided does not.
        """
        count = self.config.eval_samples
        rollouts = self.actor.sample(
            self.eval_prompts,
            group_size=count,
            stream=-1,
            groups=range(len(self.eval_prompts)),
            explore=False,
        )
        scores = [score or 0.0 for score in self.score(rollouts).result.scores]
        passed = [
            sum(score >= 1 for score in scores[i : i + count]) for i in range(0, len(scores), count)
        ]
        found = {"eval/reward": sum(scores) / len(scores)}
        for k in self.config.eval_ks:
            found[f"eval/pass@{k}"] = sum(pass_at_k(count, own, k) for own in passed) / len(passed)
        return found

    def _observe(self, rollouts: Rollouts, scored: Scored) -> None:
        """Tells the sampler how each prompt's group went, on all ranks alike."""
        size, pairs = self.config.group_size, []
        for start in range(0, len(rollouts.texts), size):
            own = [s for s in scored.result.scores[start : start + size] if s is not None]
            mean = sum(own) / len(own) if own else None
            pairs.append((rollouts.prompts[start].index, mean))
        pairs = parallel.gather(pairs)
        self.sampler.observe([index for index, _ in pairs], [mean for _, mean in pairs])


def _check_ranks(config: GRPOConfig, stage: AdvantageStage) -> None:
    ranks = parallel.world_size()
    if config.prompts_per_step % ranks:
        raise ConfigError(
            f"prompts_per_step is a multiple of the {ranks} processes, not "
            f"{config.prompts_per_step}"
        )
    if ranks > 1 and config.group_estimator in ("batch_z", "gdpo"):
        raise ConfigError(
            f"{config.group_estimator} needs the rewards of all completions in one process"
        )
    if ranks > 1 and isinstance(getattr(stage.estimator, "rates", None), OnlineRates):
        raise ConfigError(
            "rates that are measured on the way need all verdicts in one process: measure them "
            "before, with an audit, and give the file as noise"
        )
