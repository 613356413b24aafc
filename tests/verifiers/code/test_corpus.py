"""Every program of the corpus: attacks fail, honest programs pass, nothing escapes."""

import json
import socket
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from rewardkit.verdict import Verdict
from rewardkit.verifiers.code import CodeVerifier

CORPUS = Path(__file__).parents[3] / "fixtures" / "code" / "corpus.jsonl"
CASES = [json.loads(line) for line in CORPUS.read_text().splitlines()]
SECRET = "rk-secret-7d1c"
PORT = "47113"
"""Where the corpus calls; each run listens at a port of its own, which takes its place."""
PLACES = ("/tmp", "/root", "/var/tmp", "/dev/shm")
MEMORY = 512 << 20


@pytest.fixture(scope="module")
def verifier() -> Iterator[CodeVerifier]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("RK_CANARY_SECRET", SECRET)
        with CodeVerifier(
            policy="fraction", timeout_s=3, memory_bytes=MEMORY, languages=()
        ) as made:
            yield made


@pytest.fixture(scope="module")
def listener() -> Iterator[tuple[str, list[object]]]:
    """A port of the machine, and who called there."""
    seen: list[object] = []
    with socket.socket() as server:
        server.bind(("127.0.0.1", 0))
        server.listen(8)
        server.settimeout(0.1)
        done = threading.Event()

        def accept() -> None:
            while not done.is_set():
                try:
                    seen.append(server.accept()[1])
                except TimeoutError:
                    continue

        thread = threading.Thread(target=accept)
        thread.start()
        yield str(server.getsockname()[1]), seen
        done.set()
        thread.join()


@pytest.mark.parametrize("case", CASES, ids=[f"{c['id']}-{c['kind']}" for c in CASES])
def test_case(
    verifier: CodeVerifier, listener: tuple[str, list[object]], case: dict[str, Any]
) -> None:
    port, callers = listener
    program = case["program"].replace(PORT, port)
    began = time.monotonic()
    before = resident()
    verdict = verifier.verify(f"```python\n{program}\n```", case["tests"])
    seconds = time.monotonic() - began
    if case["expected"] != "either":
        assert verdict.passed == (case["expected"] == "pass"), (case["why"], verdict)
    assert not verdict.abstained, verdict
    tests = len(case["tests"].get("cases", [1]))
    text = verdict.to_json().replace(json.dumps(verdict.answer)[1:-1], "")
    conditions = {
        "within_limit": in_time(seconds, case["timeout_s"] * tests + 3),
        "no_survivors": no_survivors(verifier),
        "no_canary": not canaries(),
        "no_network": not callers,
        "no_secret": SECRET not in text,
        "judge_alive": verifier.sandbox.tier() == verdict.evidence["isolation"],
        "mem_capped": peak(verdict) <= MEMORY and resident() - before < 100 << 20,
        "bounded_detail": len(text) < 20_000,
        "partial": 0 < (verdict.score or 0) < 1,
    }
    for name in case["checks"]:
        assert conditions[name], (name, verdict)


def in_time(seconds: float, limit: float) -> bool:
    """Whether a run kept its limit, which the verifier stretches when the processors are busy."""
    if seconds <= limit:
        return True
    began, spent = time.monotonic(), time.thread_time()
    while time.thread_time() - spent < 0.5:
        continue
    return seconds <= limit * (time.monotonic() - began) / 0.5


def resident() -> int:
    return int(Path("/proc/self/statm").read_text().split()[1]) * 4096


def peak(verdict: Verdict) -> int:
    value = verdict.evidence["max_rss_bytes"]
    assert isinstance(value, int)
    return value


def canaries() -> list[str]:
    found = []
    for place in map(Path, PLACES):
        try:
            found += [str(path) for path in place.iterdir() if "rk_canary" in path.name]
        except PermissionError:
            continue
    return found


def no_survivors(verifier: CodeVerifier) -> bool:
    sandbox = verifier.sandbox
    deadline = time.monotonic() + 1
    while True:
        waiting = [server.process.pid for server in sandbox._pool.servers]
        family = 0
        while waiting:
            pid = waiting.pop()
            try:
                text = Path(f"/proc/{pid}/task/{pid}/children").read_text()
            except OSError:
                continue
            family += 1
            waiting += [int(child) for child in text.split()]
        # The server's two processes, and the sandboxes that wait for work: two processes each.
        if family <= len(sandbox._pool.servers) * (2 + 2 * sandbox.spare):
            return True
        if time.monotonic() > deadline:
            return False
        time.sleep(0.02)
