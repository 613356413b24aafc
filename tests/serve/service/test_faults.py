"""What is killed, full, or ending: no verdict is lost, and none comes twice."""

import os
import signal
import socket
import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from rewardkit.client import RewardClient
from rewardkit.errors import ConfigError
from tests._needs import needs
from tests.serve.service.process import ROOT, TOKEN, children, running, wait_until

needs("starlette")
needs("uvicorn")
needs("prometheus_client")

from rewardkit.serve.service import listen  # noqa: E402


def alive(pid):
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except (FileNotFoundError, ProcessLookupError):
        return False
    return state not in "ZX"


def test_a_full_queue_turns_the_next_request_away():
    with running(max_requests=2, running=1) as service, ThreadPoolExecutor(2) as threads:
        held = [threads.submit(service.verify, "hang", timeout_s=2.0) for _ in range(2)]
        wait_until(lambda: "requests_waiting 1.0" in service.ask("/metrics")[2])
        body = {"completion": "right", "reference": "right"}
        status, headers, told = service.ask("/verify", body)
        assert (status, told["error"]["type"]) == (429, "busy")
        assert int(headers["retry-after"]) >= 1
        assert service.ask("/health")[0] == 200
        reasons = [[one["reason"] for one in answer.result()] for answer in held]
        assert reasons == [["timeout"]] * 2
        # A client that is turned away comes again until there is room.
        held = [threads.submit(service.verify, "hang", timeout_s=1.0) for _ in range(2)]
        with RewardClient(service.url) as client:
            assert client.verify("right", "right").passed


def test_killed_workers_lose_no_verdict():
    with running() as service:
        service.verify("right")
        done = threading.Event()
        killed = []

        def kill():
            while len(killed) < 5 and not done.wait(0.15):
                for pid in service.workers()[:1]:
                    os.kill(pid, signal.SIGKILL)
                    killed.append(pid)

        killer = threading.Thread(target=kill)
        killer.start()
        with RewardClient(service.url, rows=25) as client:
            names = [f"row {i}" for i in range(200)]
            rows = [row for name in names for row in (name, f"slow {name}")]
            verdicts = client.verify_batch(rows, rows)
        done.set()
        killer.join()
        assert len(killed) >= 2
        assert len(verdicts) == 400
        for row, verdict in zip(rows, verdicts):
            # Retries are bounded: a row that met two killed workers abstains and says so.
            assert verdict.answer == row or verdict.reason == "engine_failure"
        assert sum(verdict.passed for verdict in verdicts) >= 390


def test_a_killed_service_leaves_nothing_behind_and_its_client_waits_for_the_next_one():
    rows = [f"row {i}" for i in range(60)]
    with running() as first:
        first.verify("right")
        below = [*children(first.process.pid), *first.workers()]
        assert len(below) >= 2
        client = RewardClient(first.url, rows=3, retries=40, backoff_s=0.1)
        with client, ThreadPoolExecutor(1) as threads:
            batch = [*rows, *(f"slow {i}" for i in range(200))]
            answer = threads.submit(client.verify_batch, batch, batch)
            time.sleep(0.3)
            os.kill(first.process.pid, signal.SIGKILL)
            first.process.wait()
            with running(port=first.port):
                verdicts = answer.result(60)
        assert [verdict.answer for verdict in verdicts] == batch
        assert all(verdict.passed for verdict in verdicts)
        wait_until(lambda: not any(alive(pid) for pid in below))


def test_a_client_whose_service_is_gone_abstains_and_says_so():
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{free.getsockname()[1]}"
        client = RewardClient(url, retries=1, backoff_s=0.01)
        verdicts = client.verify_batch(["a", "b"], ["a", "b"])
        assert [(v.score, v.reason) for v in verdicts] == [(None, "engine_failure")] * 2
        assert "refused" in verdicts[0].detail
        assert client.reward(["a"], reference=["a"]).scores == [None]
        with pytest.raises(ConfigError, match="rewardkit serve"):
            client.ready()


def test_sigterm_lets_running_requests_end():
    with running() as service, ThreadPoolExecutor(1) as threads:
        held = threads.submit(service.verify, *(f"slow {i}" for i in range(100)))
        wait_until(lambda: "requests_running 1.0" in service.ask("/metrics")[2])
        below = [*children(service.process.pid), *service.workers()]
        service.process.send_signal(signal.SIGTERM)
        assert len(held.result()) == 100
        assert service.process.wait(20) == 0
        assert not any(alive(pid) for pid in below)
        with pytest.raises(ConnectionRefusedError):
            service.ask("/health")


def test_a_service_that_others_can_reach_needs_a_token():
    with pytest.raises(ConfigError, match="token"):
        listen("0.0.0.0", 0, token=None)
    with pytest.raises(ConfigError, match="token"):
        listen("", 0, token=None)
    listen("0.0.0.0", 0, token=TOKEN).close()
    listen("localhost", 0, token=None).close()


def test_the_command_serves_a_file(tmp_path):
    path = tmp_path / "reward.yaml"
    path.write_text("components:\n  math: {verifier: math, weight: 2}\nclip: [0, 1.5]\n")
    (tmp_path / "token").write_text(TOKEN)
    command = [sys.executable, "-m", "rewardkit", "serve", str(path), "--port", "0"]
    process = subprocess.Popen(
        [*command, "--token-file", str(tmp_path / "token"), "--workers", "1"],
        cwd=ROOT,
        stdout=subprocess.PIPE,
        text=True,
    )
    try:
        line = process.stdout.readline()
        assert line.startswith("serving math at http://127.0.0.1:")
        with RewardClient(line.split()[-1], token=TOKEN) as client:
            assert client.ready() == ["math"]
            assert client.verify("\\boxed{\\frac12}", "0.5", verifier="math").passed
            assert client.reward(["\\boxed{4}"], reference=["4"]).scores == [1.5]
        with RewardClient(line.split()[-1]) as client, pytest.raises(ConfigError, match="401"):
            client.verify("a", "a")
        process.send_signal(signal.SIGTERM)
        assert process.wait(20) == 0
    finally:
        process.kill()
        process.wait()
        process.stdout.close()
