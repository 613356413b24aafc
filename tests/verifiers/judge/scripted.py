"""An OpenAI-compatible server on loopback that answers by rule and fails on demand.

It speaks HTTP over real sockets with nothing but the standard library. A judge's prompt is read
back to its data, so that a rule decides on the graded response. What goes wrong, and how often,
stands in the response itself as `[fault NAME xN]`, with `[id N]` to count by.
"""

import asyncio
import json
import re
import threading
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

__all__ = ["Call", "Rule", "ScriptedServer", "honest"]


@dataclass(frozen=True, slots=True)
class Call:
    """One request, read."""

    body: dict[str, Any]
    data: dict[str, Any]
    """What stands between the boundaries."""
    nonce: str
    headers: dict[str, str]

    @property
    def items(self) -> dict[str, list[str]]:
        """Item -> allowed answers, from the schema or from the lines that the prompt asks for."""
        wanted = self.body.get("response_format")
        if wanted:
            properties = wanted["json_schema"]["schema"]["properties"]
            return {k: v["enum"] for k, v in properties.items() if "enum" in v}
        text = self.body["messages"][-1]["content"].split(f"</data-{self.nonce}>")[-1]
        found = re.findall(rf"^VERDICT-{self.nonce}(?: (\w+))?: (.*)$", text, re.M)
        return {name or "verdict": allowed.split(" or ") for name, allowed in found}


Rule = Callable[[Call], dict[str, str]]
"""Answers each item of a call."""


def honest(call: Call) -> dict[str, str]:
    """Says CORRECT where the response holds the reference as a word, MET where the criterion."""
    response = str(call.data.get("response", ""))
    answers = {}
    for name, allowed in call.items.items():
        if "MET" in allowed:
            answers[name] = "MET" if call.data["criteria"][name] in response else "UNMET"
        elif "CORRECT" in allowed:
            said = re.findall(r"[^\W_]+", response)
            answers[name] = "CORRECT" if str(call.data["reference"]) in said else "INCORRECT"
        else:
            answers[name] = allowed[0]
    return answers


@dataclass
class ScriptedServer:
    """A server in a thread; use it as a context manager."""

    rule: Rule = honest
    delay_s: float = 0.0
    """Time of one reply, as a model would take."""
    schema: bool = True
    """False: structured output is refused, as some servers do."""
    text: Callable[[Call], str] | None = None
    """Replies with this text instead of the rule's answers."""
    fault: Callable[[Call, int], str | None] | None = None
    """(call, number of earlier requests for this id) -> the name of what goes wrong."""
    calls: list[Call] = field(default_factory=list)
    answered: Counter[str] = field(default_factory=Counter)
    """Id -> complete replies."""
    faults: Counter[str] = field(default_factory=Counter)
    in_flight: int = 0
    most_in_flight: int = 0

    def __enter__(self) -> "ScriptedServer":
        self._tries: Counter[str] = Counter()
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, daemon=True)
        self._thread.start()
        start = asyncio.start_server(self._serve, "127.0.0.1", 0, backlog=512)
        self._server = asyncio.run_coroutine_threadsafe(start, self._loop).result()
        self.port = self._server.sockets[0].getsockname()[1]
        self.url = f"http://127.0.0.1:{self.port}/v1"
        return self

    def __exit__(self, *_: object) -> None:
        asyncio.run_coroutine_threadsafe(self._stop(), self._loop).result()
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()

    async def _stop(self) -> None:
        self._server.close()
        tasks = asyncio.all_tasks() - {asyncio.current_task()}
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while head := await reader.readuntil(b"\r\n\r\n"):
                lines = head.decode("latin-1").split("\r\n")
                headers = dict(one.lower().split(": ", 1) for one in lines[1:] if ": " in one)
                raw = await reader.readexactly(int(headers.get("content-length", 0)))
                if not await self._answer(json.loads(raw), headers, writer):
                    break
        except (asyncio.IncompleteReadError, asyncio.CancelledError, ConnectionError):
            pass
        finally:
            writer.close()

    async def _answer(
        self, body: dict[str, Any], headers: dict[str, str], writer: asyncio.StreamWriter
    ) -> bool:
        call = _read_call(body, headers)
        self.calls.append(call)
        self.in_flight += 1
        self.most_in_flight = max(self.most_in_flight, self.in_flight)
        try:
            if self.delay_s:
                await asyncio.sleep(self.delay_s)
            if not self.schema and "response_format" in body:
                error = {"error": {"message": "response_format json_schema is not supported"}}
                return await _send(writer, error, status=500)
            response = str(call.data.get("response", ""))
            name = (re.findall(r"\[id (\w+)\]", response) or ["?"])[-1]
            kind = self._fault(call, response, name)
            self._tries[name] += 1
            if kind is not None:
                self.faults[kind] += 1
                return await _fail(kind, call, writer)
            content = self.text(call) if self.text else _content(call, self.rule(call))
            self.answered[name] += 1
            return await _send(writer, _completion(content))
        finally:
            self.in_flight -= 1

    def _fault(self, call: Call, response: str, name: str) -> str | None:
        if self.fault is not None:
            return self.fault(call, self._tries[name])
        found = re.search(r"\[fault (\w+)(?: x(\d+))?\]", response)
        if found is None or (found[2] and self._tries[name] >= int(found[2])):
            return None
        return found[1]


