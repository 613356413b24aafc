"""rewardkit in TRL: reward functions, and a GRPO trainer whose advantages are rewardkit's.

Tested with trl 1.16; the hook reads private names, which a contract test holds to that version.
"""

from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

from rewardkit.advantages import AdvantageAudit, Advantages, AdvantageStage
from rewardkit.completion import Completion, completion_text
from rewardkit.errors import ConfigError
from rewardkit.reward import Reward
from rewardkit.shapes import OnMissing, Rollouts, Scored, Scorer, token_starts, turn_ends
from rewardkit.verifier import Verifier

if TYPE_CHECKING:
    from trl import GRPOTrainer

__all__ = ["TESTED", "AdvantageMixin", "GRPOTrainer", "RewardFunction", "reward_funcs"]

TESTED = "trl>=1.16,<1.17"


class RewardFunction:
    """A reward in the shape of TRL's `reward_funcs`: batch columns in, `list[float | None]` out."""

    def __init__(self, scorer: Scorer, name: str) -> None:
        self.scorer = scorer
        self.__name__ = name
        self.last: Scored | None = None
        """What the latest batch came to; the trainer of this module reads it."""

    def __call__(
        self, prompts: Sequence[Any], completions: Sequence[Completion], **given: Any
    ) -> Any:
        """Returns one number a completion; None, which TRL masks, where there is none."""
        return self._tell(self.scorer.batch(completions, _columns(prompts, given)), given)

    def _tell(self, scored: Scored, given: dict[str, Any]) -> list[float | None]:
        self.last = scored
        if (log_metric := given.get("log_metric")) is not None:
            for name, value in scored.metrics().items():
                log_metric(f"{self.__name__}/{name}", value)
        if (log_extra := given.get("log_extra")) is not None:
            log_extra(f"{self.__name__}/status", scored.statuses)
        return scored.scores


class AsyncRewardFunction(RewardFunction):
    """The same on TRL's event loop, beside its other async functions."""

    async def __call__(self, prompts: Any, completions: Any, **given: Any) -> Any:
        """Returns what `RewardFunction` returns."""
        scored = await self.scorer.abatch(completions, _columns(prompts, given))
        return self._tell(scored, given)


def reward_funcs(
    *rewards: Reward | Verifier,
    names: Sequence[str] | None = None,
    on_missing: OnMissing = "mask",
    reference: str = "reference",
    asynchronous: bool = False,
) -> list[RewardFunction]:
    """Returns what `GRPOTrainer(reward_funcs=…)` takes: one function a reward.

    Args:
        rewards: each becomes a function; `GRPOConfig.reward_weights` has one weight each.
        names: for logs; left out: `reward`, or `reward_1`, `reward_2`, … for several.
        on_missing: what becomes of a completion that could not be scored.
        reference: the dataset column with the references.
        asynchronous: whether they run on TRL's event loop, side by side.

    Raises:
        ConfigError: there is no reward, or another number of names.
    """
    if names is None:
        names = [f"reward_{i + 1}" for i in range(len(rewards))] if rewards[1:] else ["reward"]
    if not rewards or len(names) != len(rewards):
        raise ConfigError(f"{len(rewards)} rewards and {len(names)} names: give one name a reward")
    made = AsyncRewardFunction if asynchronous else RewardFunction
    return [
        made(Scorer(reward, on_missing=on_missing, reference=reference), name)
        for reward, name in zip(rewards, names, strict=True)
    ]


def _columns(prompts: Sequence[Any], given: dict[str, Any]) -> dict[str, Any]:
    apart = ("trainer_state", "log_extra", "log_metric", "environments")
    return {"prompt": prompts, **{name: v for name, v in given.items() if name not in apart}}


