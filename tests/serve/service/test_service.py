"""The reward service, asked over HTTP as trainers do."""

import contextlib
import gzip
import http.client
import json
import socket
import time
from collections.abc import Iterator

import pytest

from rewardkit import Reason
from tests._needs import needs
from tests.serve.service.process import TOKEN, Service, running

needs("starlette")
needs("uvicorn")
needs("prometheus_client")

LIMITS = {
    "max_body_bytes": 200_000,
    "max_rows": 100,
    "max_depth": 8,
    "head_timeout_s": 1.0,
    "body_timeout_s": 1.0,
    "timeout_s": 60.0,
}


@pytest.fixture(scope="module")
def service() -> Iterator[Service]:
    with running(**LIMITS) as service:
        yield service


def test_one_completion_gets_one_verdict(service):
    status, _, told = service.ask("/verify", {"completion": "right", "reference": "right"})
    assert (status, told["score"], told["reason"]) == (200, 1.0, "match")


def test_a_batch_keeps_its_order_and_its_length(service):
    words = [f"word {i % 7}" for i in range(100)]
    told = service.verify(*words, reference="word 3")
    assert [one["answer"] for one in told] == words
    assert [one["score"] for one in told] == [float(word == "word 3") for word in words]


def test_columns_reach_the_verifier(service):
    body = {"completions": ["a"], "references": ["a"], "columns": {"hint": ["of mine"]}}
    assert service.ask("/verify", body)[2]["verdicts"][0]["detail"] == "hint of mine"
    body = {"completion": "a", "reference": "a", "context": {"hint": "of mine"}}
    assert service.ask("/verify", body)[2]["detail"] == "hint of mine"


def test_a_row_that_kills_its_worker_loses_only_itself(service):
    told = service.verify("right", "exit", "raise", "right")
    assert [one["score"] for one in told] == [1.0, None, None, 1.0]
    assert told[1]["reason"] == told[2]["reason"] == Reason.ENGINE_FAILURE


def test_a_deadline_kills_the_work_and_the_row_abstains(service):
    before = service.verify("pid")[0]["answer"]
    told = service.verify("right", "hang", "hang", "hang", timeout_s=1.0)
    assert told[0]["score"] in (1.0, None)
    assert {(one["score"], one["reason"]) for one in told[1:]} == {(None, "timeout")}
    assert service.verify("right")[0]["score"] == 1.0
    assert int(before) not in service.workers() or len(service.workers()) <= 2


def test_totals_components_and_statuses(service):
    body = {"completions": ["right", "wrong", "exit"], "references": ["right"] * 3}
    status, _, told = service.ask("/reward", body)
    assert status == 200
    assert told["scores"] == told["components"]["echo"] == [1.0, 0.0, None]
    assert told["statuses"] == ["scored", "scored", "engine_failure"]
    assert "verdicts" not in told
    _, _, told = service.ask("/reward", {**body, "verdicts": True})
    assert [one["reason"] for one in told["verdicts"]["echo"]][:2] == ["match", "mismatch"]
    _, _, told = service.ask("/reward", {"completion": "right", "reference": "right"})
    assert (told["score"], told["status"]) == (1.0, "scored")


def test_openrlhf_is_answered_in_its_shape(service):
    body = {"query": ["2+2 right", "2+2 exit"], "prompts": ["2+2 "] * 2, "labels": ["right"] * 2}
    status, _, told = service.ask("/openrlhf", body)
    assert status == 200
    assert told["rewards"] == [1.0, 0.0]
    assert told["extra_logs"]["decided"] == [1.0, 0.0]


def test_nemo_gym_gets_its_request_back_with_a_reward(service):
    message = {"type": "message", "content": [{"type": "output_text", "text": "right"}]}
    body = {
        "responses_create_params": {"input": "?"},
        "response": {"output": [message]},
        "verifier_metadata": {"reference": "right"},
    }
    status, _, told = service.ask("/nemo-gym/verify", body)
    assert status == 200
    assert told["reward"] == 1.0
    assert told["response"] == body["response"]


