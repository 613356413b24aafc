"""The monitor in the included trainer, and a model in the contamination probe."""

import json

import pytest

from tests._needs import needs

torch = needs("torch")
needs("transformers")

from rewardkit import Reward
from rewardkit.advantages import AdvantageStage
from rewardkit.errors import ConfigError
from rewardkit.monitor import HackMonitor, MonitoredStage, monitor_rollouts, probe_contamination
from rewardkit_grpo.completing import ModelSampler
from tests.grpo.runs import make_trainer, same, variety, weights
from tests.grpo.tiny import tiny_llama

torch.set_num_threads(1)
KNOWN = "in the park six brown dogs run after two small cats"
FRESH = "at the lake ten green frogs sit upon one large leaf"


def never(completions, /, **columns):
    return [0.0] * len(completions)


def test_a_monitored_run_is_the_same_run_with_more_metrics(tmp_path):
    reward = Reward({"variety": variety, "true": never}, weights={"true": 0.0})
    monitor = HackMonitor("true", passing=0.5, share=1.0)
    stage = MonitoredStage(AdvantageStage("leave_one_out"), monitor)
    watched = make_trainer(tmp_path / "a", reward=reward, stage=stage, save_rollouts=True)
    plain = make_trainer(tmp_path / "b", reward=reward, stage=AdvantageStage("leave_one_out"))
    watched.run()
    plain.run()
    assert same(weights(watched), weights(plain))
    lines = (tmp_path / "a" / "metrics.jsonl").read_text().splitlines()
    rates = [json.loads(line)["monitor/hack_rate"] for line in lines]
    assert len(rates) == 4
    assert max(rates) > 0
    again = monitor_rollouts(
        tmp_path / "a" / "rollouts.jsonl", HackMonitor("true", passing=0.5, share=1.0)
    )
    assert [step.counts for step in again.steps] == [step.counts for step in monitor.steps]
    assert [s.signals for s in again.steps] == [s.signals for s in monitor.steps]


class Letters:
    """One token a letter or space; 0 pads, 1 begins, 2 ends."""

    letters = " abcdefghijklmnopqrstuvwxyz"

    def encode(self, text):
        return [3 + self.letters.index(letter) for letter in text]

    def decode(self, ids, *, skip_special_tokens=True):
        return "".join(self.letters[token - 3] for token in ids if token >= 3)


def test_a_model_that_learnt_a_prompt_by_heart_is_told_from_one_that_did_not():
    model = tiny_llama(vocab=30, dtype=torch.float32, hidden=64)
    tokens = torch.tensor([[*Letters().encode(KNOWN), 2]])
    optimizer = torch.optim.Adam(model.parameters(), lr=5e-3)
    before = probe_contamination(
        [KNOWN], ModelSampler(model, Letters(), max_new_tokens=40), share=0.5
    )
    for _ in range(80):
        optimizer.zero_grad()
        model(input_ids=tokens, labels=tokens).loss.backward()
        optimizer.step()
    found = probe_contamination(
        [KNOWN, FRESH], ModelSampler(model, Letters(), max_new_tokens=40), share=0.5
    )
    assert [row.verbatim for row in before.rows] == [False]
    assert [row.verbatim for row in found.rows] == [True, False]


def test_a_sampler_writes_something():
    with pytest.raises(ConfigError):
        ModelSampler(None, Letters(), max_new_tokens=0)
