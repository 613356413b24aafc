"""Configs: what is wrong is said in one sentence, before a model is loaded."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from tests._needs import needs

torch = needs("torch")
needs("transformers")

from rewardkit import Reward
from rewardkit.errors import ConfigError, DataError
from rewardkit.noise import Channel, Rates
from rewardkit_grpo.checking import checked
from rewardkit_grpo.config import GRPOConfig
from rewardkit_grpo.evaluation import pass_at_k
from rewardkit_grpo.loading import ModelConfig, RewardConfig, load_model, read_config
from rewardkit_grpo.stages import make_stage
from tests.grpo.tiny import tiny_llama

GOOD = """
model: {path: nowhere}
dataset: rows.jsonl
reward: {verifier: math}
train: {steps: 3, loss: dapo, eps_high: 0.28}
"""


@pytest.mark.parametrize(
    ("data", "text"),
    [
        ({"step": 3}, "step: there is no such option; did you mean steps"),
        ({"steps": 0}, "steps: .*greater than or equal to 1"),
        ({"loss": "ppo"}, "there are grpo"),
        ({"loss": "pgbc", "estimator": "group_z"}, "would cancel"),
        ({"rho1": 0.2}, "only the losses pgbc and pgfc"),
        ({"noise": "noise.json"}, "only the losses pgbc and pgfc"),
        ({"loss": "pgbc", "noise": "noise.json", "rho0": 0.1}, "not both"),
        ({"loss": "cispo", "delta": 4.0}, "no use for it"),
        ({"eval_ks": [1, 8]}, "eval_samples of k or more"),
        ({"hit_rate_band": [0.9, 0.1]}, "low < high"),
        ({"estimator": "loo"}, "leave_one_out"),
        ({"loss": "pgbc", "noise_scale": -1.0}, "above 0"),
        ({"steps": 0, "temperature": 0}, "steps: .*; temperature"),
    ],
)
def test_a_wrong_field_is_named(data, text):
    with pytest.raises(ConfigError, match=text):
        checked(GRPOConfig, data)


def test_each_loss_has_the_estimator_of_its_paper():
    estimators = {name: GRPOConfig(loss=name).group_estimator for name in ("grpo", "dapo")}
    assert set(estimators.values()) == {"group_z"}
    assert GRPOConfig(loss="dr_grpo").group_estimator == "mean"
    assert GRPOConfig(loss="rloo").group_estimator == "leave_one_out"
    assert GRPOConfig(loss="grpo", estimator="mean").group_estimator == "mean"


def test_every_field_has_a_line_of_doc_or_a_name_that_needs_none():
    plain = {"warmup_steps", "weight_decay", "adam_betas", "max_grad_norm", "lora_alpha"}
    plain |= {"learning_rate", "keep_checkpoints"}
    bare = {n for n, f in GRPOConfig.model_fields.items() if not f.description}
    assert bare <= plain


def test_a_file_is_read_with_overrides(tmp_path):
    path = tmp_path / "config.yaml"
    path.write_text(GOOD)
    found = read_config(path, {"train.steps": "7", "train.eps_low": "0.1"})
    assert (found.train.steps, found.train.eps_low, found.train.loss) == (7, 0.1, "dapo")
    assert found.train.eps_high == 0.28
    with pytest.raises(ConfigError, match=r"train\.stepz: there is no such option"):
        read_config(path, {"train.stepz": "7"})


@pytest.mark.parametrize(
    ("text", "error", "message"),
    [
        ("- 1", ConfigError, "fields model, dataset"),
        ("model: {", DataError, "no YAML"),
        ("model: {path: x}\ndataset: d.jsonl", ConfigError, "reward: Field required"),
        (GOOD.replace("verifier: math", ""), ConfigError, "either verifier or factory"),
    ],
)
def test_a_file_that_says_too_little_is_explained(tmp_path, text, error, message):
    path = tmp_path / "config.yaml"
    path.write_text(text)
    with pytest.raises(error, match=message):
        read_config(path)
    with pytest.raises(DataError, match="No such file"):
        read_config(tmp_path / "none.yaml")


def test_a_judge_measures_the_rates_of_the_run(tmp_path):
    path = tmp_path / "config.yaml"
    path.write_text(
        "model: {path: nowhere}\ndataset: rows.jsonl\nreward: {verifier: math}\n"
        "judge: {verifier: math, options: {mode: lenient}, share: 0.2, stratified_by: [source]}\n"
        "train: {loss: pgbc, noise_scale: ema}\n"
    )
    rates = read_config(path).make_stage().estimator.rates
    assert rates.judge.mode == "lenient"
    assert (rates.share, rates.stratified_by) == (0.2, ("source",))
    with pytest.raises(ConfigError, match="only the losses pgbc and pgfc"):
        read_config(path, {"train.loss": "grpo"})
    with pytest.raises(ConfigError, match="judge: it measures"):
        read_config(path, {"train.rho1": "0.2"})


def test_a_correction_without_rates_is_refused():
    with pytest.raises(ConfigError, match="no rates are given"):
        make_stage(GRPOConfig(loss="pgbc"))
    make_stage(GRPOConfig(loss="pgbc", noisy_control=True))
    make_stage(GRPOConfig(loss="pgfc", rho1=0.1))


def test_the_rates_of_a_run_can_come_from_a_file(tmp_path):
    channel = Channel(Rates.exact(0.1, 0.2), {"x": Rates.exact(0.0, 0.2)}, stratified_by=("s",))
    channel.save(tmp_path / "noise.json")
    config = GRPOConfig(loss="pgfc", noise=tmp_path / "noise.json", noise_scale="j")
    stage = make_stage(config)
    values = stage([1.0, 0.0], ["a", "a"], columns={"s": ["x", "y"]}).values
    assert values == pytest.approx([0.2 / 0.8, -0.8 / 0.7])
    with pytest.raises(DataError, match="cannot be read"):
        make_stage(GRPOConfig(loss="pgfc", noise=tmp_path / "none.json"))


def test_a_reward_is_a_verifier_or_what_a_function_makes(tmp_path, monkeypatch):
    assert set(RewardConfig(verifier="math", options={"mode": "lenient"}).build().components) == {
        "math"
    }
    (tmp_path / "my_reward.py").write_text(
        "from rewardkit import Reward\n"
        "def make(n): return Reward({'length': lambda c, /, **k: [float(n)] * len(c)})\n"
        "def wrong(): return 7\n"
    )
    monkeypatch.syspath_prepend(tmp_path)
    made = RewardConfig(factory="my_reward:make", options={"n": 3}).build()
    assert isinstance(made, Reward)
    assert made.score(["x"]).scores == [3.0]
    for factory, text in [
        ("my_reward:wrong", "not a Reward"),
        ("my_reward:none", "no function"),
        ("no_module_here:f", "PYTHONPATH"),
        ("my_reward", "my_module:my_function"),
    ]:
        with pytest.raises(ConfigError, match=text):
            RewardConfig(factory=factory).build()


def test_a_model_that_is_not_there_is_one_error():
    with pytest.raises(DataError, match="cannot be loaded"):
        load_model(ModelConfig(path="/no/such/folder"))


@pytest.fixture
def workplace(tmp_path):
    """A tiny model with a tokenizer, a data set and a config that fits."""
    tokenizers, transformers = needs("tokenizers"), needs("transformers")
    vocabulary = {token: i for i, token in enumerate(["<pad>", "<s>", "</s>", *"0123456789+= "])}
    model = tokenizers.models.WordLevel(vocabulary, unk_token="<pad>")
    made = tokenizers.Tokenizer(model)
    made.pre_tokenizer = tokenizers.pre_tokenizers.Split("", "isolated")
    made.decoder = tokenizers.decoders.Fuse()
    fast = transformers.PreTrainedTokenizerFast(
        tokenizer_object=made, eos_token="</s>", pad_token="<pad>", bos_token="<s>"
    )
    fast.save_pretrained(tmp_path / "start")
    tiny_llama(vocab=16, dtype=torch.float32).save_pretrained(tmp_path / "start")
    rows = [{"prompt": f"{a}+1=", "reference": str(a + 1)} for a in range(8)]
    (tmp_path / "rows.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    (tmp_path / "config.yaml").write_text(
        "model: {path: start}\ndataset: rows.jsonl\nreward: {verifier: math}\n"
        "train: {steps: 2, prompts_per_step: 2, group_size: 2, max_new_tokens: 3,"
        " learning_rate: 0.001, output_dir: run}\n"
    )
    return tmp_path


def rewardkit(folder, *words):
    return subprocess.run(
        [Path(sys.executable).with_name("rewardkit"), *words],
        cwd=folder,
        capture_output=True,
        text=True,
    )


def test_the_command_trains_and_saves_a_model_that_loads(workplace):
    done = rewardkit(workplace, "train", "grpo", "config.yaml", "--set", "train.steps=3")
    assert done.returncode == 0, done.stderr
    assert "step 3/3" in done.stderr
    model, tokenizer = load_model(ModelConfig(path=str(workplace / "run" / "model")))
    assert tokenizer.encode("1+1=") == [4, 13, 4, 14]
    assert model.num_parameters() > 0
    rows = (workplace / "run" / "rollouts.jsonl").read_text().splitlines()
    assert len(rows) == 3 * 4


def test_the_command_explains_a_mistake_in_one_line(workplace):
    done = rewardkit(workplace, "train", "grpo", "config.yaml", "--set", "train.losss=dapo")
    assert done.returncode == 2
    assert "did you mean loss" in done.stderr
    assert "Traceback" not in done.stderr


def test_the_check_finds_that_prompts_are_missing(workplace):
    (workplace / "bare.jsonl").write_text('{"reference": "4"}\n')
    done = rewardkit(
        workplace, "train", "grpo", "config.yaml", "--check", "--set", "dataset=bare.jsonl"
    )
    assert done.returncode == 2
    assert "no column 'prompt'" in done.stderr


@pytest.mark.parametrize("samples", [1, 3, 6])
def test_pass_at_k_is_the_mean_over_all_subsets(samples):
    import itertools

    for passed in range(samples + 1):
        marks = [True] * passed + [False] * (samples - passed)
        for k in range(1, samples + 1):
            subsets = list(itertools.combinations(marks, k))
            share = sum(any(subset) for subset in subsets) / len(subsets)
            assert pass_at_k(samples, passed, k) == pytest.approx(share)


def test_pass_at_k_needs_enough_samples():
    with pytest.raises(ConfigError, match="pass@4"):
        pass_at_k(2, 1, 4)
