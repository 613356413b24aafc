"""Many files scored on a Ray cluster of two simulated nodes, with the driver and a node killed."""

import json
import signal
import subprocess
import sys
import threading
import time
from collections import Counter
from collections.abc import Iterator

import pytest

import rewardkit
from rewardkit.errors import ConfigError, DataError
from rewardkit.scoring import read_scored, score_file
from tests._needs import needs
from tests.runtime.processes import environment
from tests.runtime.verifiers import Echo

ray = needs("ray")
needs("pandas"), needs("pyarrow")
pytestmark = [
    # Ray's own sockets, in the process that runs a cluster.
    pytest.mark.filterwarnings("ignore:unclosed <socket:ResourceWarning"),
    pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"),
]

CONFIG = {"verifier": "tests.runtime.verifiers:Echo"}


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


def make_shards(folder, *, shards: int, rows: int, word: str = "row") -> list[list[dict]]:
    """Writes shards in which every other row is right, and returns their rows."""
    folder.mkdir()
    made = []
    for number in range(shards):
        rows_ = [
            {
                "completion": f"{word} {number}.{i}",
                "reference": f"{word} {number}.{i - i % 2}",
                "note": None if i % 3 else "ſ🙂",
            }
            for i in range(rows)
        ]
        if number % 2:
            from rewardkit.datasets.writers import write_rows

            write_rows(folder / f"part-{number}.parquet", rows_)
        else:
            text = "".join(json.dumps(row) + "\n" for row in rows_)
            (folder / f"part-{number}.jsonl").write_text(text)
        made.append(rows_)
    return made


def score(source, out, **options):
    from rewardkit.scoring.sharded import score_shards

    runner = rewardkit.RayRunner(**options.pop("ray", {}))
    return score_shards(Echo(), source, out, config=CONFIG, runner=runner, **options)


def check(out, shards: list[list[dict]]) -> None:
    """Checks that every row of every shard has its row, in order, and nothing else is there."""
    names = sorted(path.name for path in out.iterdir() if path.name[0] != "_")
    assert names == sorted(
        f"part-{i}.{'parquet' if i % 2 else 'jsonl'}" for i in range(len(shards))
    )
    for number, rows in enumerate(shards):
        scored = list(read_scored(out / names[number]))
        assert [row["completion"] for row in scored] == [row["completion"] for row in rows]
        assert [row["note"] for row in scored] == [row["note"] for row in rows]
        assert [row["score"] for row in scored] == [float(i % 2 == 0) for i in range(len(rows))]
    assert not list(out.glob("_run-*"))


def wait_for_pieces(out, count: int) -> None:
    until = time.monotonic() + 120
    while len(list(out.glob("_run-*/*[0-9].jsonl"))) < count:
        assert time.monotonic() < until, "no pieces after two minutes"
        time.sleep(0.02)


def test_shards_are_scored_on_both_nodes_as_each_would_be_alone(cluster, tmp_path):
    shards = make_shards(tmp_path / "in", shards=3, rows=400, word="slow")
    told = []
    result = score(tmp_path / "in", tmp_path / "out", on_progress=told.append)
    assert (result.tally.rows, result.tally.passed, result.resumed_rows) == (1200, 600, 0)
    assert len(result.rows_by_node) == 2
    assert sum(result.rows_by_node.values()) == 1200
    check(tmp_path / "out", shards)
    fractions = [progress.fraction for progress in told]
    assert fractions == sorted(fractions)
    assert any(len(progress.rows_by_node) == 2 for progress in told)
    score_file(Echo(), tmp_path / "in/part-1.parquet", tmp_path / "alone.parquet", config=CONFIG)
    import pyarrow.parquet as pq

    both = [pq.read_schema(tmp_path / name) for name in ("alone.parquet", "out/part-1.parquet")]
    assert both[0].equals(both[1])
    # Once more: nothing is graded, everything is checked.
    again = score(tmp_path / "in", tmp_path / "out")
    assert (again.tally.rows, again.resumed_rows, again.rows_by_node) == (1200, 1200, {})
    # All of it can be read as one.
    assert len(list(read_scored(tmp_path / "out"))) == 1200


def test_a_reward_scores_shards_as_it_scores_each_alone(cluster, tmp_path):
    from rewardkit.reward_file import load_reward
    from rewardkit.scoring import RewardVerifier
    from rewardkit.scoring.sharded import score_shards

    make_shards(tmp_path / "in", shards=2, rows=20)
    file = tmp_path / "reward.yaml"
    file.write_text("components: {one: {verifier: tests.runtime.verifiers:Echo, weight: 2}}\n")
    grader = RewardVerifier(load_reward(str(file)), source=str(file))
    config = {"reward": "reward.yaml"}
    runner = rewardkit.RayRunner()
    made = score_shards(grader, tmp_path / "in", tmp_path / "out", config=config, runner=runner)
    assert made.tally.totals.to_dict() == {"mean": 1.0, "min": 0.0, "max": 2.0, "missing": 0}
    assert made.tally.components["one"].count == 40
    for name in ("part-0.jsonl", "part-1.parquet"):
        alone = tmp_path / f"alone-{name}"
        score_file(grader, tmp_path / "in" / name, alone, config=config)
        rows = [list(read_scored(path)) for path in (alone, tmp_path / "out" / name)]
        facts = [[(row["score"], row["components"]) for row in some] for some in rows]
        assert facts[0] == facts[1]
        assert facts[0][:2] == [(2.0, {"one": 1.0}), (0.0, {"one": 0.0})]


