"""The client, before a server that answers as it is told."""

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

from rewardkit import HttpRunner, Reason, RewardClient, Verdict
from rewardkit.errors import ConfigError, InvalidReferenceError
from tests.runtime.verifiers import Echo

FAST = {"backoff_s": 0.01}


@contextmanager
def server(answer) -> Iterator[tuple[str, list]]:
    """Runs a server whose `answer(number, path, body)` gives status, headers and data."""
    asked: list = []

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_POST(self):
            body = json.loads(self.rfile.read(int(self.headers.get("Content-Length", 0))) or "{}")
            asked.append((self.path, body, dict(self.headers)))
            status, headers, data = answer(len(asked), self.path, body)
            raw = data if isinstance(data, bytes) else json.dumps(data).encode()
            self.send_response(status)
            for name, value in {**headers, "Content-Length": str(len(raw))}.items():
                self.send_header(name, value)
            self.end_headers()
            self.wfile.write(raw)

        do_GET = do_POST

        def log_message(self, *_):
            pass

    made = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    made.daemon_threads = True
    thread = threading.Thread(target=made.serve_forever)
    thread.start()
    try:
        yield f"http://127.0.0.1:{made.server_port}", asked
    finally:
        made.shutdown()
        thread.join()
        made.server_close()


def graded(body):
    """What a service that knows `Echo` says."""
    references = body["references"]
    if None in references:
        return 422, {}, {"error": {"type": "invalid_reference", "message": "no reference"}}
    pairs = zip(body["completions"], references, strict=True)
    return 200, {}, {"verdicts": [Echo().verify(c, r).to_dict() for c, r in pairs]}


@pytest.mark.parametrize("status", [408, 429, 500, 502, 503, 504])
def test_what_may_pass_is_asked_again(status):
    def answer(number, path, body):
        return (status, {"Retry-After": "0"}, {}) if number < 3 else graded(body)

    with server(answer) as (url, asked), RewardClient(url, **FAST) as client:
        assert client.verify("a", "a").passed
        assert len(asked) == 3


def test_no_more_often_than_allowed_and_then_the_rows_abstain():
    busy = {"error": {"type": "busy", "message": "too many"}}
    with (
        server(lambda *_: (429, {}, busy)) as (url, asked),
        RewardClient(url, retries=2, **FAST) as client,
    ):
        verdicts = client.verify_batch(["a", "b"], ["a", "b"])
        assert [(v.score, v.reason) for v in verdicts] == [(None, Reason.ENGINE_FAILURE)] * 2
        assert "429" in verdicts[0].detail
        assert len(asked) == 3


@pytest.mark.parametrize(
    "data",
    [b"<html>", b"[]", b"{}", {"verdicts": []}, {"verdicts": [{"score": 7}]}, {"verdicts": None}],
)
def test_an_answer_that_is_none_is_an_abstention(data):
    with (
        server(lambda *_: (200, {}, data)) as (url, _),
        RewardClient(url, retries=1, **FAST) as client,
    ):
        verdict = client.verify("a", "a")
        assert (verdict.score, verdict.reason) == (None, Reason.ENGINE_FAILURE)


@pytest.mark.parametrize("status", [400, 401, 404, 413, 415])
def test_the_callers_mistake_raises_at_once(status):
    problem = {"error": {"type": "x", "message": "say please"}}
    with server(lambda *_: (status, {}, problem)) as (url, asked), RewardClient(url) as client:
        with pytest.raises(ConfigError, match="say please"):
            client.verify("a", "a")
        assert len(asked) == 1


def test_a_large_batch_travels_in_parts_and_keeps_its_order():
    words = [f"w{i}" for i in range(95)]
    with server(lambda _, path, body: graded(body)) as (url, asked):
        with RewardClient(url, rows=10, token="secret") as client:
            verdicts = client.verify_batch(words, words)
        assert [v.answer for v in verdicts] == words
        assert sorted(len(body["completions"]) for _, body, _ in asked) == [5, *[10] * 9]
        assert {headers["Authorization"] for _, _, headers in asked} == {"Bearer secret"}


def test_what_is_no_json_is_refused_before_it_is_sent():
    with server(lambda _, path, body: graded(body)) as (url, asked), RewardClient(url) as client:
        for column in ([float("nan")], [object()], [{1, 2}]):
            with pytest.raises(ConfigError, match="JSON"):
                client.verify_batch(["a"], ["a"], hint=column)
        assert not asked
        assert client.verify("\ud800", "a").answer == "\ud800"


def test_a_result_is_read_back_as_it_was():
    verdict = Verdict(0.5, Reason.PARTIAL, answer="a", parts={"x": 0.5}, evidence={"tier": 1})
    told = {
        "scores": [0.5, None],
        "components": {"echo": [0.5, None]},
        "statuses": ["scored", "timeout"],
        "details": ["", ""],
        "verdicts": {"echo": [verdict.to_dict(), Verdict(None, Reason.TIMEOUT).to_dict()]},
    }
    with server(lambda *_: (200, {}, told)) as (url, _), RewardClient(url) as client:
        result = client.reward(["a", "b"], reference=["a", "b"])
    assert result.scores == [0.5, None]
    assert result.verdicts["echo"][0] == verdict


def test_the_runner_asks_for_the_verifier_of_that_name():
    def answer(_, path, body):
        return (200, {}, {"verifiers": ["echo"]}) if path == "/ready" else graded(body)

    with server(answer) as (url, asked), HttpRunner(url) as runner:
        verdicts = runner.verify_batch(Echo(), ["a", "b"], ["a", "a"], hint=["x", "y"])
        assert [v.score for v in verdicts] == [1.0, 0.0]
        assert asked[-1][1]["verifier"] == "echo"
        assert asked[-1][1]["columns"] == {"hint": ["x", "y"]}
        with pytest.raises(InvalidReferenceError):
            runner.verify_batch(Echo(), ["a", "b"], ["a", None])
        graded_rows = runner.grade(Echo(), ["a", "b"], ["a", None], [{}, {}])
        assert graded_rows[0].passed
        assert isinstance(graded_rows[1], InvalidReferenceError)


@pytest.mark.parametrize("url", ["", "localhost:8300", "ftp://x", "http://"])
def test_a_url_that_is_none_is_refused(url):
    with pytest.raises(ConfigError, match="url"):
        RewardClient(url)
