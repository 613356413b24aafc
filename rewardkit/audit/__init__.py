"""Property tests for rewards: find the hole before the policy does.

Needs the extra `audit` (hypothesis).
"""

from rewardkit._install import require_extra

require_extra("audit")

from rewardkit.audit.engine import KINDS, Profile, audit_reward  # noqa: E402
from rewardkit.audit.finding import Finding, Level  # noqa: E402
from rewardkit.audit.rates import Rate  # noqa: E402
from rewardkit.audit.report import AuditReport, render_text  # noqa: E402
from rewardkit.audit.traits import Traits  # noqa: E402
from rewardkit.audit.unseen import Unseen, estimate_unseen  # noqa: E402

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