def test_a_killed_driver_loses_nothing_and_doubles_nothing(cluster, tmp_path):
    shards = make_shards(tmp_path / "in", shards=2, rows=500, word="slow")
    command = [sys.executable, "-m", "rewardkit", "score", str(tmp_path / "in" / "part-*")]
    command += ["--out", str(tmp_path / "out"), "--verifier", CONFIG["verifier"], "--json"]
    command += ["--runner", "ray", "--ray-address", cluster.address]
    killed = subprocess.Popen(command, env=environment(), stdout=subprocess.PIPE)
    wait_for_pieces(tmp_path / "out", 2)
    killed.kill()
    killed.communicate()
    assert killed.returncode == -signal.SIGKILL
    done = subprocess.run(command, env=environment(), capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    told = json.loads(done.stdout)
    assert told["rows"] == 1000
    assert 0 < told["resumed_rows"] < 1000
    assert "rows by node" in done.stderr
    check(tmp_path / "out", shards)


def test_a_run_that_is_stopped_goes_on_and_only_with_the_same_options(cluster, tmp_path):
    shards = make_shards(tmp_path / "in", shards=2, rows=400, word="slow")
    first = score(tmp_path / "in", tmp_path / "out", should_stop=lambda: True)
    assert first.stopped
    with pytest.raises(ConfigError, match="prefix"):
        score(tmp_path / "in", tmp_path / "out", prefix="rk_")
    second = score(tmp_path / "in", tmp_path / "out")
    assert second.tally.rows == 800
    assert second.resumed_rows >= first.tally.rows
    check(tmp_path / "out", shards)


def test_a_bad_row_stops_with_its_place_or_is_left_out(cluster, tmp_path):
    (tmp_path / "in").mkdir()
    lines = [json.dumps({"completion": "a", "reference": "a"})] * 5
    lines[2] = "{"
    lines[4] = json.dumps({"completion": "b", "reference": None})
    (tmp_path / "in" / "x.jsonl").write_text("\n".join(lines))
    with pytest.raises(DataError, match=r"x\.jsonl:3"):
        score(tmp_path / "in", tmp_path / "out")
    with pytest.raises(ConfigError, match="bad rows"):
        score(tmp_path / "in", tmp_path / "out", on_bad_row="skip")
    result = score(tmp_path / "in", tmp_path / "out", on_bad_row="skip", overwrite=True)
    assert (result.tally.rows, result.skipped.count) == (3, 2)
    assert "no reference" in " ".join(result.skipped.examples)
    assert len(list(read_scored(tmp_path / "out" / "x.jsonl"))) == 3


def test_a_piece_whose_actor_dies_each_time_abstains(tmp_path):
    from rewardkit.datasets.rows import Columns
    from rewardkit.runtime._tasks import pack
    from rewardkit.scoring import _piece_grader
    from rewardkit.scoring._pieces import cut_pieces
    from rewardkit.scoring._shards import ShardReading, find_shards
    from rewardkit.scoring.scored import ScoredColumns

    make_shards(tmp_path / "in", shards=1, rows=4)
    (tmp_path / "pieces").mkdir()
    reading = ShardReading(Columns(), ScoredColumns(), False, tmp_path / "pieces")
    [shard] = find_shards(tmp_path / "in", tmp_path)
    settings = rewardkit.RayRunner(retries=1).settings
    job = _piece_grader.ShardJob(reading, pack(Echo(), what="it"), [], settings)
    grader = _piece_grader.PieceGrader(job)
    first, second, _ = cut_pieces(reading, shard, [], 2)
    for piece, deaths in ((first, 1), (second, 2)):
        for _ in range(deaths):
            _piece_grader._count_try(reading.file(shard, piece.first, piece.stop))
        grader._grade(piece)
    rows = [
        json.loads(line)
        for piece in (first, second)
        for line in reading.file(shard, piece.first, piece.stop).read_text().splitlines()
    ]
    reasons = Counter(row["verdict"]["reason"] for row in rows)
    assert reasons == {"match": 1, "mismatch": 1, "engine_failure": 2}
    assert "lost 2 times" in rows[2]["verdict"]["detail"]
    assert not list((tmp_path / "pieces").glob("*.tries"))


def test_what_is_in_the_way_is_named(tmp_path):
    make_shards(tmp_path / "in", shards=1, rows=1)
    with pytest.raises(ConfigError, match="input itself"):
        score(tmp_path / "in", tmp_path / "in")
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "part-0.jsonl").write_text("")
    with pytest.raises(DataError, match="no scoring run left it"):
        score(tmp_path / "in", tmp_path / "out")
    (tmp_path / "out" / "mine.txt").write_text("")
    with pytest.raises(DataError, match=r"mine\.txt"):
        score(tmp_path / "in", tmp_path / "out", overwrite=True)
    with pytest.raises(DataError, match="is a file"):
        score(tmp_path / "in", tmp_path / "out" / "mine.txt")


def test_a_killed_node_loses_no_row(cluster, tmp_path):
    shards = make_shards(tmp_path / "in", shards=3, rows=400, word="slow")
    node = next(iter(cluster.worker_nodes))
    out = tmp_path / "out"

    def kill() -> None:
        wait_for_pieces(out, 2)
        cluster.remove_node(node, allow_graceful=False)

    out.mkdir()
    killer = threading.Thread(target=kill)
    killer.start()
    result = score(tmp_path / "in", out)
    killer.join()
    assert (result.tally.rows, result.tally.passed, result.tally.abstained) == (1200, 600, 0)
    check(out, shards)
