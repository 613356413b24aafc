"""Callers that leave, dawdle, flood or lie: none of them costs the others anything."""

import contextlib
import http.client
import json
import socket
import threading
import time
from collections.abc import Iterator

import pytest

from tests._needs import needs
from tests.serve.service.process import Service, running, wait_until

needs("starlette")
needs("uvicorn")
needs("prometheus_client")


@pytest.fixture(scope="module")
def service() -> Iterator[Service]:
    with running(max_requests=4, running=2, send_timeout_s=1.0) as service:
        yield service


def figure(service: Service, name: str) -> float:
    lines = service.ask("/metrics")[2].splitlines()
    return next(float(line.split()[-1]) for line in lines if line.startswith(name))


def send(service: Service, body: object, *, path: str = "/verify") -> socket.socket:
    """Sends a request, and waits for no answer."""
    data = json.dumps(body).encode()
    head = f"POST {path} HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
    connection = socket.create_connection(("127.0.0.1", service.port))
    connection.sendall(f"{head}Content-Length: {len(data)}\r\n\r\n".encode() + data)
    return connection


def busy(service: Service) -> float:
    return figure(service, 'rewardkit_workers{state="busy"}')


def test_what_runs_for_a_caller_that_leaves_is_killed(service):
    """So are those of its rows that had not begun, and its requests that still waited."""
    rows = [f"hang {i}" for i in range(50)]
    asked = [send(service, {"completions": rows, "references": rows}) for _ in range(4)]
    wait_until(lambda: busy(service) == 2)
    assert figure(service, "rewardkit_requests_waiting") == 2
    before = service.workers()
    for connection in asked:
        connection.close()
    wait_until(lambda: figure(service, "rewardkit_requests_running") == 0)
    wait_until(lambda: busy(service) == 0)
    assert figure(service, "rewardkit_requests_waiting") == 0
    assert service.verify("right")[0]["score"] == 1.0
    assert not set(before) & set(service.workers())


def test_a_caller_that_leaves_again_and_again_leaves_nothing_behind(service):
    files = len(list_files(service))
    for turn in range(40):
        row = f"slow {turn}"
        send(service, {"completion": row, "reference": row}).close()
    wait_until(lambda: figure(service, "rewardkit_requests_running") == 0)
    wait_until(lambda: len(list_files(service)) <= files + 4)
    right = {"completions": ["right"], "references": ["right"]}
    wait_until(lambda: service.ask("/verify", right)[0] == 200)  # no longer busy
    assert service.verify("right")[0]["score"] == 1.0


def list_files(service: Service) -> list[str]:
    import os

    return os.listdir(f"/proc/{service.process.pid}/fd")


def test_a_deadline_of_a_millisecond_is_kept(service):
    rows = [f"slow {i}" for i in range(200)]
    told = service.verify(*rows, timeout_s=0.001)
    assert {(one["score"], one["reason"]) for one in told} == {(None, "timeout")}
    assert len(told) == 200
    assert service.verify("right")[0]["score"] == 1.0


def test_a_caller_that_does_not_take_its_answer_loses_its_connection(service):
    message = {"type": "message", "content": [{"type": "output_text", "text": "right"}]}
    body = {
        "padding": "x" * 12_000_000,
        "response": {"output": [message]},
        "verifier_metadata": {"reference": "right"},
    }
    connection = send(service, body, path="/nemo-gym/verify")
    with connection:
        wait_until(lambda: ended(service, connection))
    assert service.verify("right")[0]["score"] == 1.0


def ended(service: Service, connection: socket.socket) -> bool:
    """Returns whether the service has no end of a connection any more."""
    port = f":{connection.getsockname()[1]:04X}"
    with open("/proc/net/tcp") as table:
        ends = [line.split() for line in table]
    return not any(one[2].endswith(port) and one[3] in ("01", "08") for one in ends[1:])


def test_large_bodies_together_are_bounded():
    """Each may be large, all of them may not; small ones still find room."""
    limits = {"max_body_bytes": 1_000_000, "max_total_bytes": 1_500_000}
    with running(**limits) as service:
        body = {"completions": ["hang", "x" * 900_000], "references": ["a", "a"], "timeout_s": 3.0}
        with send(service, body):
            wait_until(lambda: figure(service, "rewardkit_requests_running") == 1)
            status, headers, told = service.ask("/verify", body)
            assert (status, told["error"]["type"]) == (429, "busy")
            assert int(headers["retry-after"]) >= 1
            assert service.verify("right")[0]["score"] == 1.0
        wait_until(lambda: figure(service, "rewardkit_requests_running") == 0)
        assert service.ask("/verify", {**body, "timeout_s": 0.5})[0] == 200


