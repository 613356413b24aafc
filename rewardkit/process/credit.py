"""From step scores to token advantages: what a trainer's advantage stage takes."""

import math
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Hashable, Mapping, Sequence
from typing import Any, Literal, TypeAlias, get_args

from rewardkit.advantages import Estimator, StdKind, estimate_advantages
from rewardkit.errors import ConfigError
from rewardkit.process.scores import ScoreKind, StepScores
from rewardkit.process.segmentation import StepTokens, offsets_from_starts
from rewardkit.verdict import StepVerdict, Verdict

__all__ = ["Spread", "StepCredit", "combine_advantages", "spans_to_tokens", "step_tokens"]

Spread: TypeAlias = Literal["broadcast", "at_end", "suffix"]
"""Which tokens get a step's number: all of its own, its last one, or all up to its last one."""


def step_tokens(
    values: Sequence[float], tokens: StepTokens, *, spread: Spread = "broadcast"
) -> list[float]:
    """Returns (T,) numbers by token, 0 outside of every step.

    - `broadcast`: each token of a step gets the step's number.
    - `at_end`: the last token of a step gets it.
    - `suffix`: a token gets the sum of the numbers of the steps that end at it or after it
      (GRPO with process supervision, arXiv:2402.03300, section 4.1.3).

    Args:
        values: (K,).
        tokens: of the same steps.
        spread: one of the above.

    Raises:
        ConfigError: there are other numbers of values and steps, or there is no such spread.

    >>> step_tokens([1.0, 3.0], StepTokens((0, 2, 3), 4), spread="suffix")
    [4.0, 4.0, 3.0, 0.0]
    """
    if spread not in get_args(Spread):
        raise ConfigError(f"spread is one of {', '.join(get_args(Spread))}, not {spread!r}")
    if len(values) != len(tokens):
        raise ConfigError(f"{len(values)} values for {len(tokens)} steps")
    out = [0.0] * tokens.length
    if spread == "at_end":
        for value, last in zip(values, tokens.last, strict=True):
            if out:
                out[last] += value
        return out
    total = math.fsum(values) if spread == "suffix" else 0.0
    for step, value in enumerate(values):
        start, end = tokens.bounds[step], tokens.bounds[step + 1]
        out[start:end] = [total if spread == "suffix" else value] * (end - start)
        total -= value
    return out


def spans_to_tokens(steps: Sequence[StepVerdict], starts: Sequence[int], size: int) -> StepTokens:
    """Returns the tokens of a verdict's steps; text between two steps belongs to the later one.

    Args:
        steps: in order, not overlapping.
        starts: (T,) where each token begins in the completion's text.
        size: characters of the text.

    Raises:
        ConfigError: the steps overlap or are out of order.

    >>> from rewardkit.verdict import Reason
    >>> steps = [StepVerdict(0, 2, 1.0, Reason.MATCH), StepVerdict(3, 5, 0.0, Reason.MISMATCH)]
    >>> spans_to_tokens(steps, [0, 2, 4], 5).bounds
    (0, 1, 3)
    """
    ends = [end for _, end in offsets_from_starts(starts, size)]
    found, reached = [bisect_right(ends, steps[0].start) if steps else 0], 0
    for step in steps:
        if step.start < reached or step.end < step.start:
            raise ConfigError("steps overlap or are out of order: give them as spans in order")
        reached = step.end
        found.append(bisect_right(ends, step.end))
    if steps:  # what begins after the last step, as an end token does, belongs to none
        found[-1] = max(bisect_left(starts, reached), found[-2])
    return StepTokens(tuple(found), len(ends))


def combine_advantages(
    outcome: Sequence[float],
    steps: Sequence[Sequence[float | None]],
    tokens: Sequence[StepTokens],
    groups: Sequence[Hashable],
    *,
    alpha: float = 1.0,
    spread: Spread = "broadcast",
) -> list[list[float]]:
    """Returns token advantages: the outcome's, plus alpha times the centred step numbers.

    A_t = A + alpha (s_t - b). With `broadcast` and `at_end`, b is the mean over the tokens of the
    group that have a step number, so that the step terms of a group add up to 0 however many steps
    there are. With `suffix`, s_t is the sum of the row's numbers from t's step on, and b the mean
    over the group's rows of the sum of all their numbers: a step of 0, such as a right one in
    `StepScores.summands`, changes no other step's advantage, in its own row or in another.

    Args:
        outcome: (B,) advantages of the completions.
        steps: (B,) lists of numbers, one a step: `StepScores.summands`, or a belief's progress.
            None for an undecided step: it has no step term, and is in no mean.
        tokens: (B,) of the same steps.
        groups: (B,) ids.
        alpha: weight of the steps, in units of the outcome's advantage a unit of step score.
        spread: as in `step_tokens`.

    Raises:
        ConfigError: the lists do not fit each other.

    >>> tokens = [StepTokens((0, 1, 2), 2), StepTokens((0, 1), 1)]
    >>> combine_advantages([1.0, -1.0], [[0.0, 0.0], [-0.75]], tokens, ["a", "a"])
    [[1.25, 1.25], [-1.5]]
    """
    if not len(outcome) == len(steps) == len(tokens) == len(groups):
        raise ConfigError("outcome, steps, tokens and groups have one entry a row")
    rows = []
    for values, own in zip(steps, tokens, strict=True):
        numbers = step_tokens([value or 0.0 for value in values], own, spread=spread)
        rows.append(list(zip(numbers, _carries(values, own, spread), strict=True)))
    parts: dict[Hashable, list[float]] = {}
    for values, row, group in zip(steps, rows, groups, strict=True):
        known = [value for value in values if value is not None]
        totals = [math.fsum(known)] if known else []
        carried = [number for number, carries in row if carries]
        parts.setdefault(group, []).extend(totals if spread == "suffix" else carried)
    means = {group: math.fsum(v) / len(v) if v else 0.0 for group, v in parts.items()}
    return [
        [value + (alpha * (number - means[group]) if carries else 0.0) for number, carries in row]
        for value, row, group in zip(outcome, rows, groups, strict=True)
    ]


