"""What a strict type checker must accept of the public API, and what it must refuse.

Not run: `tests/test_typing.py` gives it to mypy, where an ignore that is not needed is an error.
"""

from collections.abc import Sequence
from typing import Any, assert_type

from rewardkit import Completion, Json, Reason, StepVerdict, Verdict, Verifier, completion_text
from rewardkit.engines import EngineStatus, install_command, probe_engines
from rewardkit.reward import Reward, RewardResult, Shaper
from rewardkit.shaping import MajorityLabel, Range, ThinkFormat


class LengthVerifier(Verifier):
    """A subclass gets the batch and async methods typed."""

    name = "length"

    def verify(self, completion: Completion, reference: Json, /, **context: Any) -> Verdict:
        """Returns whether the text is as long as the reference says."""
        fits = len(completion_text(completion)) == reference
        return Verdict(1.0 if fits else 0.0, Reason.MATCH if fits else Reason.MISMATCH)


class DuckVerifier:
    """No subclass, but the same shape without the batch methods."""

    name = "duck"

    def verify(self, completion: Completion, reference: Json, /, **context: Any) -> Verdict:
        """Returns an abstention."""
        return Verdict(None, Reason.UNPROVED)


def brevity(completions: Sequence[Completion], /, **columns: Sequence[Any]) -> Sequence[float]:
    """Returns one number per completion."""
    return [-float(len(completion_text(c))) for c in completions]


def accepted(verifier: Verifier) -> None:
    """What users write."""
    verdict = verifier.verify([{"role": "assistant", "content": "4"}], {"value": [1, None]})
    assert_type(verdict, Verdict)
    assert_type(verdict.score, float | None)
    assert_type(verdict.passed, bool)
    assert_type(verdict.steps, tuple[StepVerdict, ...])
    assert_type(Verdict.from_json(verdict.to_json()), Verdict)
    assert_type(verifier.verify_batch(["4", None], ["4", 4], prompt=["a", "b"]), list[Verdict])
    with LengthVerifier() as made:
        assert_type(made, LengthVerifier)
    result = Reward({"length": made, "brevity": brevity}).score(["4"], reference=["4"])
    assert_type(result, RewardResult)
    assert_type(result.scores, list[float | None])
    assert_type(probe_engines(), list[EngineStatus])
    assert_type(install_command("math"), str)


async def accepted_async(verifier: Verifier) -> None:
    """The awaited verdict has the same type."""
    assert_type(await verifier.averify("4", "4"), Verdict)


def refused(verifier: Verifier, verdict: Verdict) -> None:
    """What a checker must not let pass."""
    Verdict("1.0", Reason.MATCH)  # type: ignore[arg-type]
    Verdict(1.0, "match")  # type: ignore[arg-type]
    verifier.verify("4", object())  # type: ignore[arg-type]
    verifier.verify(completion="4", reference="4")  # type: ignore[call-arg]
    float(verdict.score)  # type: ignore[arg-type]
    accepted(DuckVerifier())  # type: ignore[arg-type]
    Reward([verifier])  # type: ignore[arg-type]
    verdict.score = 1.0  # type: ignore[misc]


def shaped() -> Reward:
    """Shapers are components, and their options and ranges have types."""
    shaper: Shaper = ThinkFormat()
    assert_type(ThinkFormat().range, Range)
    ThinkFormat(opening=3)  # type: ignore[arg-type]
    return Reward({"think": shaper, "majority": MajorityLabel()})
