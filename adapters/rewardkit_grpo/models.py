"""What the trainer asks of a transformers causal language model, in one place."""

import inspect
import warnings
from contextlib import AbstractContextManager, nullcontext
from typing import Any, TypeAlias

import torch
from torch import Tensor, nn

from rewardkit.errors import ConfigError, EngineMissingError
from rewardkit_grpo.config import GRPOConfig

__all__ = [
    "Model",
    "autocast",
    "backbone",
    "cache_argument",
    "device_of",
    "head",
    "positions",
    "prepared",
    "unwrapped",
]

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


def device_of(model: Model) -> torch.device:
    """Returns where the model's weights are."""
    device: torch.device = next(model.parameters()).device
    return device


def autocast(device: torch.device, precision: str) -> AbstractContextManager[None]:
    """Returns the precision of matrix products: `fp32` as they are, `bf16` by autocast."""
    if precision == "fp32":
        return nullcontext()
    return torch.autocast(device.type, torch.bfloat16)


def positions(mask: Tensor) -> Tensor:
    """Returns each token's place among the real ones: padding on the left moves nothing."""
    return (mask.cumsum(1) - 1).clamp(min=0)


def prepared(model: Model, config: GRPOConfig, device: torch.device) -> Model:
    """Returns the model as it is trained: on its device, with adapters where they are asked for.

    Raises:
        ConfigError: its weights are not fp32: small steps would be lost in rounding.
        EngineMissingError: adapters are asked for and peft is not installed.
    """
    kinds = {p.dtype for p in model.parameters() if p.is_floating_point()}
    if not kinds <= {torch.float32, torch.float64}:
        raise ConfigError(
            "load the model with dtype=torch.float32: an update of 1e-6 is lost in "
            f"{', '.join(sorted(map(str, kinds)))}. precision='bf16' still multiplies in bf16"
        )
    if config.lora_rank:
        try:
            from peft import LoraConfig, get_peft_model
        except ImportError:
            raise EngineMissingError("peft", "pip install peft") from None
        adapters = LoraConfig(
            r=config.lora_rank,
            lora_alpha=config.lora_alpha,
            target_modules="all-linear",
            task_type="CAUSAL_LM",
        )
        with warnings.catch_warnings():
            # peft asks transformers by a name that newer releases deprecate.
            warnings.simplefilter("ignore", FutureWarning)
            model = get_peft_model(model, adapters)
    model.to(device)
    # Dropout off: a ratio is 1 where the policy is the one that sampled.
    model.eval()
    if config.gradient_checkpointing:
        model.train()
        inner = unwrapped(model)
        enable = getattr(inner, "activation_checkpointing_enable", None)
        (enable or inner.gradient_checkpointing_enable)()
        if config.lora_rank:
            model.enable_input_require_grads()
    return model
