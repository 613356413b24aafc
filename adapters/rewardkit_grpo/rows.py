"""Completions as the learner takes them, and how they are put into micro-batches."""

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

import torch
from torch import Tensor

from rewardkit.advantages import Advantages
from rewardkit_grpo.actor import Rollouts

__all__ = ["LearnerReport", "TrainRow", "micro_batches", "padded", "train_rows"]


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

    def as_dict(self) -> dict[str, Any]:
        """Returns the row as plain data."""
        return asdict(self)


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

    @classmethod
    def joined(cls, parts: "Sequence[LearnerReport]") -> "LearnerReport":
        """Returns the report of all ranks: a loss is a sum over them, a norm the same on each."""
        whole = cls(grad_norms=parts[0].grad_norms)
        for part in parts:
            whole.tokens += part.tokens
            whole.skipped_rows += part.skipped_rows
            for name, value in part.sums.items():
                whole.sums[name] = whole.sums.get(name, 0.0) + value
        columns = zip(*(part.losses for part in parts), strict=True)
        whole.losses = [math.fsum(column) for column in columns]
        return whole

    def means(self) -> dict[str, float]:
        """Returns the means over tokens and steps."""
        found = {name: value / max(self.tokens, 1) for name, value in self.sums.items()}
        for name, values in (("grad_norm", self.grad_norms), ("loss", self.losses)):
            if values:
                found[name] = math.fsum(values) / len(values)
        return found


def train_rows(
    rollouts: Rollouts, advantages: Advantages, *, mask_truncated: bool = False
) -> list[TrainRow]:
    """Returns completions as the learner takes them.

    Args:
        rollouts: of this rank.
        advantages: of them, in the same order.
        mask_truncated: leaves truncated ones out.
    """
    rows = []
    for i, completion in enumerate(rollouts.completions):
        by_token = None if advantages.tokens is None else advantages.tokens[i]
        cut = rollouts.truncated[i] and mask_truncated
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
    return rows


def micro_batches(
    rows: Sequence[TrainRow], chosen: Sequence[int], *, max_tokens: int, shared: bool
) -> Iterator[list[int]]:
    """Yields places of rows whose padded tokens fit a budget; a row too long for it stands alone.

    Args:
        rows: of one optimizer step.
        chosen: the places of those that go through the model.
        max_tokens: padded tokens of a micro-batch.
        shared: whether a prompt is run once for all its rows: then rows of one group stay together.
            Else rows of like length do.
    """
    key: Callable[[int], Any] = (
        (lambda i: (rows[i].group, len(rows[i].completion)))
        if shared
        else (lambda i: len(rows[i].prompt) + len(rows[i].completion))
    )
    part: list[int] = []
    for i in sorted(chosen, key=key):
        longer = [*part, i]
        prompts = {rows[j].group for j in longer} if shared else longer
        width = max(len(rows[j].prompt) for j in longer)
        length = max(len(rows[j].completion) for j in longer)
        cost = len(prompts) * width + len(longer) * length
        if part and cost > max_tokens:
            yield part
            longer = [i]
        part = longer
    if part:
        yield part


def padded(rows: Sequence[Sequence[float] | Tensor], like: Tensor) -> Tensor:
    """Returns rows of numbers as one tensor, padded with 0 on the right.

    Args:
        rows: (B,) of up to T numbers each.
        like: (B, T), whose type and device it takes.
    """
    out = torch.zeros_like(like, requires_grad=False)
    for index, row in enumerate(rows):
        out[index, : len(row)] = torch.as_tensor(row, dtype=like.dtype)
    return out