def test_a_large_body_is_turned_away_before_it_is_sent(service):
    held = [send(service, {"completion": "hang", "reference": str(i)}) for i in range(4)]
    try:
        wait_until(lambda: figure(service, "rewardkit_requests_waiting") == 2)
        connection = http.client.HTTPConnection("127.0.0.1", service.port, timeout=30)
        connection.putrequest("POST", "/verify")
        connection.putheader("Content-Type", "application/json")
        connection.putheader("Content-Length", "10000000")
        connection.endheaders()
        assert connection.getresponse().status == 429
        connection.close()
    finally:
        for one in held:
            one.close()
    wait_until(lambda: figure(service, "rewardkit_requests_running") == 0)


def test_a_flood_is_answered_and_loses_nothing(service):
    """Every request has a verdict or was turned away; none is answered twice or not at all."""
    answers: list[tuple[int, object]] = []

    def flood(number: int) -> None:
        for turn in range(5):
            row = f"slow {number}.{turn}"
            status, _, told = service.ask("/verify", {"completion": row, "reference": row})
            answers.append((status, row if status == 429 else told["answer"]))

    threads = [threading.Thread(target=flood, args=(i,)) for i in range(24)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len({row for _, row in answers}) == len(answers) == 120
    assert {status for status, _ in answers} == {200, 429}
    assert service.verify("right")[0]["score"] == 1.0


TRICKS = {
    "two lengths": b"Content-Length: 2\r\nContent-Length: 40",
    "a length and chunks": b"Content-Length: 40\r\nTransfer-Encoding: chunked",
    "chunks that are spelled oddly": b"Transfer-Encoding: xchunked",
    "a negative length": b"Content-Length: -1",
    "a length in words": b"Content-Length: ten",
    "a length in other digits": "Content-Length: ４".encode(),
    "two hosts": b"Host: evil.example\r\nContent-Length: 2",
    "a name with a blank": b"Content-Length : 2",
    "a null in a value": b"X: a\0b\r\nContent-Length: 2",
}


@pytest.mark.parametrize("name", TRICKS)
def test_a_header_that_could_mean_two_things_smuggles_no_second_request(service, name):
    hidden = b"GET /metrics HTTP/1.1\r\nHost: localhost\r\n\r\n"
    head = b"POST /verify HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
    with socket.create_connection(("127.0.0.1", service.port)) as connection:
        connection.sendall(head + TRICKS[name] + b"\r\n\r\n{}" + hidden)
        connection.settimeout(20)
        got = b""
        with contextlib.suppress(ConnectionResetError, TimeoutError):
            while data := connection.recv(65536):
                got += data
                if b"error" in data:
                    connection.shutdown(socket.SHUT_WR)
    assert got.startswith(b"HTTP/1.1 4")
    assert b"rewardkit_requests" not in got


@pytest.mark.parametrize(
    "host", ["localhost", "127.0.0.1", "localhost:8300", "[::1]", "[::1]:8300", "LOCALHOST"]
)
def test_a_host_that_is_this_machine_is_served(service, host):
    assert service.ask("/ready", Host=host)[0] == 200


@pytest.mark.parametrize(
    "host", ["", "localhost.evil.example", "evil.example:127.0.0.1", "[::1].evil.example", "[::2]"]
)
def test_a_host_that_only_looks_like_it_is_not(service, host):
    assert service.ask("/ready", Host=host)[0] == 400


def test_sigterm_under_load_ends_in_order():
    """Whoever was answered was answered in full; the others were refused and know it."""
    import signal

    whole, refused, torn = [], [], []
    with running() as service:
        service.verify("right")

        def ask(number: int) -> None:
            for turn in range(1000):
                rows = [f"slow {number}.{turn}.{i}" for i in range(5)]
                body = {"completions": rows, "references": rows}
                try:
                    status, _, told = service.ask("/verify", body)
                except (ConnectionRefusedError, ConnectionResetError):
                    refused.append(rows)
                    return
                except (http.client.HTTPException, ValueError) as error:
                    torn.append(error)
                    return
                if status == 503:
                    refused.append(rows)
                    return
                whole.append([one["answer"] for one in told["verdicts"]] == rows)

        threads = [threading.Thread(target=ask, args=(i,)) for i in range(4)]
        for thread in threads:
            thread.start()
        wait_until(lambda: len(whole) >= 8)
        began = time.monotonic()
        service.process.send_signal(signal.SIGTERM)
        assert service.process.wait(60) == 0
        for thread in threads:
            thread.join()
    assert time.monotonic() - began < 60
    assert all(whole)
    assert len(refused) == 4
    assert torn == []
