"""The loop: prompts, rollouts, rewards, advantages, an optimizer step.

A step depends on the weights, the optimizer, the sampler's state and numbers made from the seed and
the step's own number, and on nothing else: so a run that was killed goes on as if it had not been.
"""

import json
import random
import time
from collections.abc import Iterable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from typing import Any

import torch

from rewardkit.advantages import Advantages, AdvantageStage, compare_advantages
from rewardkit.errors import ConfigError
from rewardkit.reward import Reward
from rewardkit_grpo import parallel
from rewardkit_grpo.checkpoint import (
    State,
    latest_checkpoint,
    load_checkpoint,
    rewind,
    save_checkpoint,
)
from rewardkit_grpo.config import GRPOConfig
from rewardkit_grpo.corrections import BackwardCorrection, ForwardCorrection
from rewardkit_grpo.data import Prompt, Tokenizer, columns_of, load_prompts
from rewardkit_grpo.display import Display, NoDisplay
from rewardkit_grpo.evaluation import pass_at_k
from rewardkit_grpo.learner import Learner, LearnerReport, NotFiniteError, TrainRow
from rewardkit_grpo.metrics import Metrics, MetricsLog, reward_metrics
from rewardkit_grpo.models import Model, prepared
from rewardkit_grpo.processors import chain
from rewardkit_grpo.rollout import Generated, generate
from rewardkit_grpo.samplers import make_sampler
from rewardkit_grpo.scoring import Scored, score_groups

__all__ = ["Rollouts", "Trainer", "train"]


