"""rewardkit in ms-swift: an outcome reward for `--external_plugins`.

Read in ms-swift of 2026-08-22 (`swift.plugin.orm`); not run in the tests.
"""

from collections.abc import Sequence
from typing import Any

from rewardkit.completion import Completion
from rewardkit.reward import Reward
from rewardkit.shapes import OnMissing, scalar_scorer
from rewardkit.verifier import Verifier

__all__ = ["TESTED", "orm"]

TESTED = "ms-swift of 2026-08-22"


def orm(
    reward: Reward | Verifier,
    *,
    on_missing: OnMissing,
    reference: str = "solution",
    advantages: object = None,
) -> type:
    """Returns a class to put into `orms["rewardkit"]` in the plugin file.

    ms-swift makes one with its arguments and calls it with the completions and the columns.

    Raises:
        ConfigError: the policy is to mask, or a stage was given.
    """
    scorer = scalar_scorer(
        "ms-swift", reward, on_missing=on_missing, reference=reference, advantages=advantages
    )

    class RewardkitORM:
        def __init__(self, args: Any = None, **kwargs: Any) -> None:
            self.args = args

        def __call__(self, completions: Sequence[Completion], **columns: Any) -> list[float]:
            count = len(completions)
            own = {
                name: column
                for name, column in columns.items()
                if isinstance(column, list) and len(column) == count
            }
            return [float(score or 0.0) for score in scorer.batch(completions, own).scores]

    return RewardkitORM
