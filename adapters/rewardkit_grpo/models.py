"""What the trainer asks of a transformers causal language model, in one place."""

import inspect
from typing import Any, TypeAlias

from torch import Tensor, nn

__all__ = ["Model", "backbone", "cache_argument", "head", "positions", "unwrapped"]

Model: TypeAlias = Any
"""A transformers causal language model, or one wrapped by peft: their classes are untyped."""


def unwrapped(model: Model) -> Model:
    """Returns the transformers model; the adapters of peft stay inside its layers."""
    return model.get_base_model() if hasattr(model, "get_base_model") else model


def backbone(model: Model) -> Model:
    """Returns the model without its LM head."""
    return unwrapped(model).base_model


def head(model: Model) -> nn.Module:
    """Returns the LM head: from hidden states to logits."""
    found: nn.Module = unwrapped(model).get_output_embeddings()
    return found


def cache_argument(model: Model, cache: object) -> dict[str, object]:
    """Returns the keys and values under the name that this release of transformers gives them."""
    known = inspect.signature(model.forward).parameters
    return {"cache" if "cache" in known else "past_key_values": cache, "use_cache": True}


def positions(mask: Tensor) -> Tensor:
    """Returns each token's place among the real ones: padding on the left moves nothing."""
    return (mask.cumsum(1) - 1).clamp(min=0)
