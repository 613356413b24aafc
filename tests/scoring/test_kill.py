"""Runs in processes of their own, which are killed and interrupted."""

import json
import os
import signal
import subprocess
import sys
import time

import pytest

from rewardkit.scoring import read_scored

ROWS = 400


@pytest.fixture
def source(tmp_path):
    path = tmp_path / "in.jsonl"
    rows = [
        {"id": i, "completion": f"so {['four', 'five', 'unsure', ''][i % 4]}", "reference": "four"}
        for i in range(ROWS)
    ]
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


def start(root, source, out, *options):
    command = [
        *(sys.executable, "-c", "from rewardkit.cli import main; main()", "score"),
        *(str(source), "--out", str(out), "--verifier", "tests.scoring.exact:ExactVerifier"),
        *("--option", "delay_s=0.002", *options),
    ]
    return subprocess.Popen(
        command,
        env={**os.environ, "PYTHONPATH": str(root)},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )


def finish(root, source, out, *options):
    process = start(root, source, out, *options)
    output, errors = process.communicate(timeout=120)
    assert process.returncode == 0, errors
    return output


def wait_for_rows(path, count):
    until = time.monotonic() + 60
    while time.monotonic() < until:
        if path.exists() and path.read_bytes().count(b"\n") >= count:
            return
        time.sleep(0.005)
    raise AssertionError(f"no {count} rows in {path} after a minute")


def without_times(path):
    rows = []
    for row in read_scored(path):
        row["verdict"]["seconds"] = 0
        rows.append(json.dumps(row))
    return rows


@pytest.mark.parametrize("options", [(), ("--workers", "2")], ids=["here", "workers"])
@pytest.mark.parametrize("name", ["out.jsonl", "out.jsonl.gz"])
def test_killed_runs_lose_nothing_and_double_nothing(root, tmp_path, source, name, options):
    out = tmp_path / name
    journal = out if name == "out.jsonl" else tmp_path / f"{name}.journal.jsonl"
    for rows in (1, 40, 200):
        process = start(root, source, out, *options)
        wait_for_rows(journal, rows)
        process.kill()
        process.communicate(timeout=60)
        assert process.returncode == -signal.SIGKILL
        # What a kill inside a write leaves.
        with journal.open("ab") as file:
            file.write(b'{"id": 7, "completion": "so fo')
    summary = finish(root, source, out, *options)
    assert "from an earlier run" in summary
    finish(root, source, tmp_path / f"whole-{name}")
    assert without_times(out) == without_times(tmp_path / f"whole-{name}")
    assert [json.loads(row)["id"] for row in without_times(out)] == list(range(ROWS))


@pytest.mark.parametrize("options", [(), ("--workers", "2")], ids=["here", "workers"])
def test_ctrl_c_finishes_the_batch_and_says_how_to_go_on(root, tmp_path, source, options):
    out = tmp_path / "out.jsonl"
    process = start(root, source, out, *options)
    wait_for_rows(out, 10)
    # As a terminal does: to the whole group, worker processes included.
    os.killpg(process.pid, signal.SIGINT)
    output, errors = process.communicate(timeout=60)
    assert process.returncode == 130
    assert "the same command goes on from there" in output
    assert "Traceback" not in errors
    assert out.read_bytes().endswith(b"\n")
    finish(root, source, out, *options)
    rows = list(read_scored(out))
    assert [row["id"] for row in rows] == list(range(ROWS))
    assert "engine_failure" not in {row["verdict"]["reason"] for row in rows}


def test_a_killed_run_leaves_no_worker_behind(root, tmp_path, source):
    if not os.path.isdir("/proc"):
        pytest.skip("needs /proc to list processes")
    out = tmp_path / "out.jsonl"
    mark = f"REWARDKIT_TEST_MARK={tmp_path}"
    os.environ["REWARDKIT_TEST_MARK"] = str(tmp_path)
    try:
        process = start(root, source, out, "--workers", "2")
    finally:
        del os.environ["REWARDKIT_TEST_MARK"]
    wait_for_rows(out, 10)
    assert len(processes_with(mark)) > 1
    process.kill()
    process.communicate(timeout=60)
    until = time.monotonic() + 30
    while processes_with(mark) and time.monotonic() < until:
        time.sleep(0.05)
    assert processes_with(mark) == []


def processes_with(mark):
    """Returns the processes whose environment holds `mark`."""
    found = []
    for entry in os.listdir("/proc"):
        if entry.isdigit():
            try:
                with open(f"/proc/{entry}/environ", "rb") as file:
                    if mark.encode() in file.read().split(b"\0"):
                        found.append(int(entry))
            except OSError:
                continue
    return found
