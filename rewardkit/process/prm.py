"""Process reward models in transformers: the formats of Qwen2.5-Math-PRM and of Skywork's PRM.

Needs `rewardkit[grpo]`. The model and its tokenizer are the caller's: nothing is downloaded here.
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from rewardkit._install import require_extra
from rewardkit.errors import ConfigError
from rewardkit.process.scorers import Model, Tokenizer
from rewardkit.process.scores import StepScores
from rewardkit.process.segmentation import Segmentation

if TYPE_CHECKING:
    import torch

__all__ = ["QwenPRM", "SkyworkPRM"]

_QWEN_SYSTEM = "Please reason step by step, and put your final answer within \\boxed{}."


class QwenPRM:
    """Scores steps with a model in the format of Qwen2.5-Math-PRM.

    The steps stand in one answer of a chat, each followed by the separator token, and the model has
    two classes a token: a step's score is the softmax probability of class 1 at its separator (the
    model card's recipe). A probability of exactly 0 stays 0; the card's own helper drops it.

    Args:
        model: returns `.logits`, or a tuple that begins with them: (B, T, 2).
        tokenizer: with a chat template that has roles system, user and assistant.
        separator: one special token; the steps may not contain it.
        system: the system message.

    Raises:
        EngineMissingError: torch or transformers is not installed.
        ConfigError: the separator is not one token.
    """

    def __init__(
        self,
        model: Model,
        tokenizer: Tokenizer,
        *,
        separator: str = "<extra_0>",
        system: str = _QWEN_SYSTEM,
    ) -> None:
        require_extra("grpo")
        ids = tokenizer.encode(separator, add_special_tokens=False)
        if len(ids) != 1:
            raise ConfigError(f"the separator {separator!r} is {len(ids)} tokens here; give one")
        self.model, self.tokenizer = model, tokenizer
        self.separator, self.separator_id, self.system = separator, ids[0], system

    def score(self, prompts: Sequence[str], steps: Sequence[Segmentation]) -> list[StepScores]:
        """Returns one probability a step of each completion, from one forward pass.

        A separator that a completion writes itself is taken out of its step before scoring, so that
        it cannot stand for a step of its own.

        Args:
            prompts: (B,) the problems.
            steps: (B,).
        """
        import torch

        rows = [self._encode(prompt, own) for prompt, own in zip(prompts, steps, strict=True)]
        logits = _run(self.model, rows)
        found = []
        for index, (ids, own) in enumerate(zip(rows, steps, strict=True)):
            at = torch.tensor(ids, device=logits.device) == self.separator_id
            chances = logits[index, : len(ids)][at].float().softmax(-1)[:, 1].tolist()
            if len(chances) < len(own):
                raise ConfigError(f"{len(chances)} separators for {len(own)} steps")
            found.append(StepScores(tuple(chances[len(chances) - len(own) :])))
        return found

    def _encode(self, prompt: str, steps: Segmentation) -> list[int]:
        clean = [step.replace(self.separator, "").strip() for step in steps]
        answer = "".join(step + self.separator for step in clean)
        chat = [
            {"role": "system", "content": self.system},
            {"role": "user", "content": prompt.replace(self.separator, "")},
            {"role": "assistant", "content": answer},
        ]
        text = self.tokenizer.apply_chat_template(chat, tokenize=False)
        return list(self.tokenizer.encode(text, add_special_tokens=False))


class SkyworkPRM:
    """Scores steps with a model in the format of Skywork's PRM: a value head on every token.

    A step's score is the sigmoid of the value at its last token. The whole answer is tokenised at
    once and the last tokens are found by offsets, so that the tokens are those of the text.

    Args:
        model: returns values (B, T), or a tuple that ends with them, or `.logits` (B, T, 1).
        tokenizer: a fast one.
        template: how problem and answer are joined.

    Raises:
        EngineMissingError: torch or transformers is not installed.
        ConfigError: the tokenizer has no offsets, or the template lacks a part.
    """

    def __init__(
        self, model: Model, tokenizer: Tokenizer, *, template: str = "{prompt}\n{answer}"
    ) -> None:
        require_extra("grpo")
        if not getattr(tokenizer, "is_fast", False):
            raise ConfigError("the tokenizer has no offsets: give a fast tokenizer")
        if not template.endswith("{answer}") or "{prompt}" not in template:
            raise ConfigError("template has {prompt} and ends with {answer}")
        self.model, self.tokenizer, self.template = model, tokenizer, template

    def score(self, prompts: Sequence[str], steps: Sequence[Segmentation]) -> list[StepScores]:
        """Returns one probability a step of each completion, from one forward pass.

        Args:
            prompts: (B,) the problems.
            steps: (B,).
        """
        rows, last = [], []
        for prompt, own in zip(prompts, steps, strict=True):
            head = self.template.removesuffix("{answer}").replace("{prompt}", prompt)
            encoded = self.tokenizer(head + own.text, return_offsets_mapping=True)
            shift = len(head)
            whole = Segmentation(
                head + own.text, (0, *(bound + shift for bound in own.bounds[bool(not shift) :]))
            )
            ends = whole.project(encoded["offset_mapping"]).last
            rows.append(list(encoded["input_ids"]))
            last.append(ends[len(ends) - len(own) :])
        values = _run(self.model, rows)
        if len(values.shape) == 3:
            values = values[..., 0]
        return [
            StepScores(tuple(values[index][list(ends)].float().sigmoid().tolist()))
            for index, ends in enumerate(last)
        ]


def _run(model: Model, rows: Sequence[Sequence[int]]) -> "torch.Tensor":
    """Returns what the model says of each token of rows padded on the right."""
    import torch

    device = next(model.parameters()).device
    width = max((len(ids) for ids in rows), default=0)
    tokens = torch.zeros(len(rows), width, dtype=torch.long, device=device)
    mask = torch.zeros_like(tokens)
    for index, ids in enumerate(rows):
        tokens[index, : len(ids)] = torch.tensor(ids, device=device)
        mask[index, : len(ids)] = 1
    with torch.no_grad():
        out = model(input_ids=tokens, attention_mask=mask)
    if isinstance(out, torch.Tensor):
        return out
    if isinstance(out, tuple):
        return next(part for part in reversed(out) if isinstance(part, torch.Tensor))
    logits: torch.Tensor = out.logits
    return logits
