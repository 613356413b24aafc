"""Where a server that samples is, and how it gets new weights."""

from pathlib import Path
from typing import Literal

from pydantic import BaseModel, ConfigDict, Field

__all__ = ["ServerConfig"]


class ServerConfig(BaseModel):
    """A server of OpenAI's completions that takes and returns token ids, as vLLM's does."""

    model_config = ConfigDict(extra="forbid", use_attribute_docstrings=True)

    url: str
    """Where it is: `http://127.0.0.1:8000`, without a path."""
    model: str
    """The name under which it serves the policy; for `lora` the name that the adapter gets."""
    weights: Literal["reload", "lora"] = "reload"
    """How it gets new weights: `reload` writes the model into `folder` and asks it to read that
    again; `lora` writes the adapter into a new folder under `folder` and names it."""
    folder: Path
    """On a disk that both see; for `reload` the one that the server was started with."""
    timeout_s: float = Field(default=600.0, gt=0)
    """Of one request."""
