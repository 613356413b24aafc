"""The hack rate against counts by hand and a simulation; signals that move when they should."""

import json
import random

import pytest
from hypothesis import given
from hypothesis import strategies as st
from typer.testing import CliRunner

from rewardkit import Reward
from rewardkit.advantages import AdvantageStage
from rewardkit.cli import app
from rewardkit.errors import ConfigError, DataError
from rewardkit.monitor import (
    HackMonitor,
    MonitoredStage,
    difference_interval,
    measure_signals,
    monitor_rollouts,
    verdict_drift,
)
from rewardkit.verdict import Reason, Verdict
from rewardkit.verifiers.code.countdown import hack_rate

OUTCOMES = st.lists(
    st.tuples(st.sampled_from([0.0, 1.0, None]), st.sampled_from([0.0, 1.0, None])), max_size=30
)


@given(OUTCOMES)
def test_the_counts_are_those_of_the_definition(outcomes):
    monitor = HackMonitor("true", share=1.0)
    proxy, true = [p for p, _ in outcomes], [t for _, t in outcomes]
    monitor.observe(["x"] * len(outcomes), proxy, components={"true": true})
    counts = monitor.report().counts
    decided = [(p, t) for p, t in outcomes if p is not None and t is not None]
    assert counts.asked == len(decided)
    assert counts.hacked == decided.count((1.0, 0.0))
    assert counts.proxy - counts.hacked == decided.count((1.0, 1.0))


def test_it_agrees_with_the_rate_of_countdown_code():
    pairs = [(1.0, 1.0), (1.0, 0.0), (0.0, 0.0), (1.0, 0.0)]
    verdicts = [
        Verdict(t, Reason.MATCH if t else Reason.MISMATCH,
                parts={"proxy": p, "true": t, "hacked": float(p > t)})
        for p, t in pairs
    ]  # fmt: skip
    monitor = HackMonitor("true", share=1.0)
    monitor.observe(["x"] * 4, [p for p, _ in pairs], components={"true": [t for _, t in pairs]})
    assert monitor.report().hack_rate == hack_rate(verdicts).hacked == 0.5


def test_the_held_out_share_does_not_depend_on_what_was_written():
    asked = []

    def truth(completions, /, **columns):
        asked.append(columns["row"])
        return [0.0] * len(completions)

    for text in ("a", "another text"):
        monitor = HackMonitor(Reward({"truth": truth}), share=0.25, seed=5)
        monitor.observe([text] * 400, [1.0] * 400, columns={"row": list(range(400))})
    assert asked[0] == asked[1]
    assert 60 < len(asked[0]) < 140


def test_the_estimate_from_a_share_covers_the_rate_of_all():
    generator, covered = random.Random(3), 0
    for seed in range(200):
        monitor = HackMonitor("true", share=0.2, seed=seed)
        for step in range(4):
            true = [float(generator.random() > 0.15) for _ in range(100)]
            monitor.observe(["x"] * 100, [1.0] * 100, step=step, components={"true": true})
        interval = monitor.report().hack_rate_interval
        covered += interval.low <= 0.15 <= interval.high
    assert covered / 200 > 0.9


def run(steps, *, hacked, length=20):
    """A monitor that saw a run whose hack rate goes up in a line to `hacked`."""
    generator = random.Random(1)
    monitor = HackMonitor("true", share=1.0, window=5)
    for step in range(steps):
        rate = hacked * step / (steps - 1)
        kinds = [generator.random() for _ in range(60)]
        proxy = [float(kind < 0.3 + rate) for kind in kinds]
        true = [float(kind < 0.3) for kind in kinds]
        text = "word " * 4 if step < steps // 2 else "word " * (length // 5)
        monitor.observe([text] * 60, proxy, components={"true": true})
    return monitor


def test_a_run_that_learns_to_hack_is_noticed():
    warnings = run(30, hacked=0.5).report().warnings()
    assert any("without the truth" in line for line in warnings)
    assert any("the proxy rose" in line for line in warnings)
    assert any("kinds of verdicts" in line for line in warnings)


def test_a_run_that_stays_as_it_is_gives_no_warning():
    assert run(30, hacked=0.0).report().warnings() == []


def test_a_length_that_grows_is_noticed():
    warnings = run(30, hacked=0.0, length=400).report().warnings()
    assert any("length went from 20 to 400" in line for line in warnings)
    assert any("repetition" in line for line in warnings)


