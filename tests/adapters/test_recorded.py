"""Adapters of frameworks that are not installed here, called as the version read calls them."""

import asyncio
import json
import math
import pickle
import sys
import threading
import urllib.error
import urllib.request
from types import SimpleNamespace

import pytest

import rewardkit_areal
import rewardkit_lighteval
import rewardkit_ms_swift
import rewardkit_nemo_gym
import rewardkit_nemo_rl
import rewardkit_open_instruct
import rewardkit_openenv
import rewardkit_openrlhf
import rewardkit_slime
import rewardkit_tinker
import rewardkit_verifiers
import rewardkit_verl
from rewardkit import MathVerifier, Reward
from rewardkit.advantages import AdvantageStage, estimate_advantages
from rewardkit.errors import ConfigError, UndecidedError
from rewardkit.shapes import Scorer
from rewardkit.verdict import Reason, Verdict
from rewardkit.verifier import Verifier
from tests._needs import needs

RIGHT, WRONG = "So it is \\boxed{4}.", "So it is \\boxed{5}."
REWARD = Reward({"math": MathVerifier()})


class Moody(Verifier):
    """Times out on "slow"."""

    name = "moody"

    def verify(self, completion, reference, /, **context):
        if completion == "slow":
            return Verdict(None, Reason.TIMEOUT, detail="2 s ran out")
        return Verdict(float(completion == reference), Reason.MATCH)


def test_verl_calls_one_sample_by_keywords_and_gets_the_same_keys_every_time():
    compute = rewardkit_verl.compute_score(REWARD)
    call = {"data_source": "sums", "ground_truth": "4", "extra_info": {"num_turns": None}}
    right = compute(solution_str=RIGHT, **call)
    assert right == {"score": 1.0, "status": "scored", "math": 1.0}
    assert compute(solution_str=WRONG, **call)["score"] == 0.0
    lost = rewardkit_verl.compute_score(Moody())("sums", "slow", "4")
    assert math.isnan(lost["score"])
    assert set(lost) == {"score", "status", "moody"}
    zero = rewardkit_verl.compute_score(Moody(), on_missing="zero")("sums", "slow", "4")
    assert (zero["score"], zero["status"]) == (0.0, "timeout")


def test_verls_estimator_groups_by_uid_and_leaves_nan_out():
    torch = needs("torch")
    scores = torch.zeros(6, 3)
    mask = torch.tensor([[1, 1, 1], [1, 1, 0], [1, 0, 0], [1, 1, 1], [1, 1, 0], [1, 1, 1]])
    totals = [1.0, 0.0, 0.5, math.nan, 1.0, 0.25]
    for row, total in enumerate(totals):
        scores[row, int(mask[row].sum()) - 1] = total
    uid = ["a", "b", "a", "a", "b", "a"]
    estimate = rewardkit_verl.advantage_estimator(AdvantageStage("group_z"))
    advantages, returns = estimate(
        token_level_rewards=scores, response_mask=mask, index=uid, config=None
    )
    expected = estimate_advantages(
        [None if math.isnan(t) else t for t in totals], uid, estimator="group_z"
    ).values
    torch.testing.assert_close(advantages, mask * torch.tensor(expected)[:, None])
    assert returns is advantages


def test_verls_estimator_carries_token_rewards():
    torch = needs("torch")

    def to_go(rewards, groups, /, *, columns, **context):
        return [[sum(row[i:]) for i in range(len(row))] for row in columns["token_rewards"]]

    estimate = rewardkit_verl.advantage_estimator(AdvantageStage(to_go))
    mask = torch.tensor([[1, 0, 1, 1]])  # a tool's token is not the model's
    advantages, _ = estimate(torch.tensor([[1.0, 9.0, 2.0, 3.0]]), mask, index=["a"])
    assert advantages.tolist() == [[6.0, 0.0, 5.0, 3.0]]


def test_openrlhf_calls_with_prompt_and_response_together():
    torch = needs("torch")
    function = rewardkit_openrlhf.reward_func(REWARD, on_missing="zero")
    told = function(
        ["2 + 2 = " + RIGHT, "\\boxed{4}? " + WRONG], ["2 + 2 = ", "\\boxed{4}? "], ["4"] * 2
    )
    assert torch.equal(told["rewards"], torch.tensor([1.0, 0.0]))
    assert torch.equal(told["scores"], torch.tensor([1.0, 0.0]))
    assert torch.equal(told["extra_logs"]["math"], torch.tensor([1.0, 0.0]))


def test_openrlhfs_scores_for_filtering_are_from_zero_to_one():
    torch = needs("torch")
    doubled = Reward({"math": MathVerifier()}, weights={"math": -2.0})
    told = rewardkit_openrlhf.reward_func(doubled, on_missing="zero")([RIGHT], [""], ["4"])
    assert torch.equal(told["rewards"], torch.tensor([-2.0]))
    assert torch.equal(told["scores"], torch.tensor([0.0]))


