"""Judging beside generation: the same run, whatever the thread does."""

import threading
import time
from typing import ClassVar

import pytest

from tests._needs import needs

torch = needs("torch")
needs("transformers")

from rewardkit import Reason, Reward, Verdict, Verifier
from rewardkit.errors import InvalidReferenceError
from rewardkit.shaping import GroupLength, RepetitionPenalty
from rewardkit_grpo.experience import explore
from rewardkit_grpo.scoring import Scored, looks_at_rows
from tests.grpo.runs import make_trainer, same, variety, weights

PARTS = {"generation_rows": 4, "prompts_per_step": 4, "group_size": 4}  # four parts a step


class Variety(Verifier):
    """The share of different characters; slow where that is asked for."""

    name = "variety"
    seconds = 0.0
    dies_on = ""
    threads: ClassVar[set[str]] = set()

    def check_reference(self, reference):
        return []

    def verify(self, completion, reference, /, **context):
        self.threads.add(threading.current_thread().name)
        time.sleep(self.seconds)
        if self.dies_on and context["prompt"] == self.dies_on:
            raise InvalidReferenceError("out of luck")
        value = len(set(str(completion))) / 4
        return Verdict(value, Reason.PARTIAL)


def trained(folder, verifier=None, **options):
    trainer = make_trainer(
        folder, reward=Reward({"v": verifier or Variety()}), **{"steps": 3, **PARTS, **options}
    )
    trainer.run()
    return trainer


@pytest.mark.parametrize("loss", ["grpo", "dapo"])
def test_weights_and_rollouts_are_the_same_to_the_last_bit(tmp_path, loss):
    Variety.threads = set()
    beside = trained(tmp_path / "1", loss=loss)
    assert Variety.threads == {"rewardkit-judge_0"}
    Variety.threads = set()
    after = trained(tmp_path / "2", loss=loss, overlap_reward=False)
    assert Variety.threads == {"MainThread"}
    assert same(weights(beside), weights(after))
    one, two = ((tmp_path / name / "rollouts.jsonl").read_bytes() for name in "12")
    assert one == two
    assert all(step["reason/v/partial"] == 1.0 for step in beside.history)


def test_a_run_in_two_parts_is_the_run_in_one(tmp_path):
    whole = trained(tmp_path / "whole", steps=4)
    trained(tmp_path / "parts", steps=2)
    resumed = trained(tmp_path / "parts", steps=4)
    assert same(weights(whole), weights(resumed))
    one, two = ((tmp_path / name / "rollouts.jsonl").read_bytes() for name in ("whole", "parts"))
    assert one == two


def test_the_wait_is_a_part_of_what_the_verdicts_take(tmp_path):
    class Slow(Variety):
        seconds = 0.01

    step = trained(tmp_path, Slow(), steps=1).history[0]
    assert step["time/reward_s"] >= 16 * 0.01
    assert 0 < step["time/reward_wait_s"] < step["time/step_s"]
    assert step["time/reward_share"] == pytest.approx(step["time/reward_s"] / step["time/step_s"])
    assert step["time/reward_wait_share"] <= 1


def test_a_reward_that_dies_costs_its_own_group_alone(tmp_path):
    def dying(completions, /, **columns):
        if "1+1=" in columns["prompt"]:
            raise RuntimeError("out of luck")
        return variety(completions, **columns)

    rows = [{"prompt": f"1+{b}=", "reference": str(1 + b)} for b in range(4)]
    options = {**PARTS, "rows": rows, "steps": 1, "reward": Reward({"dying": dying})}
    beside = make_trainer(tmp_path / "1", overlap_reward=True, **options)
    beside.run()
    after = make_trainer(tmp_path / "2", **options)
    after.run()
    assert beside.history[0]["reward/failed_groups"] == 1
    assert beside.history[0]["reward/abstained"] == 0.25
    assert same(weights(beside), weights(after))


def test_data_that_is_wrong_ends_the_run_and_leaves_no_thread(tmp_path):
    class Picky(Variety):
        dies_on = "1+1="

    rows = [{"prompt": f"1+{b}=", "reference": str(1 + b)} for b in range(4)]
    with pytest.raises(InvalidReferenceError, match="out of luck"):
        trained(tmp_path, Picky(), rows=rows)
    assert not [t for t in threading.enumerate() if t.name.startswith("rewardkit-judge")]


def test_parts_are_judged_in_their_order_and_an_error_of_generation_comes_out(tmp_path):
    trainer = make_trainer(tmp_path, **PARTS)
    seen = []

    def score(part):
        seen.append(part.groups[0])
        return trainer.score(part)

    found = explore(trainer._parts(), score, overlap=True)
    assert seen == [0, 1, 2, 3]
    assert found.rollouts.groups == [group for group in range(4) for _ in range(4)]
    assert found.scored.result.scores == variety(found.rollouts.texts)

    def breaking():
        yield next(trainer._parts())
        raise MemoryError("no more")

    with pytest.raises(MemoryError, match="no more"):
        explore(breaking(), score, overlap=True)


def test_verdicts_with_a_hole_are_left_out_and_a_missing_component_is_none(tmp_path):
    trainer = make_trainer(tmp_path, reward=Reward({"v": Variety()}), **PARTS)
    parts = list(trainer._parts())
    fine, other = trainer.score(parts[0]), trainer.score(parts[1])
    other.result.verdicts.clear()
    other.result.components.clear()
    whole = Scored.joined([fine, other])
    assert whole.result.verdicts == {}
    assert whole.result.components["v"] == [*fine.result.components["v"], *[None] * 4]
    assert whole.seconds == fine.seconds + other.seconds


def test_only_what_looks_at_one_completion_is_judged_in_parts_by_itself():
    assert looks_at_rows(Reward({"v": Variety(), "inner": Reward({"r": RepetitionPenalty()})}))
    assert not looks_at_rows(Reward({"v": Variety(), "f": variety}))
    assert not looks_at_rows(Reward({"inner": Reward({"g": GroupLength()})}))
