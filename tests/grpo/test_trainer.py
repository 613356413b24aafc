"""The loop: what a step does, what it survives, and that a killed run goes on exactly."""

import json
import math
import os
import random
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tests._needs import needs

torch = needs("torch")
needs("transformers")

from rewardkit import Reason, Reward, Verdict, Verifier
from rewardkit.advantages import AdvantageStage
from rewardkit.errors import ConfigError, DataError, InvalidReferenceError
from rewardkit.noise import NoiseCorrection, OnlineRates
from rewardkit.verifiers.math import MathVerifier
from rewardkit_grpo.checkpoint import latest_checkpoint
from rewardkit_grpo.demos.addition import addition_rows
from rewardkit_grpo.learner import NotFiniteError
from tests.grpo import runs
from tests.grpo.runs import make_trainer, same, variety, weights

ROOT = Path(__file__).resolve().parents[2]


class RightDigit(Verifier):
    """The truth of a tiny task: the first character is that of the reference."""

    name = "right_digit"

    def verify(self, completion, reference, /, **context):
        right = str(completion)[:1] == reference[:1]
        return Verdict(float(right), Reason.MATCH if right else Reason.MISMATCH)


def sure(completions, /, **columns):
    """0 or 1, which an untrained model gets about equally."""
    return [float(len(set(text)) >= 3) for text in completions]


def lines_of(path):
    return [json.loads(line) for line in path.read_text("utf-8").splitlines()]


def trained(folder, **options):
    trainer = make_trainer(folder, **options)
    trainer.run()
    return trainer


def test_a_run_moves_the_weights_and_says_how_each_step_went(tmp_path):
    before = weights(make_trainer(tmp_path))
    trainer = trained(tmp_path)
    assert not same(before, weights(trainer))
    lines = lines_of(tmp_path / "metrics.jsonl")
    assert [line["step"] for line in lines] == [1, 2, 3, 4]
    for line in lines:
        assert 0 <= line["reward/mean"] <= 1
        assert line["component/variety"] == line["reward/mean"]
        assert 0 < line["entropy"] <= math.log(14)
        assert line["clip_fraction"] == 0
        # The sampler decodes with cached keys, the learner in one pass: equal up to rounding.
        assert line["sampler_gap"] < 1e-4
        assert line["learner/not_finite"] == 0


def test_the_same_seed_gives_the_same_run_and_another_does_not(tmp_path):
    one, two = trained(tmp_path / "1"), trained(tmp_path / "2")
    assert same(weights(one), weights(two))
    other = make_trainer(tmp_path / "3")
    other.config.seed = 1
    other.run()
    assert not same(weights(one), weights(other))


def test_a_run_in_two_parts_is_the_run_in_one(tmp_path):
    whole = trained(tmp_path / "whole", sampler="frontier", minibatches=2)
    options = {"sampler": "frontier", "minibatches": 2, "steps": 4}
    first = make_trainer(tmp_path / "parts", **options, save_every=2)
    first.config.steps = 2
    first.run()
    with (tmp_path / "parts" / "metrics.jsonl").open("a") as file:
        file.write('{"step": 3}\n')  # after the checkpoint
    second = trained(tmp_path / "parts", **options)
    assert [m["reward/mean"] for m in second.history] == [
        m["reward/mean"] for m in whole.history[2:]
    ]
    assert same(weights(whole), weights(second))
    for name in ("rollouts.jsonl",):
        assert (tmp_path / "whole" / name).read_bytes() == (tmp_path / "parts" / name).read_bytes()
    steps = [line["step"] for line in lines_of(tmp_path / "parts" / "metrics.jsonl")]
    assert steps == [1, 2, 3, 4]


def test_a_killed_run_goes_on_as_if_it_had_not_been(tmp_path):
    command = [sys.executable, "-m", "tests.grpo.runs", str(tmp_path / "killed"), "7"]
    path = f"{ROOT}:{ROOT / 'adapters'}"
    running = subprocess.Popen(
        command,
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": path},
        stdout=subprocess.PIPE,
        text=True,
    )
    for line in running.stdout:
        if line.startswith("step 5"):
            os.kill(running.pid, signal.SIGKILL)
    assert running.wait() == -signal.SIGKILL
    running.stdout.close()
    assert latest_checkpoint(tmp_path / "killed" / "checkpoints").name == "step-00000004.pt"
    resumed = make_trainer(tmp_path / "killed", steps=7)
    resumed.run()
    assert [round(m["learner/rate"], 9) for m in resumed.history] == [1e-3] * 3
    whole = trained(tmp_path / "whole", steps=7)
    assert same(weights(whole), weights(resumed))
    killed, kept = (tmp_path / name / "rollouts.jsonl" for name in ("killed", "whole"))
    assert killed.read_bytes() == kept.read_bytes()