class AdvantageMixin:
    """Puts an `AdvantageStage` into a TRL GRPO trainer: `class Mine(AdvantageMixin, GRPOTrainer)`.

    Two more arguments. `advantages`: a stage, whose (B,) or (B, T) replaces what TRL computes; None
    leaves that as it is, to the last bit. `audit`: whether each component is watched.
    """

    def __init__(
        self, *args: Any, advantages: AdvantageStage | None = None, audit: bool = True, **more: Any
    ) -> None:
        self.rewardkit_stage = advantages
        self.rewardkit_audit = AdvantageAudit() if audit else None
        super().__init__(*args, **more)

    def _calculate_rewards(self, inputs: Any, prompts: Any, completions: Any, ids: Any) -> Any:
        matrix = super()._calculate_rewards(inputs, prompts, completions, ids)  # type: ignore[misc]
        self._rewardkit_batch = _rollouts(self, matrix, inputs, completions, ids)
        return matrix

    def _generate_and_score_completions(self, inputs: Any) -> Any:
        output = super()._generate_and_score_completions(inputs)  # type: ignore[misc]
        batch = self._rewardkit_batch
        if "tool_mask" in output:
            own = (output["tool_mask"] * output["completion_mask"]).tolist()
            ends = _everywhere(self, [turn_ends(mask) for mask in own])
            batch = replace(batch, columns={**batch.columns, "turn_ends": ends})
        stage = self.rewardkit_stage or _stock_stage(self.args)  # type: ignore[attr-defined]
        found = batch.advantages(stage)
        mode = "train" if self.model.training else "eval"  # type: ignore[attr-defined]
        for name, value in batch.figures(self.rewardkit_audit, stage, found).items():
            self._metrics[mode][name].append(value)  # type: ignore[attr-defined]
        if self.rewardkit_stage is not None:
            output["advantages"] = _tensor(self, found, output)
        return output


def __getattr__(name: str) -> Any:
    """Makes `GRPOTrainer`, TRL's own with the mixin in front, when it is asked for."""
    if name != "GRPOTrainer":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from trl import GRPOTrainer as Stock

    made = globals()[name] = type(name, (AdvantageMixin, Stock), {"__module__": __name__})
    return made


def _stock_stage(args: Any) -> AdvantageStage:
    if args.multi_objective_aggregation == "normalize_then_sum":
        return AdvantageStage("gdpo")
    scale = args.scale_rewards
    return AdvantageStage({"group": "group_z", "batch": "batch_z"}.get(scale, "mean"))  # type: ignore[arg-type]


def _rollouts(trainer: Any, matrix: Any, inputs: Any, completions: Any, ids: Any) -> Rollouts:
    rows = [[None if value != value else value for value in row] for row in matrix.tolist()]
    size = trainer.num_generations if trainer.model.training else trainer.num_generations_eval
    gather = partial(_everywhere, trainer)
    ids, texts = gather(ids), gather([completion_text(completion) for completion in completions])
    tokenizer = getattr(trainer.processing_class, "tokenizer", trainer.processing_class)

    def starts(row: int) -> list[int]:
        decode = partial(tokenizer.decode, skip_special_tokens=True)
        return token_starts(ids[row], decode, text=texts[row])

    keys = [key for key in inputs[0] if key not in ("completion", "completion_ids")]
    shared: dict[str, Any] = {
        "columns": {key: gather([row[key] for row in inputs]) for key in keys},
        "completions": gather(list(completions)),
        "lengths": [len(own) for own in ids],
        "token_starts": starts,
    }
    if trainer.environments:
        turns = [getattr(each, "turn_rewards", None) for each in trainer.environments]
        shared["columns"]["turn_rewards"] = gather(turns)
    # TRL's sampler lays a prompt's completions side by side; from here on a group is its id.
    groups = [row // size for row in range(len(rows))]
    names, weights = trainer.reward_func_names, trainer.reward_weights.tolist()
    pairs = zip(names, trainer.reward_funcs, strict=True)
    ours: dict[str, Any] = {n: f for n, f in pairs if isinstance(f, RewardFunction)}
    if len(names) == len(ours) == 1 and weights == [1.0]:
        only = ours[names[0]]
        return Rollouts.from_scored(only.scorer, only.last, groups, gather=gather, **shared)
    given = {f"{n}/{k}": v for n, f in ours.items() for k, v in f.last.result.verdicts.items()}
    shared["verdicts"] = {key: gather(verdicts) for key, verdicts in given.items()}
    return Rollouts.from_matrix(rows, weights, names, groups, **shared)


def _everywhere(trainer: Any, rows: Sequence[Any]) -> list[Any]:
    """Returns the rows of all processes, in the order in which TRL gathers the rewards."""
    if trainer.accelerator.num_processes == 1:
        return list(rows)
    from accelerate.utils import gather_object

    return list(gather_object(list(rows)))


def _tensor(trainer: Any, found: Advantages, output: Any) -> Any:
    """Returns this process's advantages as TRL's loss takes them: (B,) or (B, T)."""
    stock, width = output["advantages"], output["completion_ids"].shape[1]
    first = trainer.accelerator.process_index * len(stock)
    own = slice(first, first + len(stock))
    if found.tokens is None:
        return stock.new_tensor(found.values[own])
    return stock.new_tensor([row + [0.0] * (width - len(row)) for row in found.tokens[own]])
