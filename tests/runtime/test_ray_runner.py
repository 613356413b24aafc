"""Verdicts from a Ray cluster of two simulated nodes, one of which is killed."""

import json
import subprocess
import sys
import threading
import time
from collections.abc import Iterator

import pytest

import rewardkit
from rewardkit import Reason, Reward
from rewardkit.datasets.rows import Row
from rewardkit.errors import ConfigError, InvalidReferenceError
from rewardkit.runtime import InlineRunner, PoolRunner
from rewardkit.scoring import score_file
from rewardkit.scoring.grading import BatchSizer, grade_batches
from rewardkit.scoring.scored import Candidate
from tests._needs import needs
from tests.runtime.processes import environment
from tests.runtime.verifiers import Echo

ray = needs("ray")

ROWS = [f"word {i}" for i in range(400)]
"""What cheap rows say; the reference is the third of them."""


@pytest.fixture(scope="module")
def cluster() -> Iterator["ray.cluster_utils.Cluster"]:
    from ray.cluster_utils import Cluster

    made = Cluster(initialize_head=True, head_node_args={"num_cpus": 1, "include_dashboard": False})
    made.add_node(num_cpus=1)
    made.wait_for_nodes()
    ray.init(address=made.address, log_to_driver=False, logging_level="ERROR")
    yield made
    ray.shutdown()
    made.shutdown()


@pytest.fixture(scope="module")
def runner(cluster) -> Iterator["rewardkit.RayRunner"]:
    runner = rewardkit.RayRunner()
    yield runner
    runner.close()


def told(verdicts):
    return [(v.score, v.reason, v.answer, v.detail.partition(":")[0]) for v in verdicts]


def test_every_runner_gives_the_same_verdicts_in_the_same_order(runner):
    completions = [*ROWS, "raise", "nothing", *ROWS[:50]]
    references = ["word 3"] * len(completions)
    hints = [str(i) for i in range(len(completions))]
    with InlineRunner() as inline, PoolRunner(workers=2) as pool:
        expected = told(inline.verify_batch(Echo(), completions, references, hint=hints))
        assert told(pool.verify_batch(Echo(), completions, references, hint=hints)) == expected
    assert told(runner.verify_batch(Echo(), completions, references, hint=hints)) == expected
    assert expected[3][:3] == (1.0, Reason.MATCH, "word 3")


def test_both_nodes_work_and_cheap_rows_share_trips(runner):
    before = runner.rows_by_node
    rows = [f"slow {i}" for i in range(100)] + [f"word {i}" for i in range(2000)]
    assert len(runner.verify_batch(Echo(), rows, rows)) == len(rows)
    after = runner.rows_by_node
    assert len(after) == 2
    assert sum(after.values()) - sum(before.values()) == len(rows)


def test_a_row_that_ends_its_worker_loses_only_itself(runner):
    verdicts = runner.verify_batch(Echo(), ["a", "exit", "eat", "b"], ["a", "a", "a", "b"])
    assert [v.score for v in verdicts] == [1.0, None, None, 1.0]
    assert [v.reason for v in verdicts[1:3]] == [Reason.ENGINE_FAILURE, Reason.MEMORY]


def test_a_deadline_ends_the_work(runner):
    until = time.monotonic() + 1.0
    verdicts = runner.verify_batch(Echo(), ["hang"] * 3, ["a"] * 3, until=until)
    assert {(v.score, v.reason) for v in verdicts} == {(None, Reason.TIMEOUT)}
    assert runner.verify_batch(Echo(), ["a"], ["a"])[0].passed


def test_a_reward_inside_the_block_is_scored_there(cluster):
    with rewardkit.RayRunner() as runner:
        result = Reward({"echo": Echo()}).score(ROWS[:20], reference=["word 3"] * 20)
        assert sum(runner.rows_by_node.values()) == 20
    assert result.scores == [float(row == "word 3") for row in ROWS[:20]]


def test_a_bad_reference_is_the_callers_mistake(runner):
    with pytest.raises(InvalidReferenceError, match="no reference for 'b'"):
        runner.verify_batch(Echo(), ["a", "b"], ["a", None])


def test_a_verifier_of_the_running_script_is_refused(runner):
    class Local(Echo):
        pass

    Local.__module__ = "__main__"
    with pytest.raises(ConfigError, match="module of its own"):
        runner.verify_batch(Local(), ["a"], ["a"])


def test_a_column_of_another_length_is_named(runner):
    with pytest.raises(ConfigError, match="hint"):
        runner.verify_batch(Echo(), ["a"], ["a"], hint=[])


def test_scoring_a_file_on_the_cluster_resumes_and_writes_each_row_once(cluster, tmp_path):
    source, out = tmp_path / "rows.jsonl", tmp_path / "scored.jsonl"
    rows = [{"completion": f"row {i}", "reference": f"row {i - i % 2}"} for i in range(3000)]
    source.write_text("".join(json.dumps(row) + "\n" for row in rows))
    options = {"verifier": "tests.runtime.verifiers:Echo"}
    config = {"rewardkit": rewardkit.__version__, **options, "option name": "echo"}
    with rewardkit.RayRunner() as runner:
        first = score_file(
            Echo(), source, out, config=config, runner=runner, should_stop=lambda: True
        )
    assert first.stopped
    assert 0 < first.tally.rows < 3000
    command = [sys.executable, "-m", "rewardkit", "score", str(source), "--out", str(out)]
    command += ["--verifier", options["verifier"], "--runner", "ray", "--json"]
    command += ["--ray-address", cluster.address]
    done = subprocess.run(command, env=environment(), capture_output=True, text=True, check=True)
    assert json.loads(done.stdout)["rows"] == 3000
    assert "rows by node" in done.stderr
    scored = [json.loads(line) for line in out.read_text().splitlines()]
    assert [row["completion"] for row in scored] == [row["completion"] for row in rows]
    assert [row["score"] for row in scored] == [float(i % 2 == 0) for i in range(3000)]


def test_no_more_rows_are_read_than_are_graded(tmp_path):
    """A producer that is faster than the cluster waits."""
    read, graded, ahead = [], [], []

    def rows() -> Iterator[list[Candidate]]:
        for number in range(50):
            read.append(number)
            ahead.append(len(read) - len(graded))
            record = {"completion": f"row {number}", "reference": "x"}
            row = Row(number, None, "here", f"row {number}", "x", record, ())
            yield [Candidate(f"{number}:0", row)]

    for batch in grade_batches(Echo(), rows(), BatchSizer(), None, InlineRunner()):
        graded.append(batch)
    assert [batch.candidates[0].row.completion for batch in graded] == [
        f"row {number}" for number in range(50)
    ]
    assert max(ahead) <= 3


def test_a_killed_node_loses_no_verdict(cluster, runner):
    rows = [f"row {i}" if i % 2 else f"slow {i}" for i in range(1500)]
    node = next(iter(cluster.worker_nodes))
    killer = threading.Timer(1.0, cluster.remove_node, [node], {"allow_graceful": False})
    killer.start()
    verdicts = runner.verify_batch(Echo(), rows, rows)
    killer.join()
    assert [v.answer for v in verdicts] == rows
    assert all(v.passed for v in verdicts)
    assert runner.verify_batch(Echo(), ["a"], ["a"])[0].passed