def test_a_half_written_checkpoint_is_not_there(tmp_path):
    trained(tmp_path, steps=1)
    folder = tmp_path / "checkpoints"
    (folder / ".partial-1").write_bytes(b"half")
    assert latest_checkpoint(folder).name == "step-00000001.pt"
    (folder / "step-00000009.pt").write_bytes(b"not a checkpoint")
    with pytest.raises(DataError, match="step-00000009"):
        trained(tmp_path, steps=2)


def test_a_checkpoint_of_another_model_is_refused(tmp_path):
    trained(tmp_path, steps=1)
    other = make_trainer(tmp_path, lora_rank=2)
    with pytest.raises(ConfigError, match="another model"):
        other.run()


def test_undecided_completions_teach_nothing(tmp_path):
    def undecided(completions, /, **columns):
        return [None] * len(completions)

    trainer = make_trainer(tmp_path, reward=Reward({"none": undecided}))
    before = weights(trainer)
    trainer.run()
    assert same(before, weights(trainer))
    assert trainer.history[0]["reward/abstained"] == 1


def test_25_a_reward_that_dies_costs_its_own_group_alone(tmp_path):
    calls = []

    def dying(completions, /, **columns):
        calls.append(len(completions))
        if columns["prompt"][0] == columns["prompt"][-1] == "1+1=":
            raise RuntimeError("out of luck")
        if "1+1=" in columns["prompt"]:
            raise RuntimeError("out of luck")
        return variety(completions, **columns)

    rows = [{"prompt": f"1+{b}=", "reference": str(1 + b)} for b in range(4)]
    trainer = make_trainer(tmp_path, reward=Reward({"dying": dying}), rows=rows, steps=2)
    trainer.run()
    assert trainer.history[0]["reward/failed_groups"] == 1
    assert trainer.history[0]["reward/abstained"] == 0.25
    assert calls[:5] == [16, 4, 4, 4, 4]
    zero = make_trainer(
        tmp_path / "0", reward=Reward({"d": dying}), rows=rows, on_reward_error="zero", steps=1
    )
    zero.run()
    assert zero.history[0]["reward/abstained"] == 0
    strict = make_trainer(
        tmp_path / "1", reward=Reward({"d": dying}), rows=rows, on_reward_error="raise"
    )
    with pytest.raises(ConfigError, match="out of luck"):
        strict.run()


def test_a_gradient_that_is_not_finite_is_saved_and_not_taken(tmp_path):
    class Broken:
        def __call__(self, rewards, groups, /, **context):
            return [1e99] * len(rewards)

    trainer = make_trainer(tmp_path, stage=AdvantageStage(Broken()), steps=2)
    before = weights(trainer)
    with pytest.raises(NotFiniteError, match="not-finite-step-1"):
        trainer.run()
    assert same(before, weights(trainer))
    saved = torch.load(tmp_path / "not-finite-step-1.pt", weights_only=True)
    assert len(saved) == 16
    assert saved[0]["advantages"][0] == 1e99
    skipping = make_trainer(
        tmp_path / "skip", stage=AdvantageStage(Broken()), steps=2, on_nan="skip"
    )
    skipping.run()
    assert [m["learner/not_finite"] for m in skipping.history] == [1, 1]
    assert same(before, weights(skipping))


@pytest.mark.parametrize(
    "options",
    [
        {"micro_batch_tokens": 20},
        {"share_prompts": False},
        {"share_prompts": False, "micro_batch_tokens": 20},
        {"chunk_tokens": 3},
        {"gradient_checkpointing": True},
    ],
)
def test_memory_options_change_no_gradient(tmp_path, options):
    plain = trained(tmp_path / "1", steps=1)
    other = trained(tmp_path / "2", steps=1, **options)
    for key in ("loss", "grad_norm", "entropy"):
        assert other.history[0][key] == pytest.approx(plain.history[0][key], rel=1e-4, abs=1e-6)


def test_zero_advantage_rows_are_left_out_and_change_nothing(tmp_path):
    rows = [{"prompt": "1+1=", "reference": "2"}, {"prompt": "2+2=", "reference": "never"}]

    def half(completions, /, **columns):
        pairs = zip(completions, columns["reference"])
        return [0.0 if ref == "never" else float(len(text) % 2) for text, ref in pairs]

    trainer = make_trainer(
        tmp_path,
        reward=Reward({"half": half}),
        rows=rows,
        steps=1,
        prompts_per_step=2,
        group_size=8,
    )
    trainer.run()
    assert trainer.history[0]["groups/zero"] == 0.5
    assert trainer.history[0]["learner/skipped_rows"] >= 8