DEEP = b'{"completion": ' + b"[" * 9 + b"]" * 9 + b', "reference": 1}'
BAD = {
    "no json": (b"{", 400),
    "not utf-8": (b'{"completion": "\xff", "reference": "a"}', 400),
    "a list": (b"[]", 400),
    "nothing": (b"", 400),
    "NaN": (b'{"completion": "a", "reference": NaN}', 400),
    "a number of many digits": (b'{"completion": "a", "reference": %s}' % (b"9" * 9999), 400),
    "a number beyond all": (b'{"completion": "a", "reference": 1e400}', 400),
    "a key twice": (b'{"completion": "a", "reference": "a", "reference": "b"}', 400),
    "a key twice further in": (b'{"completion": [{"role": "a", "role": "b"}]}', 400),
    "deeper than allowed": (DEEP, 400),
    "deeper than Python can": (b"[" * 99_000, 400),
    "an unknown field": (b'{"completion": "a", "reference": "a", "refrence": "a"}', 400),
    "no completion": (b'{"references": ["a"]}', 400),
    "no reference": (b'{"completion": "a"}', 400),
    "completions that are none": (b'{"completions": "abc", "references": ["a", "b", "c"]}', 400),
    "references of another length": (b'{"completions": ["a"], "references": []}', 400),
    "columns that are none": (b'{"completions": [], "references": [], "columns": [1]}', 400),
    "a column that is none": (
        b'{"completions": ["a"], "references": ["a"], "columns": {"x": "y"}}',
        400,
    ),
    "a verifier that is not there": (
        b'{"completion": "a", "reference": "a", "verifier": "nope"}',
        400,
    ),
    "a verifier that is no name": (b'{"completion": "a", "reference": "a", "verifier": [1]}', 400),
    "no time": (b'{"completion": "a", "reference": "a", "timeout_s": 0}', 400),
    "time that is none": (b'{"completion": "a", "reference": "a", "timeout_s": "1"}', 400),
    "a reference that cannot be read": (b'{"completion": "a", "reference": null}', 422),
    "too many rows": (json.dumps({"completions": ["a"] * 101}).encode(), 413),
}


@pytest.mark.parametrize("path", ["/verify", "/reward", "/openrlhf", "/nemo-gym/verify"])
@pytest.mark.parametrize("name", BAD)
def test_a_bad_request_is_answered_with_what_is_wrong(service, path, name):
    body, expected = BAD[name]
    status, _, told = service.ask(path, body)
    assert 400 <= status < 500
    assert told["error"]["type"]
    assert told["error"]["message"]
    if path == "/verify":
        assert status == expected


def test_only_json_is_read(service):
    status, _, told = service.ask("/verify", b"completion=a", Content_Type="text/plain")
    assert (status, told["error"]["type"]) == (415, "media_type")


@pytest.mark.parametrize("coding", ["gzip", "deflate", "br", "gzip, identity"])
def test_a_packed_body_is_refused(service, coding):
    body = gzip.compress(b'{"completion": "right", "reference": "right"}')
    status, _, told = service.ask("/verify", body, Content_Encoding=coding)
    assert (status, told["error"]["type"]) == (415, "encoding")


@pytest.mark.parametrize("size", [250_000, 5_000_000])
def test_a_body_that_is_too_large_is_refused(service, size):
    connection = http.client.HTTPConnection("127.0.0.1", service.port, timeout=30)
    connection.putrequest("POST", "/verify")
    connection.putheader("Content-Type", "application/json")
    connection.putheader("Content-Length", str(size))
    connection.endheaders(b" " * (size if size < 1_000_000 else 0))
    assert connection.getresponse().status == 413


def test_a_body_in_chunks_is_bounded_too(service):
    chunks = (b" " * 10_000 for _ in range(25))
    connection = http.client.HTTPConnection("127.0.0.1", service.port, timeout=30)
    connection.request(
        "POST", "/verify", chunks, {"Content-Type": "application/json"}, encode_chunked=True
    )
    assert connection.getresponse().status == 413


PATHS = [
    "/",
    "//verify",
    "/verify/",
    "/Verify",
    "/verify%00",
    "/%2e%2e/verify",
    "/../../etc/passwd",
    "/verify/..%2freward",
    "/openapi.json/..",
    "/static/app.py",
]


