"""The options of a `JudgeVerifier`, checked, and what each layer takes of them."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from rewardkit.errors import ConfigError
from rewardkit.verdict import Json
from rewardkit.verifiers.judge._secret import Secret
from rewardkit.verifiers.judge.canaries import CanaryWatch
from rewardkit.verifiers.judge.endpoint import Endpoint, check_url
from rewardkit.verifiers.judge.modes import Mode
from rewardkit.verifiers.judge.settings import (
    ModeName,
    RubricOption,
    SkillsOption,
    check_choice,
    check_prices,
    check_range,
    make_mode,
)
from rewardkit.verifiers.judge.usage import Usage
from rewardkit.verifiers.judge.votes import Vote, check_vote

__all__ = ["ClientSettings", "JudgeOptions"]

_OURS = ("messages", "model", "n", "stream")
"""Fields of a request that `extra_body` may not bring: a reply is one choice, in one piece."""


@dataclass(frozen=True, slots=True)
class ClientSettings:
    """How a judge is asked.

    Raises:
        ConfigError: a number is outside its range.
    """

    endpoint: Endpoint
    structured: Literal["auto", "schema", "off"]
    reasoning: bool
    sampling: Mapping[str, Json]
    """Fields of the request besides model, messages and format: temperature, max_tokens, …"""
    timeout_s: float
    """Seconds for all that one verdict asks."""
    request_timeout_s: float
    """Seconds for one request."""
    max_attempts: int
    backoff_s: float
    """Seconds before the first retry; twice as long before each further one, up to 8."""
    concurrency: int
    max_per_second: float | None
    breaker_failures: int
    breaker_pause_s: float
    cache: str | Path | None
    proxy: str | None

    def __post_init__(self) -> None:
        for name in ("timeout_s", "request_timeout_s", "backoff_s", "breaker_pause_s"):
            check_range(name, getattr(self, name), above=0)
        for name in ("max_attempts", "concurrency", "breaker_failures"):
            check_range(name, getattr(self, name), at_least=1)
        if self.max_per_second is not None:
            check_range("max_per_second", self.max_per_second, above=0)


@dataclass(frozen=True, kw_only=True, slots=True)
class JudgeOptions:
    """The options as `JudgeVerifier` documents them; `secret` is its key.

    Raises:
        ConfigError: one is outside its values.
    """

    secret: Secret
    model: str
    base_url: str
    rubric: RubricOption
    mode: ModeName
    scale: tuple[int, ...]
    skills: SkillsOption
    both_orders: bool
    apart: bool
    disagreement: Literal["abstain", "tie"]
    panel: tuple[str, ...]
    vote: Vote
    veto: int
    structured: Literal["auto", "schema", "off"]
    reasoning: bool
    temperature: float
    max_tokens: int
    seed: int | None
    extra_body: Mapping[str, Json] | None
    needs_answer: bool
    max_chars: int
    timeout_s: float
    request_timeout_s: float
    max_attempts: int
    backoff_s: float
    concurrency: int
    max_per_second: float | None
    breaker_failures: int
    breaker_pause_s: float
    cache: str | Path | None
    price_per_million: tuple[float, ...] | None
    canary_rate: float
    canary_max_fpr: float
    canaries: tuple[str, ...]
    on_alarm: Literal["warn", "abstain"]
    proxy: str | None
    progress: bool

    def __post_init__(self) -> None:
        check_choice("structured", self.structured, ("auto", "schema", "off"))
        check_choice("on_alarm", self.on_alarm, ("warn", "abstain"))
        check_range("temperature", self.temperature)
        check_range("max_tokens", self.max_tokens, at_least=1)
        check_range("max_chars", self.max_chars, at_least=1)
        if isinstance(self.panel, str):
            raise ConfigError("panel is a list of model names")
        check_vote(self.vote, self.veto, len(self.models))
        for name in self.extra_body or {}:
            if name in _OURS:
                raise ConfigError(f"extra_body does not set {name!r}: that is the judge's own")
        # What is made of them is made once here, so that a mistake shows at once.
        self.make_mode(), self.make_client_settings(), self.make_usage(), self.make_watch()

    @property
    def models(self) -> tuple[str, ...]:
        """All that judge, the first one and the panel."""
        return (self.model, *self.panel)

    @property
    def accept_at(self) -> float:
        """The score from which a verdict accepts; a partial one does where the mode gives such."""
        return 1.0 if self.mode in ("equivalence", "contrastive") else 0.5

    @property
    def rows_at_once(self) -> int:
        """Rows that are judged side by side: more than there are slots, so that none stays idle."""
        return 2 * int(self.concurrency)

    def make_mode(self) -> Mode:
        """Returns what is asked."""
        return make_mode(
            self.mode,
            rubric=self.rubric,
            scale=self.scale,
            skills=self.skills,
            both_orders=self.both_orders,
            apart=self.apart,
            disagreement=self.disagreement,
        )

    def make_client_settings(self) -> ClientSettings:
        """Returns how it is asked."""
        sampling: dict[str, Json] = {
            "temperature": self.temperature,
            "max_tokens": self.max_tokens,
        }
        sampling |= {} if self.seed is None else {"seed": self.seed}
        return ClientSettings(
            endpoint=Endpoint(check_url(self.base_url), self.secret),
            structured=self.structured,
            reasoning=self.reasoning,
            sampling=sampling | dict(self.extra_body or {}),
            timeout_s=self.timeout_s,
            request_timeout_s=self.request_timeout_s,
            max_attempts=self.max_attempts,
            backoff_s=self.backoff_s,
            concurrency=self.concurrency,
            max_per_second=self.max_per_second,
            breaker_failures=self.breaker_failures,
            breaker_pause_s=self.breaker_pause_s,
            cache=self.cache,
            proxy=None if self.proxy is None else check_url(self.proxy),
        )

    def make_usage(self) -> Usage:
        """Returns counters at zero."""
        return Usage(check_prices(self.price_per_million))

    def make_watch(self) -> CanaryWatch:
        """Returns canaries that have not been asked yet."""
        return CanaryWatch(self.canary_rate, self.canary_max_fpr, tuple(self.canaries))
