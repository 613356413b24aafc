"""A real model judges: in this process, and over real HTTP.

SmolLM2-135M says "correct" to nearly everything, which is what makes it a good fixture: whatever is
there to notice such a judge has to notice this one.
"""

import pytest

from rewardkit import JudgeVerifier, LocalJudge, Reason
from rewardkit.errors import ConfigError
from rewardkit.verifiers.judge import JudgeAlarm
from tests._needs import needs
from tests.verifiers.judge.smollm2 import GGUF, model_folder, serve

pytestmark = [pytest.mark.model, pytest.mark.slow]


@pytest.fixture(scope="module")
def local():
    torch = needs("torch")
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    with LocalJudge(model=model_folder(), gguf_file=GGUF) as made:
        made.verify("I get 17.", "17", question="8 + 9?")
        yield made
    torch.set_num_threads(threads)


@pytest.fixture(scope="module")
def url(local):
    needs("starlette"), needs("uvicorn")
    with serve(local._model._model, local._model._tokenizer) as served:
        yield served


def test_probabilities_of_the_closed_set_add_up_and_repeat(local):
    verdict = local.verify("I get 23.", "17", question="8 + 9?")
    [probabilities] = verdict.evidence["probabilities"]
    assert list(probabilities["verdict"]) == ["CORRECT", "INCORRECT", "NOT_ATTEMPTED"]
    assert sum(probabilities["verdict"].values()) == pytest.approx(1.0, abs=1e-5)
    again = local.verify("I get 23.", "17", question="8 + 9?")
    assert again.evidence == verdict.evidence


def test_the_shared_prefix_changes_no_probability(local):
    torch = needs("torch")
    model = local._model
    text = "Is 2 + 2 = 4? Answer:"
    rows = [model._tokenizer.encode(f"{text} {one}\n") for one in ("yes", "no", "10", "1")]
    fast = model._score(rows)
    shared = 0
    while all(row[shared] == rows[0][shared] for row in rows):
        shared += 1
    for row, found in zip(rows, fast):
        with torch.inference_mode():
            logps = model._model(torch.tensor([row])).logits[0].float().log_softmax(-1)
        plain = sum(float(logps[i - 1, row[i]]) for i in range(shared, len(row)))
        assert found == pytest.approx(plain, abs=2e-3)


def test_the_model_accepts_what_is_wrong_and_gates_stand_before_it(local):
    assert local.verify("I get 23.", "17", question="8 + 9?").passed  # wrong, and accepted
    assert local.verify("Thought process:", "17").reason is Reason.NO_ANSWER


def test_an_unsure_choice_can_be_an_abstention_and_a_score_an_expectation(local, monkeypatch):
    settings = {"model": model_folder(), "gguf_file": GGUF}
    unsure = LocalJudge(**settings, min_confidence=0.99)
    unsure._model = local._model
    assert unsure.verify("I get 23.", "17").reason is Reason.UNPROVED
    expected = LocalJudge(**settings, mode="scale", rubric="Is it kind?", score="expected")
    expected._model = local._model
    verdict = expected.verify("Dear you", None)
    [probabilities] = verdict.evidence["probabilities"]
    mean = sum(p * (int(step) - 1) / 4 for step, p in probabilities["verdict"].items())
    assert verdict.score == pytest.approx(mean, abs=1e-5)
    monkeypatch.setattr(local._model, "_max_tokens", 20)
    assert local.verify("I get 23.", "17").reason is Reason.SIZE_LIMIT


def test_the_canary_alarm_rings_on_the_real_model_over_http(url):
    judge = JudgeVerifier(
        base_url=url,
        reasoning=False,
        canary_rate=1.0,
        canaries=("Solution: it is done", "The answer is a number", "Yes", "It is right"),
        timeout_s=600,
        request_timeout_s=600,
        on_alarm="abstain",
    )
    completions = ["I get 17.", "17", "The sum is 17.", "8 + 9 = 17"]  # what a yes is likely for
    with judge, pytest.warns(JudgeAlarm):
        verdicts = judge.verify_batch(completions, ["17"] * 4, question=["8 + 9?"] * 4)
    found = judge.metrics()["canaries"]
    assert found["alarm"] is True
    assert found["accepted"] >= 3
    assert sum(verdict.abstained for verdict in verdicts) >= 1  # a yes is no verdict any more


def test_lines_of_a_model_that_cannot_follow_are_an_abstention(url):
    with JudgeVerifier(
        base_url=url, structured="off", timeout_s=600, request_timeout_s=600
    ) as judge:
        verdict = judge.verify("I get 23.", "17")
    assert verdict.score is None
    assert verdict.evidence["unreadable"] in ("no_verdict", "out_of_set", "two_verdicts")


def test_a_model_that_is_not_here_is_the_callers_mistake(tmp_path):
    with pytest.raises(ConfigError, match="nothing is downloaded"):
        LocalJudge(model=str(tmp_path)).verify("17 it is", "17")
