"""Sampling by a server: OpenAI's completions with token ids, and new weights from a disk."""

import json
import shutil
import urllib.error
import urllib.request
from collections.abc import Mapping, Sequence
from typing import Any

from rewardkit.errors import RewardkitError
from rewardkit_grpo import parallel
from rewardkit_grpo.config import GRPOConfig
from rewardkit_grpo.models import Model
from rewardkit_grpo.rollout import Generated
from rewardkit_grpo.server_config import ServerConfig

__all__ = ["ServedGenerator", "ServerError"]


class ServerError(RewardkitError):
    """The server that samples did not answer, or not as it was asked to."""


class ServedGenerator:
    """Asks a server for completions, in the dialect of vLLM's `/v1/completions`.

    A request holds prompts as token ids, `n`, `max_tokens`, `temperature`, `seed`, `logprobs` and
    `return_token_ids`; an answer has `choices` by `index`, each with `token_ids`,
    `logprobs.token_logprobs` and `finish_reason`. The log-probabilities must be those of the
    distribution that is drawn from, at the temperature (vLLM: `--logprobs-mode
    processed_logprobs`).

    The entropy of a distribution is not in the answer. In its place stands minus the
    log-probability of the token, whose mean is the entropy.

    Args:
        model: the policy, whose weights the server gets.
        config: of the run.
        server: where it is.
        eos_ids: tokens that end a completion.
    """

    def __init__(
        self, model: Model, config: GRPOConfig, server: ServerConfig, eos_ids: Sequence[int]
    ) -> None:
        self.model, self.config, self.server = model, config, server
        self.eos_ids = list(eos_ids)
        self._updates: int | None = None

    def refresh(self, updates: int) -> None:
        """Hands the server the weights of now, once for each optimizer step.

        Raises:
            ServerError: it did not take them.
        """
        if updates == self._updates:
            return
        parallel.from_first(lambda: self._send(updates))
        self._updates = updates

    def _send(self, updates: int) -> None:
        folder = self.server.folder
        if self.server.weights == "reload":
            self.model.save_pretrained(folder)
            self._post("/collective_rpc", {"method": "reload_weights"})
            # What was computed with the old weights must not be the prefix of anything.
            self._post("/reset_prefix_cache", {})
            return
        own = folder / f"adapter-{updates}"
        self.model.save_pretrained(own)
        loaded = {"lora_name": self.server.model, "lora_path": str(own), "load_inplace": True}
        self._post("/v1/load_lora_adapter", loaded)
        for old in folder.glob("adapter-*"):
            if old != own:
                shutil.rmtree(old)

    def generate(
        self, prompts: Sequence[Sequence[int]], *, group_size: int, seed: int, explore: bool
    ) -> Generated:
        """Returns the completions.

        Raises:
            ServerError: the answer is not what was asked for.
        """
        answer = self._post(
            "/v1/completions",
            {
                "model": self.server.model,
                "prompt": [list(prompt) for prompt in prompts],
                "n": group_size,
                "max_tokens": self.config.max_new_tokens,
                "temperature": self.config.temperature,
                "top_p": 1.0,
                "top_k": 0,
                "seed": seed,
                "logprobs": 0,
                "return_token_ids": True,
                "stop_token_ids": self.eos_ids,
            },
        )
        try:
            choices = sorted(answer["choices"], key=lambda choice: int(choice["index"]))
            if [choice["index"] for choice in choices] != list(range(len(prompts) * group_size)):
                raise ValueError(f"{len(choices)} choices for {len(prompts)} x {group_size}")
            return self._read(choices)
        except (KeyError, TypeError, ValueError) as error:
            raise ServerError(
                f"{self.server.url}: the answer to /v1/completions is not as it was asked for "
                f"({type(error).__name__}: {error}); the server must know return_token_ids, as "
                "vLLM from 0.10.2 on"
            ) from error

    def _read(self, choices: Sequence[Mapping[str, Any]]) -> Generated:
        found = Generated([], [], [], [])
        for choice in choices:
            tokens = [int(token) for token in choice["token_ids"]]
            logps = [float(logp) for logp in choice["logprobs"]["token_logprobs"]]
            if not tokens or len(tokens) != len(logps):
                raise ValueError(f"{len(tokens)} tokens with {len(logps)} log-probabilities")
            found.completions.append(tokens)
            found.logps.append(logps)
            found.entropies.append([-logp for logp in logps])
            found.truncated.append(tokens[-1] not in self.eos_ids)
        return found

    def _post(self, path: str, body: Mapping[str, Any]) -> dict[str, Any]:
        request = urllib.request.Request(
            f"{self.server.url.rstrip('/')}{path}",
            data=json.dumps(body).encode(),
            headers={"Content-Type": "application/json"},
        )
        try:
            with urllib.request.urlopen(request, timeout=self.server.timeout_s) as answer:
                text = answer.read()
        except urllib.error.HTTPError as error:
            said = error.read(500).decode("utf-8", "replace")
            raise ServerError(f"{self.server.url}{path}: {error.code} {said}") from error
        except OSError as error:
            raise ServerError(f"{self.server.url}{path}: {error}; is the server up?") from error
        try:
            read = json.loads(text)
        except ValueError:
            return {}  # the endpoints for weights answer in words
        return read if isinstance(read, dict) else {}