def test_openrlhf_over_http():
    server = rewardkit_openrlhf.server(REWARD, on_missing="zero", port=0)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    url = f"http://127.0.0.1:{server.server_address[1]}/"

    def post(body):
        request = urllib.request.Request(url, data=body, method="POST")
        with urllib.request.build_opener(urllib.request.ProxyHandler({})).open(request) as answer:
            return json.loads(answer.read())

    try:
        body = {"query": ["2+2=" + RIGHT], "prompts": ["2+2="], "labels": ["4"]}
        told = post(json.dumps(body).encode())
        assert told == {
            "rewards": [1.0],
            "scores": [1.0],
            "extra_logs": {"math": [1.0], "decided": [1.0]},
        }
        for wrong in (b"no json", b"[]", b'{"query": "text"}', b'{"query": 3, "prompts": 3}'):
            with pytest.raises(urllib.error.HTTPError) as caught:
                post(wrong)
            assert caught.value.code == 400
            caught.value.close()
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


class Trace:
    """What a reward method and `assign_group` read of verifiers' and prime-rl's traces."""

    def __init__(self, reply, tokens=2):
        self.last_reply, self.metrics, self.rewards = reply, {}, {}
        self.nodes = [
            SimpleNamespace(mask=[False, True]),
            SimpleNamespace(mask=[True] * (tokens - 1)),
        ]

    def record_metric(self, name, value):
        self.metrics[name] = value

    @property
    def reward(self):
        return sum(self.rewards.values())

    def assign_advantages(self, value):
        self.assigned = value


def test_a_task_of_verifiers_has_the_reward_as_a_method():
    class Task:
        data = SimpleNamespace(answer="4")
        correct = rewardkit_verifiers.reward_method(Moody(), weight=0.5)

    assert (Task.correct.reward, Task.correct._vf_weight) == (True, 0.5)
    traces = [Trace("4"), Trace("5", tokens=3), Trace("slow")]
    for trace in traces:
        trace.rewards.update(asyncio.run(Task().correct(trace=trace)))
    assert [trace.rewards for trace in traces] == [{"rewardkit": v} for v in (1.0, 0.0, 0.0)]
    assert traces[2].metrics == {"decided": 0.0}

    rewardkit_verifiers.assign_group(AdvantageStage("leave_one_out"), traces)
    assert [trace.assigned for trace in traces] == [1.0, -1.0, 0.0]
    by_token = AdvantageStage(lambda r, g, /, *, lengths, **c: [[0.5] * n for n in lengths])
    rewardkit_verifiers.assign_group(by_token, traces)
    assert [trace.assigned for trace in traces] == [[0.5] * 2, [0.5] * 3, [0.0] * 2]


def test_nemo_gym_posts_a_response_and_gets_the_fields_of_an_answer():
    verify = rewardkit_nemo_gym.verify(REWARD, on_missing="zero")
    message = SimpleNamespace(
        type="message", role="assistant", content=[{"type": "output_text", "text": RIGHT}]
    )
    body = {
        "response": {"output": [{"type": "reasoning", "summary": []}, message]},
        "verifier_metadata": {"reference": "4"},
    }
    told = asyncio.run(verify(body))
    assert told == {"reward": 1.0, "reward_components": {"math": 1.0}, "status": "scored"}


def test_nemo_rl_steps_a_batch_of_logs():
    torch = needs("torch")
    step = rewardkit_nemo_rl.step(REWARD, on_missing="zero")
    logs = [
        [{"role": "user", "content": "2 + 2"}, {"role": "assistant", "content": text}]
        for text in (RIGHT, WRONG)
    ]
    told = step(logs, [{"ground_truth": "4"}, {"ground_truth": "4"}])
    assert torch.equal(told["rewards"], torch.tensor([1.0, 0.0]))
    assert told["terminateds"].tolist() == [True, True]
    assert told["answers"] == ["4", "5"]


def sample(text, group):
    return SimpleNamespace(response=text, label="4", prompt="2+2", group_index=group, reward=None)


def test_slime_scores_a_sample_or_a_group_and_takes_advantages_by_group_index():
    function = rewardkit_slime.custom_rm(Moody())
    samples = [sample("4", 7), sample("slow", 7), sample("4", 9), sample("5", 7), sample("5", 9)]
    single = asyncio.run(function(None, samples[0]))
    assert single == {"score": 1.0, "status": "scored", "moody": 1.0}
    for each, reward in zip(samples, asyncio.run(function(None, samples))):
        each.reward = reward
    raw, advantages = rewardkit_slime.post_process(AdvantageStage("leave_one_out"))(None, samples)
    assert raw == [1.0, 0.0, 1.0, 0.0, 0.0]
    assert advantages == [1.0, 0.0, 1.0, -1.0, -1.0]
    by_token = AdvantageStage(lambda r, g, /, **context: [[1.0]] * len(r))
    with pytest.raises(ConfigError, match="one a completion"):
        rewardkit_slime.post_process(by_token)(None, samples)


