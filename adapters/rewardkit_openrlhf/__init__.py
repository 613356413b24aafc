"""rewardkit in OpenRLHF: a reward function for `--reward.remote_url`, and an HTTP server.

Read in OpenRLHF 0.11.2; not run in the tests.
"""

import json
from collections.abc import Callable, Sequence
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from itertools import zip_longest
from typing import Any

from rewardkit.errors import RewardkitError
from rewardkit.reward import Reward
from rewardkit.shapes import JsonShape, OnMissing, Scored, scalar_scorer
from rewardkit.verifier import Verifier

__all__ = ["TESTED", "answerer", "reward_func", "server"]

TESTED = "openrlhf==0.11.2"

_SHAPE = JsonShape("query", {"prompt": "prompts", "reference": "labels"})


def reward_func(
    reward: Reward | Verifier, *, on_missing: OnMissing, advantages: object = None
) -> Callable[..., dict[str, Any]]:
    """Returns what the file that `--reward.remote_url` names calls `reward_func`.

    OpenRLHF makes the advantages itself and takes one number a completion.

    Raises:
        ConfigError: the policy is to mask, or a stage was given.
    """
    import torch

    answer = answerer(reward, on_missing=on_missing, advantages=advantages)

    def reward_func(
        queries: Sequence[str], prompts: Sequence[str], labels: Sequence[Any], **more: Any
    ) -> dict[str, Any]:
        told = answer({"query": list(queries), "prompts": list(prompts), "labels": list(labels)})
        logs = {name: torch.tensor(values) for name, values in told["extra_logs"].items()}
        return {
            "rewards": torch.tensor(told["rewards"]),
            "scores": torch.tensor(told["scores"]),
            "extra_logs": logs,
        }

    return reward_func


def server(
    reward: Reward | Verifier,
    *,
    on_missing: OnMissing,
    host: str = "127.0.0.1",
    port: int = 5000,
    advantages: object = None,
) -> ThreadingHTTPServer:
    """Returns the server for `--reward.remote_url http://host:port/`; `serve_forever` runs it.

    Raises:
        ConfigError: the policy is to mask, or a stage was given.
    """
    answer = answerer(reward, on_missing=on_missing, advantages=advantages)

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
            try:
                status, told = 200, answer(body)
            except RewardkitError as error:
                status, told = 400, {"error": str(error)}
            data = json.dumps(told).encode()
            self.send_response(status)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(data)))
            self.end_headers()
            self.wfile.write(data)

        def log_message(self, format: str, *args: Any) -> None:
            """Leaves the log to the trainer."""

    return ThreadingHTTPServer((host, port), Handler)


def answerer(
    reward: Reward | Verifier, *, on_missing: OnMissing, advantages: object = None
) -> Callable[[Any], dict[str, Any]]:
    """Returns a function from a request's body to the answer's, whatever server carries them.

    Raises:
        ConfigError: the policy is to mask, or a stage was given.
    """
    scorer = scalar_scorer("OpenRLHF", reward, on_missing=on_missing, advantages=advantages)

    def answer(body: Any) -> dict[str, Any]:
        request = dict(_SHAPE.read(body))
        queries, prompts = request.get("query"), request.get("prompts")
        if isinstance(queries, list) and isinstance(prompts, list):
            request["query"] = [
                query.removeprefix(prompt) if isinstance(query, str) else query
                for query, prompt in zip_longest(queries, map(str, prompts), fillvalue="")
            ]
        return _told(_SHAPE.score(scorer, request))

    return answer


def _told(scored: Scored) -> dict[str, Any]:
    rewards = [float(score or 0.0) for score in scored.scores]
    logs = {
        name: [0.0 if value is None else value for value in values]
        for name, values in scored.result.components.items()
    }
    decided = [float(status == "scored") for status in scored.statuses]
    # `scores` choose the groups to train on, and are from 0 to 1.
    scores = [min(max(reward, 0.0), 1.0) for reward in rewards]
    return {"rewards": rewards, "scores": scores, "extra_logs": {**logs, "decided": decided}}
