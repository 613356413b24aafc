"""Sampling by a server over real HTTP: token ids, their log-probabilities, new weights."""

import copy
import json

import pytest

from tests._needs import needs

torch = needs("torch")
needs("transformers")
needs("peft")

from pydantic import ValidationError

from rewardkit_grpo.demos.addition import tiny_llama
from rewardkit_grpo.models import unwrapped
from rewardkit_grpo.served import ServerError
from tests.grpo.completion_server import serving
from tests.grpo.runs import make_trainer, weights


@pytest.fixture
def server(tmp_path):
    model = tiny_llama(0).eval()
    with serving(model, tmp_path / "served") as (url, served):
        yield {"url": url, "model": "policy", "folder": tmp_path / "served"}, served


def test_every_step_is_sampled_by_the_weights_of_its_own(tmp_path, server):
    options, served = server
    trainer = make_trainer(
        tmp_path / "run", server=options, steps=3, temperature=0.8, learning_rate=1e-2
    )
    trainer.run()
    # The server's log-probabilities are the learner's: a stale model or another temperature has
    # other ones.
    assert all(step["sampler_gap"] < 1e-5 for step in trainer.history)
    paths = [path for path, _ in served.calls]
    assert paths == ["/collective_rpc", "/reset_prefix_cache", "/v1/completions"] * 3
    asked = served.calls[2][1]
    assert (asked["model"], asked["n"], asked["max_tokens"]) == ("policy", 4, 4)
    assert len(asked["prompt"]) == 4
    assert all(isinstance(token, int) for prompt in asked["prompt"] for token in prompt)
    seeds = [body["seed"] for path, body in served.calls if path == "/v1/completions"]
    assert len(set(seeds)) == 3


def test_completions_end_with_their_end_and_stand_in_the_order_of_the_prompts(tmp_path, server):
    options, served = server
    trainer = make_trainer(tmp_path / "run", server=options, generation_rows=8)
    rollouts = trainer.sample()
    assert [path for path, _ in served.calls].count("/v1/completions") == 2
    assert rollouts.groups == [group for group in range(4) for _ in range(4)]
    end = trainer.actor.eos_ids
    assert set(rollouts.truncated) == {True, False}
    for tokens, logps, cut in zip(rollouts.completions, rollouts.logps, rollouts.truncated):
        assert len(tokens) == len(logps) <= 4
        assert (tokens[-1] in end) != cut
        assert not set(tokens[:-1]) & set(end)
    assert rollouts.entropy > 0


def test_adapters_go_to_the_server_by_name(tmp_path, server):
    options, served = server
    torch.manual_seed(3)
    trainer = make_trainer(
        tmp_path / "run",
        server={**options, "weights": "lora"},
        lora_rank=4,
        steps=3,
        learning_rate=1e-2,
    )
    served.base = copy.deepcopy(tiny_llama(0)).eval()
    trainer.run()
    assert all(step["sampler_gap"] < 1e-5 for step in trainer.history)
    loads = [body for path, body in served.calls if path == "/v1/load_lora_adapter"]
    assert [body["lora_name"] for body in loads] == ["policy"] * 3
    assert all(body["load_inplace"] for body in loads)
    # Those of before are gone: a run does not fill the disk.
    assert [path.name for path in options["folder"].glob("adapter-*")] == ["adapter-2"]
    assert unwrapped(trainer.model) is not trainer.model


def test_a_sampler_that_lags_is_corrected_for_unless_that_is_refused(tmp_path, server):
    options, served = server
    served.deaf = True
    found = {}
    for correction in (None, "none"):
        trainer = make_trainer(
            tmp_path / str(correction),
            server=options,
            steps=3,
            learning_rate=1e-2,
            correction=correction,
        )
        trainer.run()
        assert trainer.history[0]["sampler_gap"] < 1e-5
        assert trainer.history[2]["sampler_gap"] > 1e-3
        found[correction] = weights(trainer)
    assert any(not torch.equal(found[None][name], found["none"][name]) for name in found["none"])
    assert (
        make_trainer(tmp_path / "x", server=options).config.sampler_correction == "token_truncate"
    )
    assert make_trainer(tmp_path / "y").config.sampler_correction == "none"


CHOICE = {"index": 0, "token_ids": [3], "logprobs": {"token_logprobs": [-1.0]}}


def choices(count, **change):
    """An answer of the server in which every choice has a change."""
    return 200, json.dumps({"choices": [{**CHOICE, "index": i, **change} for i in range(count)]})


@pytest.mark.parametrize(
    ("answer", "text"),
    [
        ((500, "out of memory"), "500 out of memory"),
        ((200, "not json"), "not as it was asked"),
        (choices(1), "1 choices for 4 x 4"),
        (choices(16, token_ids=None), "return_token_ids"),
        (choices(16, token_ids=[3, 4]), "2 tokens with 1 log-prob"),
    ],
)
def test_an_answer_that_is_none_is_said_in_one_sentence(tmp_path, server, answer, text):
    options, served = server
    served.answer = answer
    with pytest.raises(ServerError, match=text):
        make_trainer(tmp_path / "run", server=options).run()


def test_a_server_that_is_down_is_said(tmp_path):
    gone = {"url": "http://127.0.0.1:9", "model": "policy", "folder": tmp_path / "served"}
    with pytest.raises(ServerError, match="is the server up"):
        make_trainer(tmp_path / "run", server=gone).run()


@pytest.mark.parametrize(
    ("options", "text"),
    [
        ({"top_p": 0.9}, "cut distribution"),
        ({"cuts_k": 4}, "cut distribution"),
        ({"lora_rank": 2}, "lora goes with"),
    ],
)
def test_what_would_be_wrong_without_a_sign_is_refused(tmp_path, options, text):
    server = {"url": "http://127.0.0.1:9", "model": "policy", "folder": tmp_path}
    with pytest.raises(ValidationError, match=text):
        make_trainer(tmp_path / "run", server=server, **options)