@pytest.mark.parametrize("path", PATHS)
def test_no_other_path_leads_anywhere(service, path):
    status, _, told = service.ask(path, {"completion": "right", "reference": "right"})
    assert (status, told["error"]["type"]) == (404, "not_found")


def test_another_method_is_refused(service):
    assert service.ask("/verify")[0] == 405
    assert service.ask("/ready", b"", method="DELETE")[0] == 405


def test_a_host_that_is_not_this_machine_is_refused_where_there_is_no_token(service):
    assert service.ask("/ready", Host="evil.example")[0] == 400


def closes(connection: socket.socket) -> bool:
    connection.settimeout(20)
    try:
        while data := connection.recv(4096):
            assert data
    except ConnectionResetError:
        pass
    return True


@pytest.mark.parametrize("start", [b"", b"POST /verify HTTP/1.1\r\nHost: localhost\r\nX-A: "])
def test_a_head_that_does_not_end_loses_its_connection(service, start):
    with socket.create_connection(("127.0.0.1", service.port)) as connection:
        connection.sendall(start)
        assert closes(connection)
    assert service.ask("/health")[0] == 200


def test_a_head_that_comes_byte_by_byte_loses_its_connection(service):
    with socket.create_connection(("127.0.0.1", service.port)) as connection:
        sent = 0
        with contextlib.suppress(BrokenPipeError, ConnectionResetError):
            for byte in b"GET /health HTTP/1.1\r\nHost: localhost\r\nX: " + b"a" * 5000:
                connection.sendall(bytes([byte]))
                sent += 1
                time.sleep(0.02)
        assert sent < 5000


def test_a_body_that_does_not_end_is_answered(service):
    connection = http.client.HTTPConnection("127.0.0.1", service.port, timeout=30)
    connection.putrequest("POST", "/verify")
    connection.putheader("Content-Type", "application/json")
    connection.putheader("Content-Length", "100")
    connection.endheaders(b"{")
    assert connection.getresponse().status == 408


def test_a_hundred_slow_connections_do_not_keep_others_out(service):
    slow = [socket.create_connection(("127.0.0.1", service.port)) for _ in range(100)]
    try:
        for connection in slow:
            connection.sendall(b"POST /verify HTTP/1.1\r\n")
        assert service.verify("right")[0]["score"] == 1.0
    finally:
        for connection in slow:
            connection.close()


def test_what_no_utf_8_can_hold_travels_both_ways(service):
    status, _, told = service.ask("/verify", b'{"completion": "\\ud800", "reference": "a"}')
    assert (status, told["answer"]) == (200, "\ud800")


def test_figures_for_prometheus(service):
    from prometheus_client.parser import text_string_to_metric_families

    service.verify("right", "wrong")
    status, headers, text = service.ask("/metrics")
    assert status == 200
    assert headers["content-type"].startswith("text/plain")
    found = {family.name: family for family in text_string_to_metric_families(text)}
    verdicts = {
        (s.labels["component"], s.labels["reason"]): s.value
        for s in found["rewardkit_verdicts"].samples
        if s.name.endswith("_total")
    }
    assert verdicts["echo", "match"] >= 1
    assert verdicts["echo", "mismatch"] >= 1
    states = {s.labels["state"]: s.value for s in found["rewardkit_workers"].samples}
    assert states["most"] == 2
    assert 1 <= states["alive"] <= 2
    assert found["rewardkit_request_seconds"].type == "histogram"
    assert found["rewardkit_requests_waiting"].samples[0].value == 0


def test_health_and_readiness(service):
    assert service.ask("/health")[::2] == (200, {"status": "alive"})
    status, _, told = service.ask("/ready")
    assert (status, told["verifiers"]) == (200, ["echo"])


def test_only_who_has_the_token_is_answered():
    with running(token=TOKEN) as service:
        body = {"completion": "right", "reference": "right"}
        assert service.ask("/verify", body)[0] == 200
        for wrong in ("", "Bearer", f"Bearer {TOKEN}x", f"Basic {TOKEN}", "Bearer \xe9"):
            status, headers, _ = service.ask("/verify", body, Authorization=wrong)
            assert (status, headers["www-authenticate"]) == (401, "Bearer")
        assert service.ask("/metrics", Authorization="")[0] == 401
        assert service.ask("/health", Authorization="")[0] == 200
