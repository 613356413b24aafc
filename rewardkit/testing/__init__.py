"""Property tests for rewards in pytest: `check_reward`, and the strategies behind it.

Needs the extra `audit` (hypothesis); `import rewardkit` never imports it.
"""

from rewardkit._install import require_extra

require_extra("audit")

from rewardkit.testing import strategies  # noqa: E402
from rewardkit.testing.checks import check_reward  # noqa: E402

__all__ = ["check_reward", "strategies"]
