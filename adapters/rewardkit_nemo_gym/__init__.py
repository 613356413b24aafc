"""rewardkit in NeMo-Gym: the body of a resources server's `verify`.

Read in NeMo-Gym of 2026-08-22; not run in the tests.
"""

from collections.abc import Awaitable, Callable, Mapping
from typing import Any

from rewardkit.reward import Reward
from rewardkit.shapes import OnMissing, read_path, scalar_scorer
from rewardkit.verifier import Verifier

__all__ = ["TESTED", "verify"]

TESTED = "nemo-gym of 2026-08-22"


def verify(
    reward: Reward | Verifier,
    *,
    on_missing: OnMissing,
    columns: Mapping[str, str] | None = None,
    advantages: object = None,
) -> Callable[[Any], Awaitable[dict[str, Any]]]:
    """Returns a coroutine function from a request to the fields that its response adds to it.

    Args:
        reward: what scores.
        on_missing: `"zero"` or `"raise"`: a response has a number.
        columns: by a column's name, its path in the request; left out: the reference at
            `verifier_metadata.reference`.
        advantages: refused, as it has no way in.

    Raises:
        ConfigError: the policy is to mask, or a stage was given.
    """
    scorer = scalar_scorer("NeMo-Gym", reward, on_missing=on_missing, advantages=advantages)
    paths = {"reference": "verifier_metadata.reference"} if columns is None else columns

    async def verify(body: Any) -> dict[str, Any]:
        context = {name: read_path(body, path) for name, path in paths.items()}
        row = await scorer.aone(_messages(read_path(body, "response.output")), context)
        return {
            "reward": row.score,
            "reward_components": {k: v for k, v in row.components.items() if v is not None},
            "status": row.status,
        }

    return verify


def _messages(output: Any) -> list[dict[str, Any]]:
    """Returns the messages among the items of a Responses API output."""
    items = [item if isinstance(item, Mapping) else vars(item) for item in output]
    return [
        {
            "role": item.get("role", "assistant"),
            "content": [
                part if isinstance(part, Mapping) else vars(part)
                for part in item.get("content") or []
            ],
        }
        for item in items
        if item.get("type", "message") == "message"
    ]
