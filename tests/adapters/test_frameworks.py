"""The same reward through the entry points of frameworks that are installed here."""

import math

import pytest

from rewardkit import MathVerifier, Reward
from rewardkit.verdict import Reason, Verdict
from rewardkit.verifier import Verifier
from tests._needs import needs

pytestmark = [
    pytest.mark.frameworks,
    pytest.mark.filterwarnings(
        "ignore::DeprecationWarning", "ignore::FutureWarning", "ignore::UserWarning"
    ),
    pytest.mark.filterwarnings("ignore::ResourceWarning"),
    pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"),
]

RIGHT, WRONG = "So it is \\boxed{4}.", "So it is \\boxed{5}."
REWARD = Reward({"math": MathVerifier()})


class Slow(Verifier):
    name = "slow"

    def verify(self, completion, reference, /, **context):
        return Verdict(None, Reason.TIMEOUT, detail="2 s ran out")


def version_fits(name, tested):
    from importlib.metadata import version

    from packaging.specifiers import SpecifierSet

    assert tested.startswith(name)
    return version(name) in SpecifierSet(tested.removeprefix(name))


def test_inspect_ai(tmp_path):
    inspect_ai = needs("inspect_ai")
    from inspect_ai.dataset import Sample
    from inspect_ai.model import ModelOutput
    from inspect_ai.solver import solver

    import rewardkit_inspect

    assert version_fits("inspect-ai", rewardkit_inspect.TESTED)

    @solver
    def written():
        async def solve(state, generate):
            state.output = ModelOutput.from_content("mockllm/model", state.metadata["text"])
            return state

        return solve

    def scores_of(reward, outputs):
        samples = [Sample("What is 2 + 2?", target="4", metadata={"text": t}) for t in outputs]
        task = inspect_ai.Task(
            dataset=samples,
            solver=written(),
            scorer=rewardkit_inspect.rewardkit_scorer(reward),
        )
        (log,) = inspect_ai.eval(task, model="mockllm/model", log_dir=str(tmp_path), display="none")
        assert log.status == "success", log.error
        return log

    log = scores_of(REWARD, [RIGHT, WRONG, RIGHT])
    found = [sample.scores["rewardkit"] for sample in log.samples]
    assert sorted(score.value for score in found) == [0.0, 1.0, 1.0]
    assert {score.answer for score in found} == {"4", "5"}
    assert log.results.scores[0].metrics["mean"].value == pytest.approx(2 / 3)

    (sample,) = scores_of(Reward({"slow": Slow()}), [RIGHT]).samples
    score = sample.scores["rewardkit"]
    assert math.isnan(score.value)
    assert (score.reason, score.metadata["status"]) == ("timeout", "timeout")


def test_lm_eval(tmp_path):
    needs("lm_eval")
    from datasets import Dataset
    from lm_eval import evaluator
    from lm_eval.api.model import LM
    from lm_eval.api.task import ConfigurableTask

    import rewardkit_lm_eval

    assert version_fits("lm-eval", rewardkit_lm_eval.TESTED)
    Dataset.from_dict({"question": ["2 + 2", "3 + 1"], "answer": ["4", "4"]}).to_json(
        tmp_path / "test.jsonl"
    )

    class Fixed(LM):
        def generate_until(self, requests, **options):
            return [RIGHT if "2 + 2" in request.args[0] else WRONG for request in requests]

        def loglikelihood(self, requests):
            raise NotImplementedError

        def loglikelihood_rolling(self, requests):
            raise NotImplementedError

    def results_of(reward):
        task = ConfigurableTask(
            config={
                "task": "sums",
                "dataset_path": "json",
                "dataset_kwargs": {
                    "data_files": {"test": str(tmp_path / "test.jsonl")},
                    "cache_dir": str(tmp_path),
                },
                "test_split": "test",
                "output_type": "generate_until",
                "doc_to_text": "{{question}}",
                "doc_to_target": "{{answer}}",
                "process_results": rewardkit_lm_eval.process_results(reward),
                "metric_list": [
                    {
                        "metric": "reward",
                        "aggregation": rewardkit_lm_eval.nanmean,
                        "higher_is_better": True,
                    },
                    {"metric": "decided", "aggregation": "mean", "higher_is_better": True},
                ],
            }
        )
        found = evaluator.evaluate(lm=Fixed(), task_dict={"sums": task}, bootstrap_iters=0)
        return {k.partition(",")[0]: v for k, v in found["results"]["sums"].items()}

    found = results_of(REWARD)
    assert (found["reward"], found["decided"]) == (0.5, 1.0)
    found = results_of(Reward({"slow": Slow()}))
    assert math.isnan(found["reward"])
    assert found["decided"] == 0.0


def test_reasoning_gym():
    needs("reasoning_gym")
    import rewardkit_reasoning_gym as adapter

    assert version_fits("reasoning-gym", adapter.TESTED)
    rows = list(adapter.rows("basic_arithmetic", size=4, seed=7))
    assert rows == list(adapter.rows("basic_arithmetic", size=4, seed=7))
    reward = Reward({"gym": adapter.ReasoningGymVerifier("basic_arithmetic")})
    references = [row["reference"] for row in rows]
    right = [f"The answer is \\boxed{{{r['answer']}}}." for r in references]
    assert reward.score(right, reference=references).scores == [1.0] * 4
    wrong = reward.score(
        ["The answer is \\boxed{123456}.", "Who knows", ""] * 4, reference=(references * 3)
    )
    assert max(wrong.scores) < 1.0
    with pytest.raises(Exception, match="the reference is"):
        reward.score(["1"], reference=["1"])


def test_the_rows_of_reasoning_gym_are_graded_by_math_too():
    needs("reasoning_gym")
    import rewardkit_reasoning_gym as adapter

    rows = list(adapter.rows("gcd", size=3, seed=1))
    texts = [f"\\boxed{{{row['reference']['answer']}}}" for row in rows]
    references = [row["reference"]["answer"] for row in rows]
    assert REWARD.score(texts, reference=references).scores == [1.0] * 3


def test_skyrl_gym():
    skyrl_gym = needs("skyrl_gym")
    import rewardkit_skyrl

    assert version_fits("skyrl-gym", rewardkit_skyrl.TESTED)
    skyrl_gym.register(
        id="rewardkit-sums", entry_point=rewardkit_skyrl.environment(REWARD, max_turns=2)
    )
    extras = {"reward_spec": {"method": "rule", "ground_truth": "4"}}
    env = skyrl_gym.make("rewardkit-sums", env_config={}, extras=extras)
    prompt = [{"role": "user", "content": "2 + 2"}]
    assert env.init(prompt) == (prompt, {})
    first = env.step(WRONG)
    assert (first["reward"], first["done"]) == (0.0, False)
    assert first["observations"][0]["role"] == "user"
    last = env.step(RIGHT)
    assert (last["reward"], last["done"], last["observations"]) == (1.0, True, [])
    assert last["metadata"] == {"status": "scored", "math": 1.0}
    with pytest.raises(ValueError, match="cannot leave a turn out"):
        rewardkit_skyrl.environment(REWARD, on_missing="mask")
