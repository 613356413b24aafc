"""A verifier's error rates: measured, and trained through.

rho0 = P(accepted | wrong) and rho1 = P(rejected | right). docs/noise.md says what they change.
"""

from rewardkit.noise.audit import Audit
from rewardkit.noise.channel import Channel, estimate_channel
from rewardkit.noise.intervals import (
    Interval,
    IntervalMethod,
    clopper_pearson_interval,
    jeffreys_interval,
    rate_interval,
    wilson_interval,
)
from rewardkit.noise.planning import (
    AuditPlan,
    labels_for_half_width,
    labels_to_show_below,
    plan_audit,
)
from rewardkit.noise.pooling import Spread, measure_spread, pool_partially
from rewardkit.noise.rates import Estimate, LogitEstimate, Rates, estimate_rates, logit_rates

__all__ = [
    "Audit",
    "AuditPlan",
    "Channel",
    "Estimate",
    "Interval",
    "IntervalMethod",
    "LogitEstimate",
    "Rates",
    "Spread",
    "clopper_pearson_interval",
    "estimate_channel",
    "estimate_rates",
    "jeffreys_interval",
    "labels_for_half_width",
    "labels_to_show_below",
    "logit_rates",
    "measure_spread",
    "plan_audit",
    "pool_partially",
    "rate_interval",
    "wilson_interval",
]
