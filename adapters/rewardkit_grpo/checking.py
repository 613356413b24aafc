"""What is wrong with a config, in our words."""

import difflib
from collections.abc import Mapping
from typing import Any, TypeVar

from pydantic import BaseModel, ValidationError

from rewardkit.errors import ConfigError
from rewardkit_grpo.config import GRPOConfig
from rewardkit_grpo.server_config import ServerConfig

__all__ = ["checked"]

M = TypeVar("M", bound=BaseModel)


def checked(kind: type[M], data: Mapping[str, Any], *, where: str = "the config") -> M:
    """Returns a model of pydantic, or says in our words what is wrong with the data.

    Args:
        kind: its class.
        data: its fields.
        where: what the message calls the data.

    Raises:
        ConfigError: a field is unknown, missing or wrong; all of them are listed.
    """
    try:
        return kind.model_validate(data)
    except ValidationError as error:
        lines = []
        for problem in error.errors():
            place = ".".join(str(part) for part in problem["loc"])
            text = problem["msg"].removeprefix("Value error, ")
            if problem["type"] == "extra_forbidden":
                text = "there is no such option" + _hint(str(problem["loc"][-1]), kind)
            lines.append(f"{place}: {text}" if place else text)
        raise ConfigError(f"{where}: " + "; ".join(lines)) from None


def _hint(name: str, kind: type[BaseModel]) -> str:
    known = {*kind.model_fields, *GRPOConfig.model_fields, *ServerConfig.model_fields}
    close = difflib.get_close_matches(name, known, n=1)
    return f"; did you mean {close[0]}?" if close else ""
