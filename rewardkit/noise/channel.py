"""A verifier's error rates as a file: overall, and for each stratum of the rows."""

import json
import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Self

from rewardkit.errors import ConfigError, DataError
from rewardkit.noise.counts import Audit
from rewardkit.noise.intervals import IntervalMethod
from rewardkit.noise.pooling import known_logits, measure_spread, pool_partially
from rewardkit.noise.rates import Estimate, Rates, estimate_rates

__all__ = ["Channel", "estimate_channel"]

_FORMAT = "rewardkit-noise-1"
_ALPHA = 0.05


@dataclass(frozen=True, slots=True)
class Channel:
    """A verifier, seen as a noisy channel between the truth and its verdict.

    >>> channel = Channel(Rates.exact(0.02, 0.1), strata={"boxed": Rates.exact(0.02, 0.05)})
    >>> channel.rates_for("boxed").rho1.value, channel.rates_for("prose").rho1.value
    (0.05, 0.1)
    """

    rates: Rates
    """Over all rows."""
    strata: Mapping[str, Rates] = field(default_factory=dict)
    """By stratum, where the rates were taken apart."""
    stratified_by: tuple[str, ...] = ()
    """The columns that name a stratum; their values are joined by ` / `."""
    confidence: float = 0.95
    """Of every interval."""
    warnings: tuple[str, ...] = ()
    """What a user of the rates should know, one line each."""

    def rates_for(self, stratum: str | None) -> Rates:
        """Returns the rates of a stratum; those over all rows where it has none of its own."""
        return self.rates if stratum is None else self.strata.get(stratum, self.rates)

    def to_dict(self) -> dict[str, Any]:
        """Returns the channel as plain JSON data; `from_dict` reads it back."""
        return {
            "format": _FORMAT,
            "confidence": self.confidence,
            **_rates_to_dict(self.rates),
            "stratified_by": list(self.stratified_by),
            "strata": {name: _rates_to_dict(rates) for name, rates in self.strata.items()},
            "warnings": list(self.warnings),
        }

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Self:
        """Returns the channel that `to_dict` wrote.

        Raises:
            DataError: the data is not a channel, or a rate in it is impossible.
        """
        if data.get("format") != _FORMAT:
            raise DataError(f'not rates of a verifier: "format" is not {_FORMAT!r}')
        try:
            return cls(
                rates=_rates_from_dict(data),
                strata={k: _rates_from_dict(v) for k, v in data.get("strata", {}).items()},
                stratified_by=tuple(data.get("stratified_by", ())),
                confidence=float(data["confidence"]),
                warnings=tuple(data.get("warnings", ())),
            )
        except (KeyError, TypeError, ValueError, AttributeError) as error:
            raise DataError(f"damaged rates of a verifier: {error!r}") from None

    def save(self, path: Path | str) -> None:
        """Writes the channel as JSON; the file appears under its name only when it is complete.

        Raises:
            DataError: the file cannot be written.
        """
        target = Path(path)
        part = target.with_name(f"{target.name}.part")
        try:
            part.write_text(json.dumps(self.to_dict(), indent=2) + "\n", "utf-8")
            os.replace(part, target)
        except OSError as error:
            raise DataError(f"{path}: cannot be written: {error.strerror or error}.") from None

    @classmethod
    def load(cls, path: Path | str) -> Self:
        """Returns the channel of a `noise.json`.

        Raises:
            DataError: the file cannot be read or holds something else.
        """
        try:
            data = json.loads(Path(path).read_bytes())
            if not isinstance(data, dict):
                raise ValueError("not an object")
        except OSError as error:
            raise DataError(f"{path}: cannot be read: {error.strerror or error}.") from None
        except ValueError as error:
            raise DataError(f"{path}: not a JSON object: {error}") from None
        try:
            return cls.from_dict(data)
        except DataError as error:
            raise DataError(f"{path}: {error}") from None


def estimate_channel(
    audit: Audit,
    strata: Mapping[str, Audit] | None = None,
    *,
    stratified_by: tuple[str, ...] = (),
    confidence: float = 0.95,
    method: IntervalMethod = "wilson",
    pooled: bool = True,
) -> Channel:
    """Returns the channel that an audit shows, with warnings on what weakens it.

    Args:
        audit: over all rows.
        strata: the same labels by stratum.
        stratified_by: what the strata are named by.
        confidence: of the intervals, in (0, 1).
        method: which intervals, as in `estimate_rates`.
        pooled: draw the strata's rates towards their mean, as in `pool_partially`; else each
            stands alone, and one that lacks right or wrong rows has none.

    Raises:
        ConfigError: no right or no wrong row is labelled.
    """
    rates = estimate_rates(audit, confidence=confidence, method=method)
    named = dict(strata or {})
    warnings = list(_weaknesses(rates))
    if len(named) < 2:
        return Channel(rates, {}, stratified_by, confidence, tuple(warnings))
    warnings += _differences(named)
    if pooled:
        by_stratum = pool_partially(named, confidence=confidence)
    else:
        by_stratum = {}
        for name, one in named.items():
            try:
                by_stratum[name] = estimate_rates(one, confidence=confidence, method=method)
            except ConfigError as error:
                warnings.append(f"stratum {name!r} has no rates of its own: {error}")
    for name, own in by_stratum.items():
        if own.j_low <= 0:
            warnings.append(
                f"stratum {name!r}: J may be 0 or less; more labels, or another verifier"
            )
    return Channel(rates, by_stratum, stratified_by, confidence, tuple(warnings))


def _weaknesses(rates: Rates) -> list[str]:
    if rates.j_low > 0:
        return []
    return [
        f"J = 1 - rho0 - rho1 is {rates.j:.3f} and may be {rates.j_low:.3f}: at 0 or below the "
        "verdicts say nothing, or the opposite, and corrections refuse to run"
    ]


def _differences(strata: Mapping[str, Audit]) -> list[str]:
    warnings = []
    columns = known_logits(list(strata.values()))
    for name, column in zip(("rho0", "rho1"), columns, strict=True):
        known = [one for one in column if one is not None]
        if len(known) < 2:
            continue
        spread = measure_spread(known)
        if spread.p_value < _ALPHA:
            warnings.append(
                f"{name} differs between strata (p = {spread.p_value:.2g}): one pair of rates for "
                "all rows leaves the gradient's direction wrong; correct by stratum"
            )
    return warnings


def _rates_to_dict(rates: Rates) -> dict[str, Any]:
    written: dict[str, Any] = {
        name: {"value": one.value, "low": one.low, "high": one.high}
        for name, one in (("rho0", rates.rho0), ("rho1", rates.rho1))
    }
    if rates.audit is not None:
        written["audit"] = rates.audit.to_dict()
    return written


def _rates_from_dict(data: Mapping[str, Any]) -> Rates:
    rho0, rho1 = (
        Estimate(*(float(data[name][end]) for end in ("value", "low", "high")))
        for name in ("rho0", "rho1")
    )
    audit = data.get("audit")
    return Rates(rho0, rho1, None if audit is None else Audit.from_dict(audit))