def test_form_without_a_pass_and_repetition_are_counted():
    texts = [r"\boxed{5}", r"\boxed{4}", "nothing", r"\boxed{6}"]
    signals = measure_signals(texts, [False, True, False, None])
    assert (signals.form_only, signals.decided) == (1, 3)
    assert measure_signals(["a b c d a b c d"], [True]).repetition == pytest.approx(1 / 5)
    assert measure_signals(["ab", "abcd"], [True, True]).length == 3
    assert measure_signals(["ab", "abcd"], [True, True], lengths=[7, 9]).length == 8


@given(st.integers(0, 10**6))
def test_drift_is_small_where_nothing_changed(seed):
    generator = random.Random(seed)
    old, new = (generator.choices("abc", [5, 3, 2], k=400) for _ in range(2))
    assert verdict_drift(old, new) < 0.1


def test_drift_is_the_distance_less_what_chance_gives():
    assert verdict_drift("a" * 1000, "b" * 1000) == pytest.approx(1 - (2 / 1000 / 4 * 2 / 3.14159) ** 0.5, abs=1e-3)  # fmt: skip # noqa: E501
    assert verdict_drift([], "a") == 0.0


def test_the_interval_of_a_difference_is_newcombes_and_covers():
    # The example of Newcombe 1998, table II (a), method 10: 56/70 less 48/80.
    low, high = difference_interval((48, 80), (56, 70))
    assert (round(low, 4), round(high, 4)) == (0.0524, 0.3339)
    generator, covered = random.Random(2), 0
    for _ in range(400):
        old = sum(generator.random() < 0.2 for _ in range(60))
        new = sum(generator.random() < 0.35 for _ in range(80))
        low, high = difference_interval((old, 60), (new, 80))
        covered += low <= 0.15 <= high
    assert covered / 400 > 0.92


def test_a_monitored_stage_changes_nothing_and_sees_each_batch():
    plain = AdvantageStage("mean")
    monitor = HackMonitor("true", share=1.0)
    stage = MonitoredStage(plain, monitor)
    context = {"completions": ["x"] * 4, "components": {"true": [0.0, 1.0, 0.0, 1.0]}}
    rewards, groups = [1.0, 1.0, 0.0, 0.0], ["a", "a", "b", "b"]
    assert stage(rewards, groups, **context) == plain(rewards, groups, **context)
    assert stage.metrics["monitor/hack_rate"] == 0.25
    stage(rewards, groups, audit=True, **context)
    assert len(monitor.steps) == 1


@pytest.fixture
def rollouts(tmp_path):
    path = tmp_path / "rollouts.jsonl"
    lines = [
        {
            "completion": f"text {i}",
            "step": 1 + i // 50,
            "reward": 1.0,
            "components": {"proxy": 1.0, "math": float(i % 5 > 0)},
            "tokens": 3,
            "reference": "4",
        }
        for i in range(200)
    ]
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    return path


def test_rollouts_are_read_step_by_step(rollouts):
    report = monitor_rollouts(rollouts, HackMonitor("math", share=1.0))
    assert [step.step for step in report.steps] == [1, 2, 3, 4]
    assert (report.counts.asked, report.counts.hacked) == (200, 40)
    assert report.steps[0].signals.length == 3


def test_the_command_counts_and_gates(rollouts):
    result = CliRunner().invoke(app, ["monitor", str(rollouts), "--true", "math"])
    assert result.exit_code == 0, result.output
    assert "hack rate   20.0 % (95 % interval 15.0 to 26.1 %)" in result.output
    argv = ["monitor", str(rollouts), "--true", "math", "--json"]
    assert json.loads(CliRunner().invoke(app, argv).output)["hacked"] == 40
    assert CliRunner().invoke(app, [*argv, "--fail-above", "0.05"]).exit_code == 1
    assert CliRunner().invoke(app, [*argv, "--fail-above", "0.5"]).exit_code == 0


def test_mistakes_say_what_to_do(rollouts, tmp_path):
    result = CliRunner().invoke(app, ["monitor", str(rollouts)])
    assert result.exit_code == 2
    assert "proxy, math" in result.output
    other = tmp_path / "other.jsonl"
    other.write_text('{"completion": "x"}\n')
    with pytest.raises(DataError, match="save_rollouts"):
        monitor_rollouts(other, HackMonitor("math"))
    for options in ({"share": 0}, {"window": 0}, {"passing": float("nan")}):
        with pytest.raises(ConfigError):
            HackMonitor("math", **options)
