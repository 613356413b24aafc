"""rewardkit and reasoning-gym: its tasks as rows, its scorers as verifiers.

Tested with reasoning-gym 0.1.25.
"""

import math
from collections.abc import Iterator
from typing import Any

from rewardkit.answer import AnswerPolicy, extract_answer
from rewardkit.completion import Completion, completion_text
from rewardkit.errors import InvalidReferenceError
from rewardkit.verdict import Json, Reason, Verdict
from rewardkit.verifier import Verifier

__all__ = ["TESTED", "ReasoningGymVerifier", "rows"]

TESTED = "reasoning-gym>=0.1.25,<0.2"


def rows(name: str, *, size: int, seed: int, **config: Any) -> Iterator[dict[str, Any]]:
    """Yields a data set of reasoning-gym as rows: `prompt`, and `reference` for the verifier.

    Args:
        name: of the data set.
        size: how many.
        seed: the same seed gives the same rows.
        config: the data set's own options.
    """
    import reasoning_gym

    for entry in reasoning_gym.create_dataset(name, size=size, seed=seed, **config):
        yield {
            "prompt": entry["question"],
            "reference": {"answer": entry["answer"], "metadata": entry["metadata"]},
        }


class ReasoningGymVerifier(Verifier):
    """Grades with a data set's own `score_answer`, on the answer that rewardkit extracts.

    Args:
        dataset: its name in reasoning-gym.
        policy: where in a completion an answer may stand.
    """

    name = "reasoning_gym"

    def __init__(self, dataset: str, *, policy: AnswerPolicy | None = None) -> None:
        from reasoning_gym.factory import DATASETS

        self.dataset = dataset
        self.policy = policy or AnswerPolicy(last_expression=True)
        kind, config = DATASETS[dataset]
        self._scorer = kind(config())

    def verify(self, completion: Completion, reference: Json, /, **context: Any) -> Verdict:
        """Returns the verdict; the reference is `{"answer": …, "metadata": …}`, as `rows` has it.

        Raises:
            InvalidReferenceError: the reference has another shape.
        """
        if not isinstance(reference, dict) or "answer" not in reference:
            raise InvalidReferenceError('the reference is {"answer": …, "metadata": …}')
        span = extract_answer(completion_text(completion), self.policy)
        if span.text is None:
            return Verdict(0.0, span.reason or Reason.NO_ANSWER)
        try:
            score = float(self._scorer.score_answer(span.text, dict(reference)))
        except Exception as error:  # its scorers raise on what they cannot read
            return Verdict(0.0, Reason.UNPARSABLE, span.text, detail=type(error).__name__)
        if not math.isfinite(score):
            return Verdict(None, Reason.ENGINE_FAILURE, span.text, detail=f"scored {score}")
        held = min(max(score, 0.0), 1.0)
        reason = Reason.MATCH if held == 1 else Reason.PARTIAL if held else Reason.MISMATCH
        return Verdict(held, reason, span.text)
