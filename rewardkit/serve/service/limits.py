"""What a request may cost, all of it bounded before work begins."""

import math
from dataclasses import dataclass, fields

from rewardkit.errors import ConfigError

__all__ = ["ServiceLimits"]


@dataclass(frozen=True, slots=True)
class ServiceLimits:
    """The limits of a service.

    Raises:
        ConfigError: one is not above 0.
    """

    max_body_bytes: int = 16 * 2**20
    """Of a request's body; a larger one is answered 413."""
    max_total_bytes: int = 128 * 2**20
    """Of the bodies of all requests together; beyond it a further one is answered 429."""
    max_rows: int = 4096
    """Completions in a request; more are answered 413."""
    max_depth: int = 32
    """Lists and objects within each other in a body; deeper ones are answered 400."""
    max_requests: int = 64
    """Requests that are graded or wait; a further one is answered 429, with Retry-After."""
    running: int = 8
    """Requests that are graded at the same time; they share the workers."""
    timeout_s: float = 120.0
    """Seconds that a request may take, waiting included; it may ask for fewer."""
    head_timeout_s: float = 10.0
    """Seconds in which a connection must have sent the head of its request."""
    body_timeout_s: float = 30.0
    """Seconds in which it must have sent the body."""
    send_timeout_s: float = 30.0
    """Seconds in which a caller must take the next 64 KiB of a large answer."""
    max_connections: int = 512
    """Open connections; a request on a further one is answered 503."""
    drain_s: float = 60.0
    """Seconds that requests may still take after SIGTERM."""

    def __post_init__(self) -> None:
        for field in fields(self):
            value = getattr(self, field.name)
            if not 0 < value < math.inf:
                raise ConfigError(f"{field.name} is above 0 and finite, not {value!r}")
