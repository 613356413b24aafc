"""Steps that say what they claim: tagged claims, each put to the check of its kind."""

from collections.abc import Callable, Mapping
from typing import Any, TypeAlias

from rewardkit.completion import Completion, completion_text
from rewardkit.errors import ConfigError
from rewardkit.process.builders import by_tag
from rewardkit.process.equalities import check_equalities
from rewardkit.process.scores import score_reason
from rewardkit.process.segmentation import MAX_TEXT_CHARS
from rewardkit.verdict import Json, Reason, StepVerdict, Verdict
from rewardkit.verifier import Verifier

__all__ = ["ClaimCheck", "ClaimVerifier", "equality_claim"]

ClaimCheck: TypeAlias = Callable[[str], float | None]
"""Takes what a claim says; returns its score in [0, 1], or None where it cannot tell."""


def equality_claim(text: str) -> float | None:
    """Returns 0 if an equality of the text does not hold, 1 if those checked do, None for none.

    >>> equality_claim("3 * 4 = 12"), equality_claim("3 * 4 = 13"), equality_claim("easy")
    (1.0, 0.0, None)
    """
    known = [link.same for link in check_equalities([text]) if link.same is not None]
    return float(all(known)) if known else None


class ClaimVerifier(Verifier):
    """Checks blocks such as `<sum>3 + 4 = 7</sum>`, each by the check of its tag.

    The score is that of the worst claim that could be decided, so that more claims never pay; None
    where none could. Text outside of the tags is a step without a score. `parts` has the share of
    decided claims of each tag that are right.

    Args:
        checks: by tag. A check that raises or returns something else abstains on that claim.

    Raises:
        ConfigError: there is no check, or a tag is no name.

    >>> verifier = ClaimVerifier({"sum": equality_claim})
    >>> verdict = verifier.verify("So <sum>3 + 4 = 7</sum> and <sum>7 + 1 = 9</sum>.", None)
    >>> verdict.score, verdict.parts["sum"], verdict.evidence["first_error"]
    (0.0, 0.5, 3)
    """

    name = "claims"

    def __init__(self, checks: Mapping[str, ClaimCheck]) -> None:
        if not checks or not all(map(callable, checks.values())):
            raise ConfigError("give a function of the claim's text for each tag")
        by_tag("", list(checks))
        self.checks = dict(checks)

    def verify(self, completion: Completion, reference: Json, /, **context: Any) -> Verdict:
        """Returns the verdict on the claims of one completion.

        Args:
            completion: anything at all.
            reference: not read.
            context: not read.
        """
        text = completion_text(completion)
        if len(text) > MAX_TEXT_CHARS:
            detail = f"claims: more than {MAX_TEXT_CHARS:,} characters"
            return Verdict(None, Reason.SIZE_LIMIT, detail=detail)
        steps = by_tag(text, list(self.checks))
        verdicts = []
        found: dict[str, list[float]] = {}
        for (start, end), step, tag in zip(steps.spans, steps, steps.names, strict=True):
            if tag is None:
                verdicts.append(StepVerdict(start, end, None, Reason.UNPROVED, "no claim"))
                continue
            body = step[step.index(f"<{tag}>") + len(tag) + 2 : step.rindex(f"</{tag}>")]
            score, reason = self._ask(tag, body)
            verdicts.append(StepVerdict(start, end, score, reason, f"{tag}: {body[:80]}"))
            if score is not None:
                found.setdefault(tag, []).append(score)
        scores = [score for own in found.values() for score in own]
        worst = min(scores, default=None)
        wrong = (k for k, s in enumerate(verdicts) if s.score is not None and s.score < 1)
        return Verdict(
            worst,
            score_reason(worst),
            detail=f"claims: {len(scores)} decided of {sum(n is not None for n in steps.names)}",
            parts={tag: sum(s == 1 for s in own) / len(own) for tag, own in found.items()},
            steps=tuple(verdicts),
            evidence={"first_error": next(wrong, None)},
        )

    def _ask(self, tag: str, body: str) -> tuple[float | None, Reason]:
        try:
            score = self.checks[tag](body)
            if score is None:
                return None, Reason.UNPROVED
            return StepVerdict(0, 0, float(score), score_reason(float(score))).score, score_reason(
                score
            )
        except Exception:  # The boundary: a check that fails has not decided.
            return None, Reason.ENGINE_FAILURE
