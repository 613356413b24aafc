"""LocalJudge: a model in this process; a probability for each allowed answer, no text."""

import threading
import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

from rewardkit._install import require_extra
from rewardkit.completion import Completion
from rewardkit.errors import ConfigError
from rewardkit.verdict import Json, Reason, Verdict
from rewardkit.verifier import Verifier
from rewardkit.verifiers.judge._causal import CausalModel, Probabilities
from rewardkit.verifiers.judge.canaries import CANARIES, CanaryWatch, canary_job
from rewardkit.verifiers.judge.modes import Settled, rate
from rewardkit.verifiers.judge.query import Query
from rewardkit.verifiers.judge.reference import Job, read_job, read_reference
from rewardkit.verifiers.judge.row import before_asking, settled_verdict
from rewardkit.verifiers.judge.settings import (
    ModeName,
    RubricOption,
    SkillsOption,
    check_choice,
    check_range,
    make_mode,
)

__all__ = ["LocalJudge"]


@dataclass(frozen=True, slots=True)
class _Outcome:
    """What a mode came to, and the probabilities of all that was asked."""

    settled: Settled
    asked: list[dict[str, Probabilities]]


class LocalJudge(Verifier):
    """Grades by a causal language model of transformers, from one forward pass for each item.

    Nothing is generated: each allowed answer is scored as the continuation of the prompt, and the
    probabilities of the closed set add up to 1. So a reply can neither be cut nor be unreadable.
    It is deterministic on one machine; its cost is bounded by `max_tokens` before it starts.

    Args:
        model: a folder with the model, or its name in the local cache of transformers.
        gguf_file: the file in that folder, where it is a GGUF model.
        mode: as in `JudgeVerifier`.
        rubric: as there.
        scale: as there.
        skills: as there.
        both_orders: as there.
        disagreement: as there.
        score: `choice` gives the worth of the likeliest answer; `expected` the expectation over all
            answers, in the modes `equivalence` and `scale` (G-Eval, arXiv 2303.16634).
        min_confidence: probability below which the likeliest answer is no verdict.
        device: of torch, as "cpu" or "cuda:0".
        dtype: of the weights, as torch names it.
        max_tokens: a longer prompt is refused: an abstention.
        needs_answer: as in `JudgeVerifier`.
        max_chars: a longer response is refused with score 0.
        canary_rate: as in `JudgeVerifier`.
        canary_max_fpr: as there.

    Raises:
        ConfigError: an option is outside its values.
        EngineMissingError: `rewardkit[local]` is not installed.
    """

    name = "local_judge"

    def __init__(
        self,
        *,
        model: str = "HuggingFaceTB/SmolLM2-135M-Instruct",
        gguf_file: str | None = None,
        mode: ModeName = "equivalence",
        rubric: RubricOption = None,
        scale: tuple[int, ...] = (1, 5),
        skills: SkillsOption = None,
        both_orders: bool = False,
        disagreement: Literal["abstain", "tie"] = "abstain",
        score: Literal["choice", "expected"] = "choice",
        min_confidence: float = 0.0,
        device: str = "cpu",
        dtype: str = "float32",
        max_tokens: int = 4096,
        needs_answer: bool = False,
        max_chars: int = 20_000,
        canary_rate: float = 0.0,
        canary_max_fpr: float = 0.05,
    ) -> None:
        require_extra("local")
        self.mode = make_mode(
            mode,
            rubric=rubric,
            scale=scale,
            skills=skills,
            both_orders=both_orders,
            disagreement=disagreement,
        )
        check_choice("score", score, ("choice", "expected"))
        if score == "expected" and mode not in ("equivalence", "scale"):
            raise ConfigError("score 'expected' is for the modes 'equivalence' and 'scale'")
        if not 0 <= min_confidence <= 1:
            raise ConfigError(f"min_confidence is in [0, 1], not {min_confidence!r}")
        for name, value in (
            ("max_tokens", max_tokens),
            ("max_chars", max_chars),
        ):
            check_range(name, value, at_least=1)
        self.score = score
        self.min_confidence = min_confidence
        self.needs_answer = needs_answer
        self.max_chars = max_chars
        self.accept_at = (
            1.0 if mode in ("equivalence", "contrastive") and score == "choice" else 0.5
        )
        self._settings = (model, gguf_file, device, dtype, max_tokens)
        self._canary_options = (canary_rate, canary_max_fpr, CANARIES)
        self._reset()

    def _reset(self) -> None:
        self._lock = threading.Lock()
        self._watch = CanaryWatch(*self._canary_options)
        self._model: CausalModel | None = None

    def __getstate__(self) -> dict[str, Any]:
        made = ("_lock", "_watch", "_model")
        return {key: value for key, value in self.__dict__.items() if key not in made}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self._reset()

    def verify(self, completion: Completion, reference: Json, /, **context: Any) -> Verdict:
        """Returns the verdict on one completion; reference and context as in `JudgeVerifier`.

        Raises:
            InvalidReferenceError: the reference lacks what the mode needs, or cannot be read.
            ConfigError: the model cannot be loaded.
        """
        started = time.perf_counter()
        read = read_reference(reference)
        self.mode.check(read)
        job = read_job(completion, read, context)
        verdict = before_asking(
            job, self.mode, max_chars=self.max_chars, needs_answer=self.needs_answer
        )
        if verdict is None:
            turn = self._watch.next_turn()
            if turn is not None:
                canary = self._judge(canary_job(job, self._watch.text(turn, job)))
                self._watch.record(canary.score, accept_at=self.accept_at)
            verdict = self._judge(job)
        return replace(verdict, seconds=time.perf_counter() - started)

    def check_reference(self, reference: Json, /) -> list[str]:
        """Returns no warnings.

        Raises:
            InvalidReferenceError: it lacks what the mode needs, or cannot be read.
        """
        self.mode.check(read_reference(reference))
        return []

    def metrics(self) -> dict[str, Json]:
        """Returns how the canaries fared."""
        return {"canaries": self._watch.to_json()}

    def close(self) -> None:
        """Lets go of the model. It is loaded again at the next need."""
        with self._lock:
            self._model = None

    def _judge(self, job: Job) -> Verdict:
        with self._lock:  # one forward pass at a time: more would only share the cores
            if self._model is None:
                self._model = CausalModel(*self._settings)
            outcome = self._run(self._model, job)
        if outcome is None:
            return Verdict(None, Reason.SIZE_LIMIT, job.response[:2_000], "judge: a long prompt")
        shown: list[Json] = [
            {item: {a: round(p, 6) for a, p in found.items()} for item, found in one.items()}
            for one in outcome.asked
        ]
        evidence: dict[str, Json] = {"tier": "local_judge", "probabilities": shown}
        verdict = settled_verdict(outcome.settled, job, evidence)
        least = min((max(p.values()) for one in outcome.asked for p in one.values()), default=1.0)
        if least < self.min_confidence:
            detail = f"judge: the likeliest answer has a probability of {least:.2f}"
            return replace(verdict, score=None, reason=Reason.UNPROVED, detail=detail)
        return verdict

    def _run(self, model: CausalModel, job: Job) -> _Outcome | None:
        """Returns what the mode came to; None if a prompt is too long."""
        steps = self.mode.steps(job)
        asked: list[dict[str, Probabilities]] = []
        expected: list[float] = []
        try:
            queries = next(steps)
            while True:
                found = model.ask(queries)
                if found is None:
                    steps.close()
                    return None
                asked += found
                expected += _expectations(queries, found)
                queries = steps.send(
                    [{item: max(p, key=p.__getitem__) for item, p in one.items()} for one in found]
                )
        except StopIteration as end:
            settled: Settled = end.value
        if self.score == "expected" and settled.score is not None and expected:
            mean = min(max(sum(expected) / len(expected), 0.0), 1.0)
            settled = replace(settled, score=mean, reason=rate(mean))
        return _Outcome(settled, asked)


def _expectations(
    queries: Sequence[Query], found: Sequence[dict[str, Probabilities]]
) -> list[float]:
    """Returns the expected score of each query whose answers have values."""
    return [
        sum(p * query.values[answer] for p_item in one.values() for answer, p in p_item.items())
        for query, one in zip(queries, found, strict=True)
        if query.values
    ]
