"""Turns as steps: what a tool or a sandbox said of each call decides the turn that made it."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeAlias

from rewardkit.completion import Completion, Message
from rewardkit.errors import ConfigError
from rewardkit.process.builders import by_turn
from rewardkit.process.scores import score_reason
from rewardkit.process.segmentation import StepTokens
from rewardkit.verdict import Json, Reason, StepVerdict, Verdict
from rewardkit.verifier import Verifier

__all__ = ["ToolOutcome", "TurnVerifier", "tokens_from_ends", "tool_outcome"]

ToolOutcome: TypeAlias = Callable[[Message], float | None]
"""Takes a tool's message; returns how the call went, in [0, 1], or None where it does not say."""

_FAILED = frozenset(("error", "failed", "failure", "timeout", "exception"))
_WENT_WELL = frozenset(("ok", "success", "succeeded", "completed"))


def tool_outcome(message: Message) -> float | None:
    """Returns what a tool's message says of its call in a field, not in its text.

    Read are `is_error`, `status`, and `exit_code` or `returncode`, in this order. Text is not read:
    a model can make a tool print anything.

    >>> tool_outcome({"role": "tool", "content": "ok", "exit_code": 1})
    0.0
    """
    if isinstance(flag := message.get("is_error"), bool):
        return 0.0 if flag else 1.0
    status = message.get("status")
    if isinstance(status, str) and status.lower() in _FAILED | _WENT_WELL:
        return 0.0 if status.lower() in _FAILED else 1.0
    for field in ("exit_code", "returncode"):
        code = message.get(field)
        if isinstance(code, int) and not isinstance(code, bool):
            return 1.0 if code == 0 else 0.0
    return None


class TurnVerifier(Verifier):
    """Scores each turn of a chat by the outcome of the tool calls that follow it.

    A step is a message, in the text of all messages one after the other, as `by_turn` cuts it. A
    turn of the assistant has the worst outcome of the tool messages before its next turn; tool
    messages and turns without a call have no score. The score is the worst turn's, or None.

    Args:
        outcome: how a tool's message is read; one that raises abstains. A code verifier fits here:
            `lambda message: verifier.verify(message["code"], tests).score`.

    >>> chat = [
    ...     {"role": "assistant", "content": "run it"},
    ...     {"role": "tool", "content": "Traceback", "exit_code": 1},
    ...     {"role": "assistant", "content": "fixed"},
    ... ]
    >>> [step.score for step in TurnVerifier().verify(chat, None).steps]
    [0.0, None, None]
    """

    name = "turns"

    def __init__(self, *, outcome: ToolOutcome = tool_outcome) -> None:
        if not callable(outcome):
            raise ConfigError(f"outcome is a function of a tool's message, not {outcome!r}")
        self.outcome = outcome

    def verify(self, completion: Completion, reference: Json, /, **context: Any) -> Verdict:
        """Returns the verdict on the turns of one completion.

        Args:
            completion: a chat; a string has no turns to score.
            reference: not read.
            context: not read.
        """
        steps = by_turn(completion)
        scores: list[float | None] = [None] * len(steps)
        current: int | None = None
        place = -1
        for message in completion if isinstance(completion, list | tuple) else ():
            if not isinstance(message, Mapping):
                continue
            place += bool(by_turn([message]).text)
            if message.get("role") == "assistant":
                current = place if by_turn([message]).text else None
            elif message.get("role") == "tool" and current is not None:
                found = self._ask(message)
                if found is not None:
                    before = scores[current]
                    scores[current] = found if before is None else min(before, found)
        decided = [score for score in scores if score is not None]
        worst = min(decided, default=None)
        return Verdict(
            worst,
            score_reason(worst),
            detail=f"turns: {len(decided)} with an outcome",
            steps=tuple(
                StepVerdict(start, end, score, score_reason(score), name or "")
                for (start, end), score, name in zip(
                    steps.spans, scores, steps.names or (None,) * len(steps), strict=True
                )
            ),
        )

    def _ask(self, message: Message) -> float | None:
        try:
            score = self.outcome(message)
            return None if score is None else StepVerdict(0, 0, float(score), Reason.PARTIAL).score
        except Exception:  # The boundary: an outcome that cannot be read is none.
            return None


def tokens_from_ends(ends: Sequence[int], length: int) -> StepTokens:
    """Returns steps that end at these tokens, as a trainer's `turn_ends` column gives them.

    Args:
        ends: (K,) the last token of each step, rising.
        length: T.

    >>> tokens_from_ends([1, 4], 6).bounds
    (0, 2, 5)
    """
    bounds = (0, *(end + 1 for end in ends))
    rising = all(a <= b for a, b in zip(bounds, [*bounds[1:], length], strict=True))
    if not rising:
        raise ConfigError(f"ends rise within the {length} tokens, not {list(ends)}")
    return StepTokens(bounds, length)
