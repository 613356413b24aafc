"""The model that the policy began as, for the KL term."""

from collections.abc import Iterator
from contextlib import contextmanager

from torch import Tensor

from rewardkit_grpo.models import Model

__all__ = ["Reference"]


class Reference:
    """Puts the policy's first weights in place of those of now; with adapters, leaves those away.

    Args:
        model: the policy, before it has learnt anything.
        kept: whether the first weights are kept at all.
        lora: whether adapters are trained: the reference is then the model without them.
    """

    def __init__(self, model: Model, *, kept: bool, lora: bool) -> None:
        self.model, self._lora = model, lora
        # A second copy of the weights, put in place of the policy's for a forward pass.
        self._weights: dict[str, Tensor] = {
            name: value.detach().clone()
            for name, value in model.named_parameters()
            if kept and not lora and value.requires_grad
        }

    @contextmanager
    def __call__(self) -> Iterator[None]:
        """Runs a block with the reference in the policy's place."""
        if self._lora:
            with self.model.disable_adapter():
                yield
            return
        trained = dict(self.model.named_parameters())
        now = {name: trained[name].data for name in self._weights}
        try:
            for name, value in self._weights.items():
                trained[name].data = value
            yield
        finally:
            for name, value in now.items():
                trained[name].data = value
