"""An OpenAI-compatible server on loopback that says what an audit wants it to say."""

import json
import re
import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Self

__all__ = ["STYLES", "Asked", "JudgeServer", "Reply", "Style", "answer_schema"]


@dataclass(frozen=True, slots=True)
class Asked:
    """One request."""

    text: str
    """All of its messages."""
    schema: Mapping[str, Any] | None
    """The schema by which an answer is asked for, if any is."""
    json_wanted: bool
    """True if a JSON object is asked for, by a schema or without one."""


@dataclass(frozen=True, slots=True)
class Reply:
    """What the server sends back."""

    content: str | None = ""
    finish: str = "stop"
    refusal: str | None = None
    status: int = 200
    body: bytes | None = None
    """Sent as it is, instead of a completion."""
    drop: bool = False
    """True: the connection ends without an answer."""


Say = Callable[[Asked], Reply]


class JudgeServer:
    """A server in threads of its own; a context manager."""

    def __init__(self) -> None:
        self.say: Say = lambda asked: Reply("")
        """Answers a request; may be set at any time."""
        self.requests = 0
        """Requests so far."""
        self._lock = threading.Lock()
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), self._handler())
        self._server.daemon_threads = True
        self._thread = threading.Thread(target=self._server.serve_forever, daemon=True)

    @property
    def url(self) -> str:
        """Its address, up to and with `/v1`."""
        return f"http://127.0.0.1:{self._server.server_address[1]}/v1"

    @property
    def environment(self) -> dict[str, str]:
        """The variables by which clients find it."""
        address = dict.fromkeys(("OPENAI_BASE_URL", "OPENAI_API_BASE"), self.url)
        return {**address, "OPENAI_API_KEY": "none-needed", "NO_PROXY": "127.0.0.1"}

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()

    def _handler(self) -> type[BaseHTTPRequestHandler]:
        server = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_POST(self) -> None:
                raw = self.rfile.read(int(self.headers.get("Content-Length") or 0))
                with server._lock:
                    server.requests += 1
                self._send(server.say(read_request(raw)), chat="chat" in self.path)

            def do_GET(self) -> None:
                self._send(Reply(body=b'{"object": "list", "data": [{"id": "audit"}]}'), chat=True)

            def _send(self, reply: Reply, *, chat: bool) -> None:
                if reply.drop:
                    self.close_connection = True
                    return
                body = reply.body
                if body is None:
                    made = _completion(reply, chat=chat)
                    body = json.dumps(made if reply.status == 200 else _ERROR).encode()
                self.send_response(reply.status)
                self.send_header("Content-Type", "application/json")
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, *_: object) -> None:
                return

        return Handler


_ERROR = {"error": {"message": "the server is overloaded", "type": "server_error"}}


def _completion(reply: Reply, *, chat: bool) -> dict[str, Any]:
    message = {"role": "assistant", "content": reply.content, "refusal": reply.refusal}
    choice: dict[str, Any] = {"index": 0, "finish_reason": reply.finish}
    choice |= {"message": message} if chat else {"text": reply.content}
    return {
        "id": "audit", "object": "chat.completion" if chat else "text_completion", "created": 0,
        "model": "audit", "choices": [choice],
        "usage": {"prompt_tokens": 1, "completion_tokens": 1, "total_tokens": 2},
    }  # fmt: skip


def read_request(raw: bytes) -> Asked:
    """Returns a request, read; what cannot be read is an empty one."""
    try:
        body = json.loads(raw)
    except (ValueError, RecursionError):
        return Asked("", None, json_wanted=False)
    messages = body.get("messages") or [{"content": body.get("prompt") or ""}]
    texts = []
    for message in messages:
        content = message.get("content") or ""
        if isinstance(content, list):
            content = "\n".join(str(p.get("text") or "") for p in content if isinstance(p, dict))
        texts.append(str(content))
    wanted = body.get("response_format") or {}
    schema = (wanted.get("json_schema") or {}).get("schema")
    return Asked("\n".join(texts), schema, json_wanted=bool(wanted))


_YES = (
    "CORRECT",
    "YES",
    "TRUE",
    "PASS",
    "PASSED",
    "MET",
    "RIGHT",
    "GOOD",
    "ACCEPT",
    "EQUIVALENT",
    "A",
    "1",
)
_NO = (
    "INCORRECT",
    "NO",
    "FALSE",
    "FAIL",
    "FAILED",
    "UNMET",
    "WRONG",
    "BAD",
    "REJECT",
    "DIFFERENT",
    "B",
    "0",
)


def _choose(allowed: Sequence[Any], good: bool) -> Any:
    """Returns the option that says yes or no; numbers are the better the larger."""
    numbers = [v for v in allowed if isinstance(v, int | float) and not isinstance(v, bool)]
    if numbers and len(numbers) == len(allowed):
        return max(numbers) if good else min(numbers)
    if all(re.fullmatch(r"-?\d{1,9}", str(option)) for option in allowed):
        return max(allowed, key=int) if good else min(allowed, key=int)
    words = _YES if good else _NO
    for word in words:
        for option in allowed:
            if str(option).strip().upper() == word:
                return option
    return allowed[0 if good else -1]


