"""Property tests for rewards: find the hole before the policy does.

Needs the extra `audit` (hypothesis), which is loaded with the first name that is used: the
processes that run a reward import parts of this package and do without it.
"""

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rewardkit.audit.engine import KINDS, Profile, audit_reward
    from rewardkit.audit.finding import Finding, Level
    from rewardkit.audit.rates import Rate
    from rewardkit.audit.report import AuditReport, render_text
    from rewardkit.audit.traits import Traits
    from rewardkit.audit.unseen import Unseen, estimate_unseen

__all__ = [
    "KINDS",
    "AuditReport",
    "Finding",
    "Level",
    "Profile",
    "Rate",
    "Traits",
    "Unseen",
    "audit_reward",
    "estimate_unseen",
    "render_text",
]

_HOMES = {
    "KINDS": "engine",
    "AuditReport": "report",
    "Finding": "finding",
    "Level": "finding",
    "Profile": "engine",
    "Rate": "rates",
    "Traits": "traits",
    "Unseen": "unseen",
    "audit_reward": "engine",
    "estimate_unseen": "unseen",
    "render_text": "report",
}


def __getattr__(name: str) -> object:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from rewardkit._install import require_extra

    require_extra("audit")
    value = globals()[name] = getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)
    return value