def _read_call(body: dict[str, Any], headers: dict[str, str]) -> Call:
    text = body["messages"][-1]["content"]
    found = re.search(r"<data-(\w+)>\n(.*)\n</data-\1>", text, re.S)
    assert found is not None, text
    return Call(body, json.loads(found[2]), found[1], headers)


def _content(call: Call, answers: dict[str, str]) -> str:
    if "response_format" in call.body:
        return json.dumps({"reasoning": "by rule", **answers})
    if len(answers) == 1:
        return f"By rule.\nVERDICT-{call.nonce}: {next(iter(answers.values()))}"
    return "\n".join(f"VERDICT-{call.nonce} {name}: {one}" for name, one in answers.items())


def _completion(content: str | None, **message: object) -> dict[str, Any]:
    finish = message.pop("finish", "stop")
    return {
        "choices": [{"message": {"content": content, **message}, "finish_reason": finish}],
        "usage": {"prompt_tokens": 100, "completion_tokens": 10},
    }


async def _send(
    writer: asyncio.StreamWriter, body: object, *, status: int = 200, more: str = ""
) -> bool:
    raw = body if isinstance(body, bytes) else json.dumps(body).encode()
    head = f"HTTP/1.1 {status} X\r\nContent-Type: application/json\r\n{more}"
    writer.write(f"{head}Content-Length: {len(raw)}\r\n\r\n".encode() + raw)
    await writer.drain()
    return True


_TEXTS = {
    "empty": "",
    "prose": "It looks right to me.",
    "out_of_set": '{"reasoning": "", "verdict": "MOSTLY_CORRECT"}',
    "two_verdicts": '{"verdict": "INCORRECT", "verdict": "CORRECT"}',
    "cut_content": '{"reasoning": "the respo',
    "wrong_schema": '{"grade": "CORRECT"}',
    "refused_prose": "I'm sorry, but I can't help with that.",
}


async def _fail(kind: str, call: Call, writer: asyncio.StreamWriter) -> bool:
    """Does what goes wrong; returns whether the connection goes on."""
    if kind in _TEXTS:
        return await _send(writer, _completion(_TEXTS[kind]))
    if kind == "refused":
        return await _send(writer, _completion(None, refusal="I cannot judge this."))
    if kind == "filtered":
        return await _send(writer, _completion("", finish="content_filter"))
    if kind == "length":
        return await _send(writer, _completion("The response says", finish="length"))
    if kind == "malformed":
        return await _send(writer, b'{"choices": [')
    if kind == "no_choices":
        return await _send(writer, {"choices": []})
    if kind == "http_429":
        more = "Retry-After-Ms: 100\r\n"
        return await _send(writer, {"error": {"message": "slow down"}}, status=429, more=more)
    if kind == "http_429_long":
        return await _send(writer, {"error": "later"}, status=429, more="Retry-After: 3600\r\n")
    if kind.startswith("http_"):
        key = call.headers.get("authorization", "")
        return await _send(writer, {"error": {"message": f"bad {key}"}}, status=int(kind[5:]))
    if kind == "hang":
        await asyncio.sleep(3600)
    if kind == "trickle":
        writer.write(b"HTTP/1.1 200 X\r\nContent-Length: 1000\r\n\r\n")
        for _ in range(1000):
            writer.write(b" ")
            await writer.drain()
            await asyncio.sleep(0.05)
    if kind == "half":
        writer.write(b'HTTP/1.1 200 X\r\nContent-Length: 1000\r\n\r\n{"choices": [')
        await writer.drain()
    return False  # `drop`, `half`, `hang`, `trickle`: the connection ends