def _carries(values: Sequence[float | None], tokens: StepTokens, spread: Spread) -> list[bool]:
    """Returns (T,) whether a token has a step term."""
    marks = [0.0 if value is None else 1.0 for value in values]
    return [mark > 0 for mark in step_tokens(marks, tokens, spread=spread)]


class StepCredit:
    """An advantage stage's coefficients: outcome advantages with the credit of each step added.

    Give it to a trainer as `AdvantageStage(StepCredit("equalities"), control="leave_one_out")`. It
    reads the steps of a component's verdicts, projects them onto the tokens that the trainer has,
    and returns one number a token. A row without steps gets its outcome advantage alone.

    Args:
        component: the name of the reward's component whose verdicts have steps.
        alpha: as in `combine_advantages`.
        spread: as in `step_tokens`; `suffix` adds up `StepScores.summands`, which cannot pay for
            steps.
        estimator: of the outcome.
        std: the divisor of its variances.
        eps: added to its deviations.
        kind: what the step scores are.
        scores: in place of the verdict's own, a function from it to its step scores.

    Raises:
        ConfigError: an option is outside its values.
    """

    def __init__(
        self,
        component: str,
        *,
        alpha: float = 1.0,
        spread: Spread = "broadcast",
        estimator: Estimator = "leave_one_out",
        std: StdKind = "sample",
        eps: float = 1e-4,
        kind: ScoreKind = "probability",
        scores: Callable[[Verdict], StepScores] | None = None,
    ) -> None:
        if spread not in get_args(Spread):
            raise ConfigError(f"spread is one of {', '.join(get_args(Spread))}, not {spread!r}")
        if not math.isfinite(alpha):
            raise ConfigError(f"alpha is a finite number, not {alpha!r}")
        estimate_advantages([], [], estimator=estimator, std=std, eps=eps, components={"": []})
        self.component, self.alpha = component, alpha
        self.spread: Spread = spread
        self.estimator: Estimator = estimator
        self.std: StdKind = std
        self.kind: ScoreKind = kind
        self.eps, self.scores = eps, scores

    def __call__(
        self,
        rewards: Sequence[float | None],
        groups: Sequence[Hashable],
        /,
        *,
        verdicts: Mapping[str, Sequence[Verdict | None]] | None = None,
        token_starts: Callable[[int], Sequence[int]] | None = None,
        lengths: Sequence[int] = (),
        **context: Any,
    ) -> list[list[float]]:
        """Returns one number a token; the arguments are those of `Coefficients`.

        Raises:
            ConfigError: the trainer has no token positions, or no verdicts of the component.
        """
        if token_starts is None or self.component not in (verdicts or {}):
            known = ", ".join(verdicts or {}) or "none"
            raise ConfigError(
                f"StepCredit needs token positions and the verdicts of {self.component!r}; "
                f"this trainer has verdicts of: {known}"
            )
        plain = estimate_advantages(
            rewards,
            groups,
            estimator=self.estimator,
            std=self.std,
            eps=self.eps,
            components=context.get("components"),
            weights=context.get("weights"),
        )
        values, tokens = [], []
        for row, verdict in enumerate((verdicts or {})[self.component]):
            own = verdict.steps if verdict is not None and plain.decided[row] else ()
            scores = StepScores.from_steps(own, kind=self.kind)
            if self.scores is not None and verdict is not None and own:
                scores = self.scores(verdict)
            values.append(
                [
                    None if value is None else summand
                    for value, summand in zip(scores.values, scores.summands(), strict=True)
                ]
            )
            tokens.append(_tokens(own, token_starts(row) if own else [], lengths[row]))
        return combine_advantages(
            plain.values, values, tokens, groups, alpha=self.alpha, spread=self.spread
        )


def _tokens(steps: Sequence[StepVerdict], starts: Sequence[int], length: int) -> StepTokens:
    if not steps:
        return StepTokens((0,), length)
    size = max(*(step.end for step in steps), *starts, 0)
    return StepTokens(spans_to_tokens(steps, starts, size).bounds, length)
