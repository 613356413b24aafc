"""Two processes train one model: by copies of it, and by parts (FSDP2)."""

import json

import pytest

from tests._needs import needs
from tests._ranks import run_two_ranks

torch = needs("torch")
transformers = needs("transformers")
needs("peft")

from rewardkit.advantages import AdvantageStage
from rewardkit.errors import ConfigError
from rewardkit_grpo.checkpoint import latest_checkpoint
from rewardkit_grpo.rows import TrainRow
from tests.grpo import two_ranks
from tests.grpo.runs import make_trainer

NAMES = sorted(two_ranks.RUNS)


@pytest.fixture(scope="module")
def runs(tmp_path_factory):
    """The folder in which two processes have trained."""
    folder = tmp_path_factory.mktemp("two")
    run_two_ranks("tests.grpo.two_ranks", folder)
    return folder


def lines_of(path):
    return [json.loads(line) for line in path.read_text("utf-8").splitlines()]


def checkpoint(folder):
    return torch.load(latest_checkpoint(folder / "checkpoints"), weights_only=True)


def rows_of(folder):
    """By step, the rows of each rank."""
    ranks = [torch.load(folder / f"rows-{rank}.pt", weights_only=True) for rank in range(2)]
    return list(zip(*ranks))


@pytest.mark.parametrize("name", NAMES)
def test_two_ranks_take_the_steps_of_one_process_on_the_same_batches(runs, tmp_path, name):
    one = two_ranks.make(tmp_path, name)
    metrics = lines_of(runs / name / "metrics.jsonl")
    for step, ranks in enumerate(rows_of(runs / name)):
        batch = [TrainRow(**row) for rank in ranks for row in rank]
        found = one.learner.update(batch, seed=0).means()
        assert len(batch) == 16
        for key in ("loss", "grad_norm", "kl", "clip_fraction", "sampler_gap"):
            if key in found:
                assert metrics[step][key] == pytest.approx(found[key], rel=1e-8, abs=1e-12), key
    there = checkpoint(runs / name)["weights"]
    here = {n: p.detach() for n, p in one.model.named_parameters() if p.requires_grad}
    assert there.keys() == here.keys()
    for key, value in here.items():
        torch.testing.assert_close(there[key], value, rtol=1e-7, atol=1e-9)


@pytest.mark.parametrize("name", NAMES)
def test_a_group_is_one_ranks_and_a_rank_may_have_nothing_to_learn(runs, name):
    steps = rows_of(runs / name)
    for ranks in steps:
        groups = [{row["group"] for row in rank} for rank in ranks]
        assert groups == [{0, 2}, {1, 3}]
    teaching = [[any(any(r["advantages"]) for r in rank) for rank in ranks] for ranks in steps]
    if name != "copies":  # a batch's z-score leaves nobody without
        assert [True, False] in teaching or [False, True] in teaching


@pytest.mark.parametrize("name", NAMES)
def test_rank_0_alone_writes_and_what_it_writes_is_of_all(runs, name):
    folder = runs / name
    assert not list(folder.glob("rollouts-*"))
    rollouts, metrics = lines_of(folder / "rollouts.jsonl"), lines_of(folder / "metrics.jsonl")
    assert [line["step"] for line in metrics] == [1, 2, 3, 4]
    for line in metrics:
        own = [row for row in rollouts if row["step"] == line["step"]]
        assert [row["group"] for row in own] == [g for g in range(4) for _ in range(4)]
        assert line["reward/mean"] == pytest.approx(sum(row["reward"] for row in own) / 16)
        assert ("eval/pass@1" in line) == (line["step"] % 2 == 0)
    assert [path.name for path in (folder / "checkpoints").iterdir()] == ["step-00000004.pt"]


def test_an_estimator_over_the_batch_sees_the_batch_of_all_ranks(runs):
    rollouts = lines_of(runs / "copies" / "rollouts.jsonl")
    for step in (1, 2, 3, 4):
        own = [row for row in rollouts if row["step"] == step]
        wanted = AdvantageStage("batch_z")([r["reward"] for r in own], [r["group"] for r in own])
        assert [row["advantage"] for row in own] == wanted.values


@pytest.mark.parametrize("name", NAMES)
def test_a_run_in_two_parts_is_the_run_in_one(runs, name):
    whole, parts = checkpoint(runs / name), checkpoint(runs / f"{name}-in-two")
    for key, value in whole["weights"].items():
        assert torch.equal(value, parts["weights"][key]), key
    one, two = (runs / folder / "rollouts.jsonl" for folder in (name, f"{name}-in-two"))
    assert one.read_bytes() == two.read_bytes()


@pytest.mark.parametrize("name", ["parts", "tied"])
def test_the_parts_are_saved_as_a_whole_model(runs, name):
    model = transformers.AutoModelForCausalLM.from_pretrained(runs / f"{name}-model")
    weights = checkpoint(runs / name)["weights"]
    for key, value in model.named_parameters():
        torch.testing.assert_close(value.double(), weights[key], rtol=0, atol=1e-6)


def test_a_run_of_two_goes_on_as_a_run_of_one(runs, tmp_path):
    import shutil

    shutil.copytree(runs / "parts", tmp_path / "parts")
    trainer = two_ranks.make(tmp_path / "parts", "parts", steps=5)
    trainer.run()
    assert trainer.step == 5
    assert len(trainer.history) == 1


def test_parts_without_processes_are_refused(tmp_path):
    with pytest.raises(ConfigError, match="torchrun"):
        make_trainer(tmp_path, sharding="fsdp")


def test_what_parts_cannot_do_is_refused(tmp_path):
    from pydantic import ValidationError

    for options in ({"beta": 0.1}, {"compile": True}):
        with pytest.raises(ValidationError, match="sharding"):
            make_trainer(tmp_path, sharding="fsdp", **options)
