"""What the trainer asks of a transformers causal language model, in one place."""

import inspect
from typing import Any, TypeAlias

import torch
from torch import Tensor, nn

from rewardkit.errors import ConfigError, EngineMissingError
from rewardkit_grpo.config import GRPOConfig

__all__ = ["Model", "backbone", "cache_argument", "head", "positions", "prepared", "unwrapped"]

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
        model = get_peft_model(
            model,
            LoraConfig(
                r=config.lora_rank,
                lora_alpha=config.lora_alpha,
                target_modules="all-linear",
                task_type="CAUSAL_LM",
            ),
        )
    model.to(device)
    # Dropout off: a ratio is 1 where the policy is the one that sampled.
    model.eval()
    if config.gradient_checkpointing:
        model.train()
        model.gradient_checkpointing_enable({"use_reentrant": False})
        if config.lora_rank:
            model.enable_input_require_grads()
    return model
