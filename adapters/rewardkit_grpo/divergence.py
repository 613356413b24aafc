"""KL estimators: from samples, and exact from logits."""

from typing import Literal, TypeAlias

import torch
from torch import Tensor

from rewardkit.errors import ConfigError

__all__ = ["KlEstimator", "distillation_kl", "kl_estimate", "kl_loss"]

KlEstimator: TypeAlias = Literal["k1", "k2", "k3"]
"""Schulman's estimators (joschu.net/blog/kl-approx.html)."""


def kl_estimate(logps: Tensor, ref_logps: Tensor, estimator: KlEstimator = "k3") -> Tensor:
    """Returns an estimate of KL(pi || ref) for each token sampled from pi.

    With d = log pi - log ref: k1 = d (unbiased, any sign), k2 = d^2 / 2 (biased),
    k3 = exp(-d) - 1 + d (unbiased, not negative). This is about the value; as a loss term each has
    another gradient, see `kl_loss`.

    Args:
        logps: log pi, any shape.
        ref_logps: log ref, of that shape.
        estimator: one of the above.
    """
    gap = logps - ref_logps
    if estimator == "k1":
        return gap
    if estimator == "k2":
        return gap.square() / 2
    if estimator == "k3":
        return torch.expm1(-gap) + gap
    raise ConfigError(f"a KL estimator is k1, k2 or k3, not {estimator!r}")


def kl_loss(logps: Tensor, old_logps: Tensor, ref_logps: Tensor) -> Tensor:
    """Returns a term whose value and gradient are those of KL(pi || ref), by token.

    r k3 with r = pi / pi_old, differentiated through both: E_old[r k3] is the KL for every pi, so
    its gradient is the KL's. k3 alone, differentiated, has the gradient of the forward
    KL(ref || pi), and k1 alone has gradient 0 in expectation.

    Args:
        logps: log pi, with gradient.
        old_logps: log of the policy that sampled.
        ref_logps: log ref.
    """
    ratio = (logps - old_logps).exp()
    return ratio * kl_estimate(logps, ref_logps, "k3")


def distillation_kl(logits: Tensor, teacher_logits: Tensor, *, temperature: float = 1.0) -> Tensor:
    """Returns KL(student || teacher) at each position, over the whole vocabulary.

    The dense signal of on-policy distillation: exact where a sampled estimate has variance.

    Args:
        logits: (..., V) of the student, with gradient.
        teacher_logits: (..., V) of the teacher, over the same vocabulary.
        temperature: divides both; above 0.

    Raises:
        ConfigError: the vocabularies differ, or the temperature is not above 0.
    """
    if logits.shape[-1] != teacher_logits.shape[-1]:
        raise ConfigError(
            f"the teacher has {teacher_logits.shape[-1]} tokens and the student "
            f"{logits.shape[-1]}: distillation needs one vocabulary"
        )
    if not temperature > 0:
        raise ConfigError(f"temperature is above 0, not {temperature!r}")
    student = _log_softmax(logits, temperature)
    teacher = _log_softmax(teacher_logits, temperature)
    return (student.exp() * (student - teacher)).sum(-1)


def _log_softmax(logits: Tensor, temperature: float) -> Tensor:
    exact = logits if logits.dtype == torch.float64 else logits.float()
    return torch.log_softmax(exact / temperature, -1)