@pytest.mark.parametrize(
    "loss", ["bnpo", "dr_grpo", "dapo", "cispo", "rloo", "quatro", "pgbc", "pgfc"]
)
def test_every_loss_runs_over_several_updates(tmp_path, loss):
    options = {"rho0": 0.1, "rho1": 0.2, "accept_at": 0.6} if loss in ("pgbc", "pgfc") else {}
    trainer = trained(tmp_path, loss=loss, minibatches=2, epochs=2, steps=2, **options)
    assert trainer.learner.updates == 8
    assert all(math.isfinite(m["loss"]) for m in trainer.history)
    if options:
        assert trainer.history[0]["audit/difference_mean"] > 0


def test_the_noisy_control_takes_the_same_path_with_rates_of_zero(tmp_path):
    options = {"loss": "pgbc", "rho0": 0.1, "rho1": 0.3, "steps": 1}
    control = trained(tmp_path / "1", reward=Reward({"sure": sure}), noisy_control=True, **options)
    assert control.history[0]["audit/difference_max"] < 1e-12
    acting = trained(tmp_path / "2", reward=Reward({"sure": sure}), **options)
    assert acting.history[0]["audit/difference_mean"] > 0


def online_stage():
    rates = OnlineRates(RightDigit(), share=0.5, min_checks=2, seed=3)
    return AdvantageStage(NoiseCorrection("backward", rates, scale="ema"))


def test_rates_are_measured_on_the_way_and_a_resumed_run_has_them(tmp_path):
    options = {"loss": "pgbc", "reward": Reward({"sure": sure})}
    whole = trained(tmp_path / "whole", steps=4, stage=online_stage(), **options)
    checks = [m["noise/checks"] for m in whole.history]
    assert checks == sorted(checks)
    assert 0 < checks[0] < 16
    trained(tmp_path / "parts", steps=2, stage=online_stage(), **options)
    resumed = trained(tmp_path / "parts", steps=4, stage=online_stage(), **options)
    assert same(weights(whole), weights(resumed))
    assert resumed.history[-1]["noise/checks"] == checks[-1]


def test_the_kl_to_the_reference_starts_at_zero_and_pulls_back(tmp_path):
    trainer = trained(tmp_path, beta=0.1, steps=6)
    values = [m["kl"] for m in trainer.history]
    assert values[0] == pytest.approx(0.0, abs=1e-9)
    assert values[-1] > 0


def test_token_advantages_reach_the_learner(tmp_path):
    def last_token_only(rewards, groups, /, *, lengths, **context):
        return [[0.0] * (n - 1) + [r - 0.5] for r, n in zip(rewards, lengths)]

    trainer = trained(tmp_path, stage=AdvantageStage(last_token_only), steps=1)
    assert trainer.history[0]["grad_norm"] > 0


def test_10_sampled_frequency_is_the_teacher_forced_probability(tmp_path):
    trainer = make_trainer(tmp_path, temperature=0.7, generation_rows=4000)
    prompt = trainer.prompts[0]
    rollouts = trainer.actor.sample([prompt], group_size=4000, stream=3, groups=[0])
    first = max(set(rollouts.texts), key=rollouts.texts.count)
    place = rollouts.texts.index(first)
    probability = math.exp(sum(rollouts.logps[place]))
    from rewardkit_grpo.logprobs import collate, completion_logps

    batch = collate([prompt.ids], [rollouts.completions[place]])
    forced = completion_logps(trainer.model, batch, temperature=0.7).sum().item()
    assert math.exp(forced) == pytest.approx(probability, rel=1e-4)
    sigma = math.sqrt(probability * (1 - probability) / 4000)
    same_ids = rollouts.completions[place]
    share = sum(ids == same_ids for ids in rollouts.completions) / 4000
    assert abs(share - probability) < 4 * sigma