def test_areal_pickles_the_function_and_calls_it_with_columns():
    function = pickle.loads(pickle.dumps(rewardkit_areal.RewardFunction(REWARD, on_missing="zero")))
    assert function("2 + 2", RIGHT, [1], [2], answer="4") == 1.0
    assert (
        function("2 + 2", completions=WRONG, prompt_ids=[1], completion_ids=[2], answer="4") == 0.0
    )


def test_ms_swift_makes_the_class_and_calls_it_with_a_batch():
    made = rewardkit_ms_swift.orm(REWARD, on_missing="zero")(args=None)
    found = made([RIGHT, WRONG], solution=["4", "4"], trainer_state=object(), messages=[[], []])
    assert found == [1.0, 0.0]


def test_open_instruct_calls_with_prediction_and_label():
    made = rewardkit_open_instruct.VerifierFunction(Moody(), on_missing="zero", weight=2.0)
    assert made([1], "4", "4", None).score == 1.0
    lost = asyncio.run(made.async_call([1], "slow", "4", query="2+2", rollout_state={}))
    assert (lost.score, lost.cost, lost.reasoning) == (0.0, 0.0, "moody: 2 s ran out")
    assert (made.name, made.weight) == ("rewardkit", 2.0)


def test_tinker_steps_with_token_ids():
    session = rewardkit_tinker.TokenSession(
        REWARD,
        {"reference": "4"},
        on_missing="zero",
        decode=lambda ids: bytes(ids).decode(),
        eos=[0],
        max_turns=2,
    )
    first = asyncio.run(session.step([*WRONG.encode(), 0]))
    assert (first["reward"], first["episode_done"]) == (0.0, False)
    assert first["text"]
    last = asyncio.run(session.step([*RIGHT.encode(), 0, 7]))
    assert (last["reward"], last["episode_done"]) == (1.0, True)
    assert last["metrics"] == {"math": 1.0, "decided": 1.0}


def test_openenv_calls_a_rubric_with_action_and_observation(monkeypatch):
    class Rubric:
        """Calls `forward` as openenv.core.rubrics.base does."""

        def __call__(self, action, observation):
            self.last_score = self.forward(action, observation)
            return self.last_score

    base = SimpleNamespace(Rubric=Rubric)
    monkeypatch.setitem(sys.modules, "openenv.core.rubrics.base", base)
    for name in ("openenv", "openenv.core", "openenv.core.rubrics"):
        monkeypatch.setitem(sys.modules, name, SimpleNamespace())
    rubric = rewardkit_openenv.rubric(REWARD, on_missing="zero")
    observation = SimpleNamespace(metadata={"reference": "4"})
    assert rubric(SimpleNamespace(message=RIGHT), observation) == 1.0
    assert rubric(SimpleNamespace(message=WRONG), observation) == 0.0


def test_lighteval_computes_a_document_over_its_generations():
    compute = rewardkit_lighteval.Computation(Scorer(REWARD)).compute
    doc = SimpleNamespace(get_golds=lambda: ["4"], specific=None)
    assert compute(doc, SimpleNamespace(final_text=[RIGHT, WRONG])) == 0.5
    lost = rewardkit_lighteval.Computation(Scorer(Moody())).compute
    assert math.isnan(lost(doc, SimpleNamespace(final_text=["slow"])))
    assert lost(doc, SimpleNamespace(final_text=["slow", "4"])) == 1.0


SCALAR = {
    "AReaL": rewardkit_areal.RewardFunction,
    "ms-swift": rewardkit_ms_swift.orm,
    "NeMo-Gym": rewardkit_nemo_gym.verify,
    "NeMo-RL": rewardkit_nemo_rl.step,
    "open-instruct": rewardkit_open_instruct.VerifierFunction,
    "OpenEnv": rewardkit_openenv.rubric,
    "OpenRLHF": rewardkit_openrlhf.reward_func,
    "OpenRLHF over HTTP": rewardkit_openrlhf.server,
}


@pytest.mark.parametrize("framework", SCALAR)
def test_what_takes_one_number_refuses_a_stage_and_a_mask_when_it_is_built(framework):
    needs("torch")
    make = SCALAR[framework]
    with pytest.raises(ConfigError, match="would cancel there and step rewards cannot"):
        make(REWARD, on_missing="zero", advantages=AdvantageStage("mean"))
    with pytest.raises(ConfigError, match="cannot leave a completion out"):
        make(REWARD, on_missing="mask")


def test_the_policy_to_raise_is_heard_everywhere():
    with pytest.raises(UndecidedError):
        rewardkit_areal.RewardFunction(Moody(), on_missing="raise")("", "slow", [], [], answer="4")