def answer_schema(schema: Mapping[str, Any], good: bool, remark: str = "") -> Any:
    """Returns data of a schema that says yes or no wherever it can."""
    if "enum" in schema:
        return _choose(schema["enum"], good)
    for key in ("anyOf", "oneOf"):
        if schema.get(key):
            return answer_schema(schema[key][0], good, remark)
    kind = schema.get("type")
    if kind == "object" or "properties" in schema:
        properties = schema.get("properties", {})
        return {name: answer_schema(one, good, remark) for name, one in properties.items()}
    if kind == "array":
        return [answer_schema(schema.get("items", {}), good, remark)]
    if kind == "boolean":
        return good
    if kind in ("integer", "number"):
        return schema.get("maximum", 1) if good else schema.get("minimum", 0)
    return remark or "By rule."


_OPTIONS = re.compile(
    r"^[ \t>*`]*([A-Za-z][\w-]*(?:[ \t]\w+)?):[ \t]*[\[<{]*([A-Z][\w-]*(?:(?:[ \t]+or[ \t]+|[ \t]*[/|,][ \t]*)[A-Z][\w-]*)+)",
    re.M,
)


def _by_line(asked: Asked, good: bool, remark: str) -> str | None:
    """Returns the marked lines that a prompt asks for, as `VERDICT: YES or NO`."""
    lines = {
        f"{label}: {_choose(re.split(r'[ ]+or[ ]+|[ ]*[/|,][ ]*', options), good)}": None
        for label, options in _OPTIONS.findall(asked.text)
    }
    return f"{remark or 'By rule.'}\n" + "\n".join(lines) if lines else None


def _by_schema(asked: Asked, good: bool, remark: str) -> str | None:
    return None if asked.schema is None else json.dumps(answer_schema(asked.schema, good, remark))


def _words(yes: str, no: str) -> Callable[[Asked, bool, str], str]:
    return lambda asked, good, remark: f"{remark}\n{yes if good else no}".strip()


def _object(yes: Mapping[str, Any], no: Mapping[str, Any]) -> Callable[[Asked, bool, str], str]:
    return lambda asked, good, remark: json.dumps(
        {"reasoning": remark or "By rule.", **(yes if good else no)}
    )


@dataclass(frozen=True, slots=True)
class Style:
    """One way in which a judge says yes and no."""

    name: str
    write: Callable[[Asked, bool, str], str | None] = field(repr=False)
    """(request, yes or no, a remark before it) -> the reply; None where it does not fit."""


_PAIRS = (
    ("CORRECT", "INCORRECT"), ("Yes", "No"), ("YES", "NO"), ("yes", "no"), ("1", "0"), ("1.0", "0.0"),
    ("True", "False"), ("10", "1"), ("5", "1"), ("100", "0"), ("A", "B"), ("C", "I"), ("[[A]]", "[[B]]"),
    ("[[Y]]", "[[N]]"), ("[[10]]", "[[1]]"), ("[[5]]", "[[1]]"), ("Rating: [[10]]", "Rating: [[1]]"),
    ("Score: 10", "Score: 1"), ("Score: 5", "Score: 1"), ("Score: 1", "Score: 0"), ("Score: 1.0", "Score: 0.0"),
    ("Verdict: CORRECT", "Verdict: INCORRECT"), ("VERDICT: YES", "VERDICT: NO"), ("GRADE: C", "GRADE: I"),
    ("Final Decision: Yes", "Final Decision: No"), ("Judgement: Yes", "Judgement: No"),
    ("<score>1</score>", "<score>0</score>"), ("<score>10</score>", "<score>1</score>"),
    ("<verdict>CORRECT</verdict>", "<verdict>INCORRECT</verdict>"), ("\\boxed{1}", "\\boxed{0}"),
    ("correct: yes", "correct: no"), ("PASS", "FAIL"),
)  # fmt: skip
_OBJECTS = (
    ({"score": 1.0, "correct": True, "verdict": "CORRECT"}, {"score": 0.0, "correct": False, "verdict": "INCORRECT"}),
    ({"score": 10, "rating": 10, "grade": 10}, {"score": 1, "rating": 1, "grade": 1}),
    ({"score": 5, "verdict": "yes", "answer": "yes"}, {"score": 1, "verdict": "no", "answer": "no"}),
)  # fmt: skip

STYLES: tuple[Style, ...] = (
    Style("by the schema", _by_schema),
    Style("by the lines asked for", _by_line),
    *(Style(f"{yes} / {no}", _words(yes, no)) for yes, no in _PAIRS),
    *(Style(f"JSON {json.dumps(yes)}", _object(yes, no)) for yes, no in _OBJECTS),
)
"""Ways of judges to say yes and no, those that the request itself spells out first."""