def test_rollouts_can_be_scored_again(tmp_path):
    rows = [{"prompt": f"{a}+1=", "reference": str(a + 1), "source": "sums"} for a in range(8)]
    trained(tmp_path, reward=Reward({"math": MathVerifier()}), rows=rows, steps=1)
    program = Path(sys.executable).with_name("rewardkit")
    done = subprocess.run(
        [program, "score", tmp_path / "rollouts.jsonl", "--out", tmp_path / "scored.jsonl"],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": f"{ROOT}:{ROOT / 'adapters'}"},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    scored = lines_of(tmp_path / "scored.jsonl")
    assert len(scored) == 16
    assert all(row["score"] == row["reward"] and row["source"] == "sums" for row in scored)


def test_evaluation_reports_pass_at_k(tmp_path):
    trainer = trained(
        tmp_path, steps=2, eval_every=1, eval_dataset=addition_rows(0)[1][:10], eval_samples=4
    )
    for metrics in trainer.history:
        assert 0 <= metrics["eval/pass@1"] <= metrics["eval/pass@4"] <= 1


def test_lora_trains_the_adapters_alone(tmp_path):
    needs("peft")
    trainer = make_trainer(tmp_path, lora_rank=4, steps=3, beta=0.01, save_every=1)
    before = weights(trainer)
    trainer.run()
    after = weights(trainer)
    moved = {name for name in before if not torch.equal(before[name], after[name])}
    assert moved
    assert all("lora" in name for name in moved)
    assert trainer.history[0]["kl"] == pytest.approx(0.0, abs=1e-9)
    again = make_trainer(tmp_path, lora_rank=4, steps=3)
    again.run()
    assert same(weights(again), after)


@pytest.mark.parametrize("sampler", ["plain", "hit_rate", "adarft", "frontier"])
def test_every_sampler_runs_in_the_trainer(tmp_path, sampler):
    trainer = trained(tmp_path, sampler=sampler, replay_share=0.25, steps=3)
    drawn = lines_of(tmp_path / "rollouts.jsonl")
    assert len(drawn) == 3 * 16
    assert len({(row["step"], row["group"]) for row in drawn}) == 12
    assert trainer.step == 3


def test_tensorboard_gets_the_metrics(tmp_path):
    needs("tensorboard")
    trained(tmp_path, steps=1, tensorboard=True)
    assert list((tmp_path / "tensorboard").glob("events.*"))


@pytest.mark.parametrize(
    ("rows", "error", "text"),
    [
        ([], DataError, "no rows"),
        ([{"question": "1+1="}], DataError, "no column 'prompt'"),
        ([{"prompt": 7}], DataError, "a int"),
        ([{"prompt": ""}], DataError, "0 tokens"),
        ([{"prompt": [{"role": "user", "content": "1"}]}], DataError, "chat template"),
        ([{"prompt": "1"}, {"prompt": "1", "x": 1}], DataError, "other columns"),
        ([{"prompt": "1+1="}], DataError, "no column 'reference'"),
        ([{"prompt": "1+1=", "reference": ""}], InvalidReferenceError, "row 0"),
    ],
)
def test_data_that_cannot_be_used_is_named_before_the_first_step(tmp_path, rows, error, text):
    with pytest.raises(error, match=text):
        make_trainer(tmp_path, rows=rows or iter(()), reward=Reward({"math": MathVerifier()}))


def test_weights_in_bf16_are_refused(tmp_path):
    from rewardkit_grpo.config import GRPOConfig
    from rewardkit_grpo.demos.addition import CharTokenizer, tiny_llama
    from rewardkit_grpo.trainer import Trainer

    with pytest.raises(ConfigError, match="float32"):
        Trainer(
            tiny_llama(0).bfloat16(),
            CharTokenizer(),
            Reward({"variety": variety}),
            addition_rows(0)[0],
            GRPOConfig(output_dir=tmp_path),
        )


def test_bf16_products_stay_near_the_fp32_run(tmp_path):
    plain, mixed = (
        trained(tmp_path / "1", steps=1),
        trained(tmp_path / "2", steps=1, precision="bf16"),
    )
    assert mixed.history[0]["entropy"] == pytest.approx(plain.history[0]["entropy"], rel=0.05)
    assert {p.dtype for p in mixed.model.parameters()} == {torch.float32}


def test_truncated_completions_can_be_left_out(tmp_path):
    kept = trained(tmp_path / "1", steps=1)
    cut = trained(tmp_path / "2", steps=1, mask_truncated=True)
    assert kept.history[0]["truncated"] == cut.history[0]["truncated"] > 0
    assert kept.history[0]["grad_norm"] != cut.history[0]["grad_norm"]


def test_order_of_prompts_comes_from_the_seed_alone(tmp_path):
    random.seed(5)
    torch.manual_seed(5)
    one = make_trainer(tmp_path / "1").sample().texts
    random.seed(6)
    trainer = make_trainer(tmp_path / "2")
    torch.manual_seed(7)
    assert trainer.sample().texts == one
    assert runs.torch.get_num_threads() == 1
