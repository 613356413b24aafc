"""Is the reward earned without the truth? Counted in training, on a share that is held out for it.

The measure is that of Countdown-Code (arXiv 2603.07084): P(the proxy passes and the truth does
not). The proxy is what the policy is paid for; the truth is a better and dearer verdict, asked on a
share of the completions only.
"""

import math
import random
from collections import Counter
from collections.abc import Hashable, Mapping, Sequence
from typing import Any

from rewardkit.advantages import Advantages, AdvantageStage
from rewardkit.completion import Completion
from rewardkit.errors import ConfigError
from rewardkit.monitor.report import Counts, HackReport, Step
from rewardkit.monitor.signals import measure_signals, verdict_drift, verdict_kind
from rewardkit.reward import Reward
from rewardkit.verdict import Verdict
from rewardkit.verifier import Verifier

__all__ = ["HackMonitor", "MonitoredStage"]


class HackMonitor:
    """Counts, step by step, how often the proxy passes and the truth does not, and what moves.

    It keeps counts and means, no completions.

    Args:
        true: what is right. A name: a component of the reward (of weight 0, say). A `Verifier` or
            `Reward`: asked on the held-out share only.
        proxy: the component that the policy is paid for; None: the reward's total.
        passing: the value from which proxy and truth pass.
        share: of completions, in (0, 1], on which the truth is asked; drawn by the seed, the step
            and the place, and not by what was written.
        seed: of that draw.
        window: steps that are put together, at the start and at the end, for comparisons.
        reference: the column of the references, for a verifier.

    Raises:
        ConfigError: an argument is outside what is said above.
    """

    def __init__(
        self,
        true: str | Verifier | Reward,
        *,
        proxy: str | None = None,
        passing: float = 1.0,
        share: float = 0.25,
        seed: int = 0,
        window: int = 10,
        reference: str = "reference",
    ) -> None:
        if not 0 < share <= 1:
            raise ConfigError(f"share is in (0, 1], not {share!r}")
        if window < 1:
            raise ConfigError(f"window is at least 1 step, not {window!r}")
        if not math.isfinite(passing):
            raise ConfigError(f"passing is finite, not {passing!r}")
        self.true = (
            Reward({"true": true}, references={"true": reference})
            if isinstance(true, Verifier)
            else true
        )
        self.proxy, self.passing, self.share = proxy, passing, share
        self.seed, self.window = seed, window
        self.steps: list[Step] = []
        """All steps seen, in order."""
        self._baseline: Counter[str] = Counter()

    def observe(
        self,
        completions: Sequence[Completion],
        scores: Sequence[float | None],
        *,
        step: int | None = None,
        components: Mapping[str, Sequence[float | None]] | None = None,
        verdicts: Mapping[str, Sequence[Verdict]] | None = None,
        lengths: Sequence[int] | None = None,
        columns: Mapping[str, Sequence[Any]] | None = None,
    ) -> dict[str, float]:
        """Takes one step in and returns its figures, by names that fit a log of metrics.

        Args:
            completions: (B,) what the model wrote.
            scores: (B,) totals of the reward, None where undecided.
            step: its number; left out: one after the last.
            components: (B,) each, as in `RewardResult`.
            verdicts: (B,) each; their reasons say how verdicts drift. Without them it is values.
            lengths: (B,) tokens; left out: characters are counted.
            columns: (B,) each: the samples' columns, for a truth that has to be asked.

        Raises:
            ConfigError: a component or a column is missing, or lengths differ.
            InvalidReferenceError: the truth cannot read a reference.
        """
        number = step if step is not None else (self.steps[-1].step + 1 if self.steps else 1)
        paid = self._named(self.proxy, components) if self.proxy is not None else list(scores)
        if len(paid) != len(completions):
            raise ConfigError(f"{len(paid)} scores for {len(completions)} completions")
        proxy = [None if value is None else value >= self.passing for value in paid]
        held = self._held_out(number, len(completions))
        true = self._ask(held, completions, components, columns)
        pairs = [
            (p, t >= self.passing)
            for p, t in zip((proxy[row] for row in held), true, strict=True)
            if p is not None and t is not None
        ]
        kinds = self._kinds(paid, verdicts)
        if len(self.steps) < self.window:
            self._baseline.update(kinds)
        found = Step(
            step=number,
            counts=Counts(
                asked=len(pairs),
                proxy=sum(p for p, _ in pairs),
                true=sum(t for _, t in pairs),
                hacked=sum(p and not t for p, t in pairs),
            ),
            signals=measure_signals(completions, proxy, lengths=lengths),
            drift=verdict_drift(self._baseline, kinds),
        )
        self.steps.append(found)
        return found.metrics()

    def report(self, *, confidence: float = 0.95) -> HackReport:
        """Returns what all steps say together."""
        return HackReport(self.steps, window=self.window, confidence=confidence)

    def _held_out(self, step: int, count: int) -> list[int]:
        if self.share == 1:
            return list(range(count))
        draw = random.Random(f"{self.seed}/{step}")
        return [row for row in range(count) if draw.random() < self.share]

    def _ask(
        self,
        rows: Sequence[int],
        completions: Sequence[Completion],
        components: Mapping[str, Sequence[float | None]] | None,
        columns: Mapping[str, Sequence[Any]] | None,
    ) -> list[float | None]:
        if isinstance(self.true, str):
            values = self._named(self.true, components)
            return [values[row] for row in rows]
        if not rows:
            return []
        own = {name: [column[row] for row in rows] for name, column in (columns or {}).items()}
        return self.true.score([completions[row] for row in rows], **own).scores

    def _named(
        self, name: str, components: Mapping[str, Sequence[float | None]] | None
    ) -> list[float | None]:
        if name not in (components or {}):
            known = ", ".join(components or {}) or "none"
            raise ConfigError(f"{name!r} is no component of the reward (there are: {known})")
        return list((components or {})[name])

    def _kinds(
        self, paid: Sequence[float | None], verdicts: Mapping[str, Sequence[Verdict]] | None
    ) -> list[str]:
        if verdicts:
            return [f"{name}/{one.reason.value}" for name, own in verdicts.items() for one in own]
        return [verdict_kind(value, self.passing) for value in paid]


class MonitoredStage(AdvantageStage):
    """An advantage stage that shows each batch to a monitor, and changes nothing else.

    It goes where a stage goes, so a trainer needs no callback: `train(…, stage=MonitoredStage(…))`.
    The included trainer writes the figures, `metrics`, beside its own.

    Args:
        stage: what makes the advantages.
        monitor: sees each batch.
    """

    def __init__(self, stage: AdvantageStage, monitor: HackMonitor) -> None:
        super().__init__(stage.estimator, std=stage.std, eps=stage.eps, control=stage.control)
        self.stage = stage
        self.monitor = monitor

    def __call__(
        self, rewards: Sequence[float | None], groups: Sequence[Hashable], **context: Any
    ) -> Advantages:
        """Returns the advantages of the stage inside."""
        if not context.get("audit") and context.get("completions") is not None:
            self.metrics = self.monitor.observe(
                context["completions"],
                rewards,
                components=context.get("components"),
                verdicts=context.get("verdicts"),
                lengths=context.get("lengths"),
                columns=context.get("columns"),
            )
        return self.stage(rewards, groups, **context)
