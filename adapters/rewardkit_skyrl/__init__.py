"""rewardkit in SkyRL: an environment, and an advantage estimator.

Tested with skyrl-gym 0.4.0. The estimator has verl's shape; skyrl's registry was read in 0.4.0.
"""

from typing import TYPE_CHECKING, Any

from rewardkit.advantages import AdvantageStage
from rewardkit.errors import ConfigError
from rewardkit.reward import Reward
from rewardkit.shapes import EnvironmentSession, OnMissing, Scorer
from rewardkit.verifier import Verifier

if TYPE_CHECKING:
    from skyrl_gym.envs.base_text_env import BaseTextEnv

__all__ = ["TESTED", "environment", "register_advantages"]

TESTED = "skyrl-gym>=0.4,<0.5"


def environment(
    reward: Reward | Verifier,
    *,
    on_missing: OnMissing = "zero",
    max_turns: int = 1,
    reference: str = "reference",
) -> "type[BaseTextEnv]":
    """Returns an environment class for `skyrl_gym.register`.

    The sample's `extras` are the columns; `reward_spec.ground_truth` is the reference where SkyRL's
    own data sets have it. A reward is a number there, so a missing one is 0 or raises.

    Raises:
        ConfigError: the policy is to mask, which SkyRL cannot.
    """
    from skyrl_gym.envs.base_text_env import BaseTextEnv

    if on_missing == "mask":
        raise ConfigError('skyrl cannot leave a turn out: choose on_missing="zero" or "raise"')
    scorer = Scorer(reward, on_missing=on_missing, reference=reference)

    class RewardkitEnv(BaseTextEnv):  # type: ignore[misc] # untyped
        def __init__(self, env_config: Any = None, extras: Any = None) -> None:
            super().__init__()
            columns = dict(extras or {})
            truth = (columns.get("reward_spec") or {}).get("ground_truth")
            if reference not in columns and truth is not None:
                columns[reference] = truth
            self.max_turns = columns.pop("max_turns", max_turns)
            self.session = EnvironmentSession(scorer, columns, max_turns=self.max_turns)

        def step(self, action: str) -> Any:
            self.turns += 1
            step = self.session.step(action)
            told = [] if step.done else [{"role": "user", "content": step.observation}]
            return {
                "observations": told,
                "reward": step.reward,
                "done": step.done,
                "metadata": {"status": step.row.status, **step.row.components},
            }

    return RewardkitEnv


def register_advantages(stage: AdvantageStage, *, name: str = "rewardkit") -> None:
    """Registers a stage with SkyRL: `trainer.algorithm.advantage_estimator=rewardkit`."""
    from skyrl.backends.skyrl_train.utils.ppo_utils import register_advantage_estimator

    from rewardkit_verl import advantage_estimator

    register_advantage_estimator(name)(advantage_estimator(stage))
