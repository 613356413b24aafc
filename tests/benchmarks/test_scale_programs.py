"""The programs that print the figures of the service and of sizing run, on a handful."""

import random

import pytest

from benchmarks import serve_load, sizing
from tests._needs import needs


def test_the_tables_of_the_service_have_every_way():
    needs("uvicorn")
    needs("prometheus_client")
    with serve_load.service() as running:
        ways = serve_load.throughput(running, 300, passes=1).rows
        assert ways[0][2] == "100"
        assert len(ways) == 3
        assert len(serve_load.latency(running, 40).rows) == 2
        assert [row[0] for row in serve_load.memory(running, 20).rows] == ["0", "2", "10", "20"]


def test_the_rates_of_all_verifiers_are_found_in_their_pages():
    assert all(0.5 < rate.per_core < 1e5 for rate in sizing.rates())


def test_enough_cores_grade_at_once_and_too_few_let_completions_wait():
    ends = [0.1 * i for i in range(2000)]  # 10 a second
    enough = sizing.simulate(ends, 1.0, sizing.cores_for(10.0, 1.0), random.Random(0))
    assert enough.busy == pytest.approx(10 / 15, rel=0.1)
    assert enough.p99_wait_s < 1.0
    few = sizing.simulate(ends, 1.0, 5, random.Random(0))
    # Ten come a second and five go: at the end half of them wait, which takes as long again.
    assert few.busy == pytest.approx(1.0, abs=0.01)
    assert few.tail_s == pytest.approx(ends[-1], rel=0.15)


def test_completions_of_a_step_have_the_mean_length_that_is_assumed():
    training = sizing.Training(gpus=2, sequences_per_gpu=4, prompts=500, group_size=8)
    ends = sizing.finish_times(training, random.Random(3))
    assert len(ends) == 4000
    written = training.tokens_per_gpu_s * training.gpus * ends[-1]
    assert written == pytest.approx(training.completions * training.tokens, rel=0.1)
