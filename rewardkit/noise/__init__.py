"""A verifier's error rates: measured, and trained through.

rho0 = P(accepted | wrong) and rho1 = P(rejected | right). docs/noise.md says what they change.
"""

from rewardkit.noise.agreement import Agreement, cohen_kappa
from rewardkit.noise.appeals import AppealsEstimator, TwoSidedAudit
from rewardkit.noise.channel import Channel, estimate_channel
from rewardkit.noise.corrected_rewards import correct_backward, correct_forward
from rewardkit.noise.corrections import (
    Baseline,
    Correction,
    Scale,
    backward_coefficients,
    check_combination,
    forward_coefficients,
    leave_one_out,
    noisy_control,
)
from rewardkit.noise.counts import Audit
from rewardkit.noise.dependence import Dependence, find_dependence
from rewardkit.noise.effect import CorrectionAudit, audit
from rewardkit.noise.intervals import (
    Interval,
    IntervalMethod,
    clopper_pearson_interval,
    jeffreys_interval,
    rate_interval,
    wilson_interval,
)
from rewardkit.noise.latent import (
    LatentRates,
    Recapture,
    capture_recapture,
    rates_without_labels,
)
from rewardkit.noise.online import OnlineRates
from rewardkit.noise.pass_rate import prediction_powered_pass_rate, rogan_gladen
from rewardkit.noise.planning import (
    AuditPlan,
    labels_for_half_width,
    labels_to_show_below,
    plan_audit,
)
from rewardkit.noise.pooling import Spread, measure_spread, pool_partially
from rewardkit.noise.rates import Estimate, LogitEstimate, Rates, estimate_rates, logit_rates
from rewardkit.noise.scaling import EmaScale
from rewardkit.noise.stage import NoiseCorrection, StageScale
from rewardkit.noise.steps import return_to_go, step_coefficients, token_coefficients

__all__ = [
    "Agreement",
    "AppealsEstimator",
    "Audit",
    "AuditPlan",
    "Baseline",
    "Channel",
    "Correction",
    "CorrectionAudit",
    "Dependence",
    "EmaScale",
    "Estimate",
    "Interval",
    "IntervalMethod",
    "LatentRates",
    "LogitEstimate",
    "NoiseCorrection",
    "OnlineRates",
    "Rates",
    "Recapture",
    "Scale",
    "Spread",
    "StageScale",
    "TwoSidedAudit",
    "audit",
    "backward_coefficients",
    "capture_recapture",
    "check_combination",
    "clopper_pearson_interval",
    "cohen_kappa",
    "correct_backward",
    "correct_forward",
    "estimate_channel",
    "estimate_rates",
    "find_dependence",
    "forward_coefficients",
    "jeffreys_interval",
    "labels_for_half_width",
    "labels_to_show_below",
    "leave_one_out",
    "logit_rates",
    "measure_spread",
    "noisy_control",
    "plan_audit",
    "pool_partially",
    "prediction_powered_pass_rate",
    "rate_interval",
    "rates_without_labels",
    "return_to_go",
    "rogan_gladen",
    "step_coefficients",
    "token_coefficients",
    "wilson_interval",
]