def train(
    model: Model,
    tokenizer: Tokenizer,
    reward: Reward,
    dataset: Iterable[Mapping[str, Any]],
    config: GRPOConfig,
    *,
    eval_dataset: Iterable[Mapping[str, Any]] | None = None,
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
        display: shows the run; None shows nothing.

    Raises:
        RewardkitError: the config, the data or the installation must be corrected first.
        NotFiniteError: a loss or gradient is not finite, and `on_nan` is `stop`.
    """
    trainer = Trainer(model, tokenizer, reward, dataset, config, eval_dataset=eval_dataset)
    trainer.run(display=display)
    return trainer


@dataclass(slots=True)
class Rollouts:
    """The completions of one step on this rank; lists of B, but for the prompts."""

    prompts: list[Prompt]
    """(P,); completion i belongs to prompt i // group_size."""
    groups: list[int]
    """Place of the prompt in the step, over all ranks."""
    generated: Generated
    texts: list[str]


class Trainer:
    """A run.

    Args:
        model: see `train`.
        tokenizer: see `train`.
        reward: see `train`.
        dataset: see `train`.
        config: see `train`.
        eval_dataset: see `train`.
    """

    def __init__(
        self,
        model: Model,
        tokenizer: Tokenizer,
        reward: Reward,
        dataset: Iterable[Mapping[str, Any]],
        config: GRPOConfig,
        *,
        eval_dataset: Iterable[Mapping[str, Any]] | None = None,
    ) -> None:
        parallel.start()
        self.tokenizer, self.reward, self.config = tokenizer, reward, config
        if config.prompts_per_step % parallel.world_size():
            raise ConfigError(
                f"prompts_per_step is a multiple of the {parallel.world_size()} processes, not "
                f"{config.prompts_per_step}"
            )
        if parallel.world_size() > 1 and config.group_estimator in ("batch_z", "gdpo"):
            raise ConfigError(f"{config.group_estimator} needs the rewards of all processes: use 1")
        self.prompts = load_prompts(
            dataset, tokenizer, reward=reward, max_tokens=config.max_prompt_tokens
        )
        self.eval_prompts = (
            load_prompts(eval_dataset, tokenizer, reward=reward, where="the evaluation set")
            if eval_dataset is not None
            else []
        )
        self.model = prepared(model, config, parallel.device_of_rank())
        self.learner = Learner(
            self.model, config, total_updates=config.steps * config.epochs * config.minibatches
        )
        difficulties = [prompt.columns.get("difficulty") for prompt in self.prompts]
        known = [float(value) for value in difficulties if isinstance(value, int | float)]
        self.sampler = make_sampler(
            config, len(self.prompts), known if len(known) == len(self.prompts) else None
        )
        self.stage = _stage(config)
        self.control = AdvantageStage("leave_one_out")
        self.eos_ids = _eos_ids(model, tokenizer)
        self.step = 0
        """Steps done."""
        self.history: list[Metrics] = []
        """Of every step of this process."""

    def run(self, *, display: Display | None = None) -> None:
        """Goes from the newest checkpoint, if there is one, to the last step."""
        config = self.config
        self.resume()
        with ExitStack() as stack:
            shown = stack.enter_context(display or NoDisplay())
            log = None
            if parallel.rank() == 0:
                log = stack.enter_context(
                    MetricsLog(config.output_dir, tensorboard=config.tensorboard)
                )
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
                    self.save()

    def train_step(self) -> Metrics:
        """Takes one step and returns what it was like."""
        started = time.perf_counter()
        rollouts = self.sample()
        generated = time.perf_counter()
        scored = self.score(rollouts)
        advantages = self._advantages(rollouts, scored)
        learning = time.perf_counter()
        report, problem = self._learn(rollouts, advantages)
        self._observe(rollouts, scored)
        self.step += 1
        if self.config.save_rollouts:
            self._write_rollouts(rollouts, scored, advantages)
        ended = time.perf_counter()
        tokens = sum(map(len, rollouts.generated.completions))
        metrics = reward_metrics(
            scored.result, advantages, rollouts.groups, rollouts.generated.truncated
        )
        metrics |= report.means() | self._audit(scored, rollouts, advantages)
        metrics |= {
            "completion/tokens": tokens / len(rollouts.texts),
            "learner/skipped_rows": float(report.skipped_rows),
            "learner/not_finite": float(problem),
            "learner/rate": self.config.learning_rate * self.learner.rate(self.learner.updates),
            "reward/failed_groups": float(len(scored.errors)),
            "time/generate_s": generated - started,
            "time/reward_s": scored.seconds,
            "time/learn_s": ended - learning,
            "time/step_s": ended - started,
            "time/reward_share": scored.seconds / (ended - started),
            "speed/generated_tokens_per_s": tokens / (generated - started),
        }
        return metrics

    def sample(self) -> Rollouts:
        """Returns this rank's completions of the next prompts."""
        config = self.config
        rng = random.Random(f"{config.seed}/{self.step}")
        drawn = self.sampler.draw(config.prompts_per_step, rng)
        own = range(parallel.rank(), len(drawn), parallel.world_size())
        prompts = [self.prompts[drawn[place]] for place in own]
        generated = self._generate(prompts, config.group_size, stream=self.step)
        groups = [place for place in own for _ in range(config.group_size)]
        return Rollouts(prompts, groups, generated, self._texts(generated))

    def score(self, rollouts: Rollouts) -> Scored:
        """Returns what the reward says."""
        each = [p for p in rollouts.prompts for _ in range(self.config.group_size)]
        return score_groups(
            self.reward,
            rollouts.texts,
            rollouts.groups,
            columns_of(each),
            on_error=self.config.on_reward_error,
        )

    def evaluate(self) -> Metrics:
        """Returns pass@k and the mean reward on the evaluation set, sampled as in training.

        A completion passes if its reward is 1 or more; one that is undecided does not.
        """
        count = self.config.eval_samples
        generated = self._generate(self.eval_prompts, count, stream=-1)
        each = [p for p in self.eval_prompts for _ in range(count)]
        groups = [i for i in range(len(self.eval_prompts)) for _ in range(count)]
        scored = score_groups(self.reward, self._texts(generated), groups, columns_of(each))
        scores = [score or 0.0 for score in scored.result.scores]
        passed = [
            sum(score >= 1 for score in scores[i : i + count]) for i in range(0, len(scores), count)
        ]
        found = {"eval/reward": sum(scores) / len(scores)}
        for k in self.config.eval_ks:
            each_k = [pass_at_k(count, own, k) for own in passed]
            found[f"eval/pass@{k}"] = sum(each_k) / len(each_k)
        return found

    def save(self) -> None:
        """Writes a checkpoint; on rank 0 alone."""
        if parallel.rank():
            return
        files = ("metrics.jsonl", "rollouts.jsonl")
        paths = {name: self.config.output_dir / name for name in files}
        trained = {n: p.detach() for n, p in self.model.named_parameters() if p.requires_grad}
        state: State = {
            "step": self.step,
            "updates": self.learner.updates,
            "weights": trained,
            "optimizer": self.learner.optimizer.state_dict(),
            "sampler": self.sampler.state(),
            "noise_scale": getattr(self.stage.estimator, "average", None),
            "sizes": {name: p.stat().st_size if p.exists() else 0 for name, p in paths.items()},
        }
        folder = self.config.output_dir / "checkpoints"
        save_checkpoint(folder, self.step, state, keep=self.config.keep_checkpoints)

    def resume(self) -> None:
        """Goes back to the newest checkpoint of the output folder, files included."""
        path = latest_checkpoint(self.config.output_dir / "checkpoints")
        if path is None:
            if parallel.rank() == 0:
                for name in ("metrics.jsonl", "rollouts.jsonl"):
                    rewind(self.config.output_dir / name, 0)
            return
        state = load_checkpoint(path, self.learner.device)
        own = dict(self.model.named_parameters())
        if {n for n, p in own.items() if p.requires_grad} != state["weights"].keys():
            raise ConfigError(f"{path} is of another model; give another output_dir, or remove it")
        with torch.no_grad():
            for name, value in state["weights"].items():
                own[name].copy_(value)
        self.learner.optimizer.load_state_dict(state["optimizer"])
        self.learner.updates, self.step = state["updates"], state["step"]
        self.sampler.restore(state["sampler"])
        if isinstance(self.stage.estimator, BackwardCorrection | ForwardCorrection):
            self.stage.estimator.average = state["noise_scale"]
        if parallel.rank() == 0:
            for name, size in state["sizes"].items():
                rewind(self.config.output_dir / name, size)

    def _generate(self, prompts: Sequence[Prompt], group_size: int, *, stream: int) -> Generated:
        config, whole = self.config, Generated([], [], [])
        processor = chain(
            group_size=group_size,
            top_k=config.top_k,
            top_p=config.top_p,
            cuts_k=config.cuts_k if stream >= 0 else 0,
            cuts_min_p=config.cuts_min_p,
            cuts_share=config.cuts_share,
        )
        at_once = max(1, config.generation_rows // group_size)
        for start in range(0, len(prompts), at_once):
            words = f"{config.seed}/{stream}/{parallel.rank()}/{start}"
            generator = torch.Generator(self.learner.device)
            generator.manual_seed(random.Random(words).getrandbits(63))
            with self.learner.autocast():
                part = generate(
                    self.model,
                    [prompt.ids for prompt in prompts[start : start + at_once]],
                    group_size=group_size,
                    max_new_tokens=config.max_new_tokens,
                    eos_ids=self.eos_ids,
                    temperature=config.temperature,
                    processor=processor,
                    generator=generator,
                )
            whole.completions.extend(part.completions)
            whole.logps.extend(part.logps)
            whole.truncated.extend(part.truncated)
        return whole

    def _texts(self, generated: Generated) -> list[str]:
        ends = set(self.eos_ids)
        return [
            self.tokenizer.decode([t for t in row if t not in ends], skip_special_tokens=True)
            for row in generated.completions
        ]

    def _advantages(self, rollouts: Rollouts, scored: Scored) -> Advantages:
        result = scored.result
        each = [p for p in rollouts.prompts for _ in range(self.config.group_size)]
        return self.stage(
            result.scores,
            rollouts.groups,
            components=result.components,
            verdicts=result.verdicts,
            weights=self.reward.weights,
            columns=columns_of(each),
            lengths=[len(row) for row in rollouts.generated.completions],
        )

    def _learn(self, rollouts: Rollouts, advantages: Advantages) -> tuple[LearnerReport, bool]:
        rows = self._train_rows(rollouts, advantages)
        try:
            return self.learner.update(rows, seed=self.config.seed * 1_000_003 + self.step), False
        except NotFiniteError as error:
            path = self.config.output_dir / f"not-finite-step-{self.step}.pt"
            path.parent.mkdir(parents=True, exist_ok=True)
            fields = ("group", "prompt", "completion", "sampler_logps", "advantages", "counts")
            torch.save([{name: getattr(row, name) for name in fields} for row in rows], path)
            if self.config.on_nan == "stop":
                raise NotFiniteError(f"{error}; the batch is in {path}") from error
            return LearnerReport(), True

    def _train_rows(self, rollouts: Rollouts, advantages: Advantages) -> list[TrainRow]:
        rows, generated = [], rollouts.generated
        for i, completion in enumerate(generated.completions):
            by_token = advantages.tokens[i] if advantages.tokens is not None else None
            cut = generated.truncated[i] and self.config.mask_truncated
            rows.append(
                TrainRow(
                    group=rollouts.groups[i],
                    prompt=rollouts.prompts[i // self.config.group_size].ids,
                    completion=tuple(completion),
                    sampler_logps=tuple(generated.logps[i]),
                    advantages=tuple(by_token or [advantages.values[i]] * len(completion)),
                    counts=advantages.decided[i] and not cut,
                )
            )
        return rows

    def _observe(self, rollouts: Rollouts, scored: Scored) -> None:
        size, means = self.config.group_size, []
        for start in range(0, len(rollouts.texts), size):
            own = [s for s in scored.result.scores[start : start + size] if s is not None]
            means.append(sum(own) / len(own) if own else None)
        pairs = list(zip([prompt.index for prompt in rollouts.prompts], means, strict=True))
        if parallel.world_size() > 1:
            gathered: list[Any] = [None] * parallel.world_size()
            torch.distributed.all_gather_object(gathered, pairs)
            pairs = [pair for part in gathered for pair in part]
        self.sampler.observe([index for index, _ in pairs], [mean for _, mean in pairs])

    def _audit(self, scored: Scored, rollouts: Rollouts, advantages: Advantages) -> Metrics:
        """Returns how far corrected coefficients are from plain leave-one-out ones."""
        if self.config.loss not in ("pgbc", "pgfc"):
            return {}
        plain = self.control(scored.result.scores, rollouts.groups)
        gap = compare_advantages(advantages, plain)
        found = {"audit/difference_mean": gap.mean, "audit/difference_max": gap.maximum}
        return found if gap.cosine is None else found | {"audit/cosine": gap.cosine}

    def _write_rollouts(self, rollouts: Rollouts, scored: Scored, advantages: Advantages) -> None:
        name = f"rollouts-{parallel.rank()}.jsonl" if parallel.rank() else "rollouts.jsonl"
        path = self.config.output_dir / name
        path.parent.mkdir(parents=True, exist_ok=True)
        with path.open("a", encoding="utf-8") as file:
            for i, text in enumerate(rollouts.texts):
                prompt = rollouts.prompts[i // self.config.group_size]
                line = {
                    **prompt.columns,
                    "completion": text,
                    "step": self.step,
                    "prompt_index": prompt.index,
                    "group": rollouts.groups[i],
                    "reward": scored.result.scores[i],
                    "components": {n: v[i] for n, v in scored.result.components.items()},
                    "advantage": advantages.values[i],
                    "tokens": len(rollouts.generated.completions[i]),
                    "truncated": rollouts.generated.truncated[i],
                }
                file.write(json.dumps(line) + "\n")


def _stage(config: GRPOConfig) -> AdvantageStage:
    if config.loss in ("pgbc", "pgfc"):
        kind = BackwardCorrection if config.loss == "pgbc" else ForwardCorrection
        rho0, rho1 = (0.0, 0.0) if config.noisy_control else (config.rho0, config.rho1)
        return AdvantageStage(kind(rho0, rho1, scale=config.noise_scale))
    return AdvantageStage(config.group_estimator, std=config.std, eps=config.advantage_eps)


def _eos_ids(model: Model, tokenizer: Tokenizer) -> list[int]:
    found = [tokenizer.eos_token_id]
    generation = getattr(model, "generation_config", None)
    more = getattr(generation, "eos_token_id", None)
    found += more if isinstance(more, list) else [more]
    ids = sorted({token for token in found if token is not None})
    if not ids:
        raise ConfigError("the tokenizer has no eos_token_id, so no completion could end; set one")
    return ids
