"""What each address does with a request, in a thread of its own; the answer is JSON."""

import asyncio
import json
from collections.abc import Callable, Mapping
from typing import Any

from rewardkit.reward import Reward, RewardResult
from rewardkit.runtime import Runner
from rewardkit.runtime.batch import verdicts_of
from rewardkit.serve.service._bodies import Rows
from rewardkit.serve.service._metrics import Metrics
from rewardkit.serve.service._problems import Problem
from rewardkit.shapes.scored import row_status
from rewardkit.verdict import Verdict
from rewardkit.verifier import Verifier, row_contexts

__all__ = ["Jobs", "named_verifiers", "to_json"]


def to_json(data: object) -> bytes:
    """Returns JSON that any reader takes: lone surrogates are escaped, and there is no NaN."""
    return json.dumps(data, ensure_ascii=True, allow_nan=False, separators=(",", ":")).encode()


def named_verifiers(reward: Reward, prefix: str = "") -> dict[str, Verifier]:
    """Returns the verifiers of a reward by name; `outer/inner` for one within a reward within."""
    found: dict[str, Verifier] = {}
    for name, component in reward.components.items():
        if isinstance(component, Reward):
            found.update(named_verifiers(component, f"{prefix}{name}/"))
        elif isinstance(component, Verifier):
            found[prefix + name] = component
    return found


class Jobs:
    """The work of the addresses.

    Args:
        reward: what is served.
        runner: where rows are graded.
        metrics: told of every verdict.
    """

    def __init__(self, reward: Reward, runner: Runner, metrics: Metrics) -> None:
        self._reward = reward
        self._runner = runner
        self._metrics = metrics
        self.verifiers = named_verifiers(reward)

    def verifier(self, name: object) -> tuple[str, Verifier]:
        """Returns the verifier that a request means.

        Raises:
            Problem: there is no such one, or several and none is named.
        """
        known = ", ".join(self.verifiers) or "none"
        if name is None:
            if len(self.verifiers) != 1:
                raise Problem(400, "bad_request", f"name the verifier, of: {known}")
            return next(iter(self.verifiers.items()))
        if not isinstance(name, str) or name not in self.verifiers:
            raise Problem(400, "bad_request", f"no such verifier here; there are: {known}")
        return name, self.verifiers[name]

    def verify(self, name: str, verifier: Verifier, rows: Rows, until: float) -> bytes:
        """Returns the verdicts of a request."""
        columns = dict(rows.columns)
        references = columns.pop("reference", None)
        if references is None:
            raise Problem(400, "bad_request", "give the reference, or references, one a completion")
        contexts = row_contexts(len(rows.completions), columns)
        verdicts = verdicts_of(
            self._runner.grade(verifier, rows.completions, references, contexts, until=until)
        )
        self._metrics.judged({name: verdicts})
        told = [verdict.to_dict() for verdict in verdicts]
        return to_json(told[0] if rows.single else {"verdicts": told})

    def reward(self, rows: Rows, *, with_verdicts: bool) -> bytes:
        """Returns the totals of a request, and what they are made of."""
        result = self._reward.score(rows.completions, **rows.columns)
        self._metrics.judged(result.verdicts)
        return to_json(_one(result, with_verdicts) if rows.single else _all(result, with_verdicts))


def _all(result: RewardResult, with_verdicts: bool) -> dict[str, Any]:
    told = [row_status(result, index) for index in range(len(result))]
    data: dict[str, Any] = {
        "scores": result.scores,
        "components": result.components,
        "statuses": [status for status, _ in told],
        "details": [detail for _, detail in told],
    }
    if with_verdicts:
        data["verdicts"] = {
            name: [verdict.to_dict() for verdict in verdicts]
            for name, verdicts in result.verdicts.items()
        }
    return data


def _one(result: RewardResult, with_verdicts: bool) -> dict[str, Any]:
    status, detail = row_status(result, 0)
    row = result.row(0)
    data = {
        "score": row.score,
        "components": row.components,
        "status": status,
        "detail": detail,
    }
    verdicts: Mapping[str, Verdict] = row.verdicts
    return {**data, "verdicts": _told(verdicts)} if with_verdicts else data


def _told(verdicts: Mapping[str, Verdict]) -> dict[str, Any]:
    return {name: verdict.to_dict() for name, verdict in verdicts.items()}


def trainer_jobs(reward: Reward, on_missing: Any) -> dict[str, Callable[[Any], bytes]]:  # noqa: ANN401
    """Returns the jobs in the shapes of frameworks, by address.

    Args:
        reward: what is served.
        on_missing: "zero" or "raise": both frameworks take a number for every completion.
    """
    import rewardkit_nemo_gym
    import rewardkit_openrlhf

    openrlhf = rewardkit_openrlhf.answerer(reward, on_missing=on_missing)
    nemo_gym = rewardkit_nemo_gym.verify(reward, on_missing=on_missing)

    async def answer_gym(body: Any) -> dict[str, Any]:  # noqa: ANN401
        return {**body, **await nemo_gym(body)}

    return {
        "/openrlhf": lambda body: to_json(openrlhf(_checked_openrlhf(body))),
        "/nemo-gym/verify": lambda body: to_json(asyncio.run(answer_gym(_checked_gym(body)))),
    }


def _checked_openrlhf(body: dict[str, Any]) -> dict[str, Any]:
    for name in ("query", "prompts", "labels"):
        if not isinstance(body.get(name, []), list):
            raise Problem(400, "bad_request", f"{name} is a list")
    return body


def _checked_gym(body: dict[str, Any]) -> dict[str, Any]:
    response = body.get("response")
    output = response.get("output") if isinstance(response, dict) else None
    if not isinstance(output, list) or not all(isinstance(item, dict) for item in output):
        raise Problem(400, "bad_request", "response.output is a list of objects")
    for item in output:
        content = item.get("content") or []
        if not isinstance(content, list) or not all(isinstance(part, dict) for part in content):
            raise Problem(400, "bad_request", "the content of an output is a list of objects")
    return body
