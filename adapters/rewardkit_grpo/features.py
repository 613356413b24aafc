"""What a model says of a completion besides its text: hidden states, and how sure it was.

For `rewardkit.shaping`: an `EllipticalBonus` embeds by `MeanHiddenState`, a `SelfConfidence`
measures by `AnswerGaps`. Both read the columns `prompt` and `completion_ids`, which TRL and this
trainer pass.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial

import torch
from torch import Tensor

from rewardkit.answer import AnswerPolicy, extract_answer
from rewardkit.shapes import token_starts
from rewardkit.shaping import Row
from rewardkit_grpo.data import Tokenizer, prompt_tokens
from rewardkit_grpo.logprobs import collate
from rewardkit_grpo.models import Model, backbone, device_of, head, positions

__all__ = ["AnswerGaps", "MeanHiddenState"]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class _Reader:
    """A model that reads rows, some at a time, and learns nothing."""

    model: Model
    """A causal language model: a frozen one, or the policy, whose features then move."""
    tokenizer: Tokenizer
    batch_rows: int = 8
    """Rows of one forward pass."""

    def _read(self, rows: Sequence[Row]) -> Iterator[tuple[Row, Tensor]]:
        """Yields each row and its last hidden states, (1 + T, D): before each token, and after all.

        The first is that of the prompt's end, so place t predicts token t.
        """
        for start in range(0, len(rows), self.batch_rows):
            part = rows[start : start + self.batch_rows]
            prompts = [
                prompt_tokens(row.column("prompt"), self.tokenizer, "the reward") for row in part
            ]
            ids = [row.token_ids for row in part]
            batch = collate(prompts, ids, device=device_of(self.model))
            mask = torch.cat([batch.prompt_mask, batch.completion_mask], 1)
            hidden = backbone(self.model)(
                input_ids=torch.cat([batch.prompt_ids, batch.completion_ids], 1),
                attention_mask=mask,
                position_ids=positions(mask),
                use_cache=False,
            ).last_hidden_state
            begin = batch.prompt_ids.shape[1] - 1
            for index, row in enumerate(part):
                yield row, hidden[index, begin : begin + 1 + len(ids[index])]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class MeanHiddenState(_Reader):
    """The mean of the last hidden states at a completion's tokens: the features of RepExp.

    (1/T) sum over t of h(prompt, tokens up to t) (arXiv:2510.11686). None for a completion of no
    token.
    """

    @torch.no_grad()
    def __call__(self, rows: Sequence[Row]) -> list[list[float] | None]:
        """Returns one vector a row."""
        return [
            states[1:].double().mean(0).tolist() if len(states) > 1 else None
            for _, states in self._read(rows)
        ]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class AnswerGaps(_Reader):
    """For each token of the graded answer, how far the likeliest token was ahead of the second.

    p(first) - p(second), of which `SelfConfidence` takes the mean. A token belongs to the answer if
    it shares a character with the span that `extract_answer` finds. An empty list where there is no
    answer.
    """

    policy: AnswerPolicy = field(default_factory=lambda: AnswerPolicy(last_expression=True))
    """Which span is the answer."""

    @torch.no_grad()
    def __call__(self, rows: Sequence[Row]) -> list[list[float]]:
        """Returns one list a row."""
        lm_head = head(self.model)
        found = []
        for row, states in self._read(rows):
            places = self._answer(row)
            logits = lm_head(states[places].to(next(lm_head.parameters()).dtype)).double()
            best = logits.softmax(-1).topk(2, -1).values
            found.append((best[:, 0] - best[:, 1]).clamp(0, 1).tolist())
        return found

    def _answer(self, row: Row) -> list[int]:
        text = row.text
        span = extract_answer(text, self.policy)
        if span.text is None:
            return []
        decode = partial(self.tokenizer.decode, skip_special_tokens=True)
        starts = token_starts(row.token_ids, decode, text=text)
        ends = [*starts[1:], len(text)]
        return [
            place
            for place, (start, end) in enumerate(zip(starts, ends, strict=False))
            if max(start, span.start) < min(end, span.end)
        ]
