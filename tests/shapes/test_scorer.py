"""A broken verifier is data: the run goes on, the row says why, the policy is the user's."""

import asyncio
import pickle

import pytest

from rewardkit import MathVerifier
from rewardkit.errors import ConfigError, InvalidReferenceError, UndecidedError
from rewardkit.reward import Reward
from rewardkit.shapes import Scorer, as_reward
from rewardkit.verdict import Reason, Verdict
from rewardkit.verifier import Verifier


class Moody(Verifier):
    """Times out on "slow", refuses the reference "bad", passes "yes"."""

    name = "moody"

    def verify(self, completion, reference, /, **context):
        if reference == "bad":
            raise InvalidReferenceError("this reference cannot be read")
        if completion == "slow":
            return Verdict(None, Reason.TIMEOUT, detail="2 s ran out")
        return Verdict(float(completion == "yes"), Reason.MATCH)


def mean_length(completions, /, **columns):
    """Compares the completions of its batch."""
    return [len(completions)] * len(completions)


def test_a_timeout_is_masked_and_its_reason_is_the_status():
    scored = Scorer(Moody()).batch(["yes", "slow", "no"], {"reference": ["a"] * 3})
    assert scored.scores == [1.0, None, 0.0]
    assert scored.statuses == ["scored", "timeout", "scored"]
    assert scored.details[1] == "moody: 2 s ran out"
    assert scored.metrics() == {
        "moody/mean": 0.5,
        "status/timeout": pytest.approx(1 / 3),
        "reason/moody/match": pytest.approx(2 / 3),
        "reason/moody/timeout": pytest.approx(1 / 3),
    }


def test_the_policy_may_be_zero_or_to_raise():
    columns = {"reference": ["a", "a"]}
    zero = Scorer(Moody(), on_missing="zero").batch(["yes", "slow"], columns)
    assert zero.scores == [1.0, 0.0]
    assert zero.statuses[1] == "timeout"
    assert zero.result.scores == [1.0, None]
    with pytest.raises(UndecidedError, match="row 1 has no score: timeout: moody"):
        Scorer(Moody(), on_missing="raise").batch(["yes", "slow"], columns)


def test_a_row_that_raises_is_missing_alone_once_a_batch_went_well():
    scorer = Scorer(Reward({"moody": Moody(), "size": mean_length}))
    scorer.batch(["yes"], {"reference": ["a"]})
    scored = scorer.batch(["yes", "yes", "no"], {"reference": ["a", "bad", "a"]})
    assert scored.scores == [3.0, None, 2.0]  # the shaper saw the two rows that are left
    assert scored.statuses == ["scored", "error", "scored"]
    assert scored.details[1] == "InvalidReferenceError: this reference cannot be read"
    assert scored.row(1).verdicts["moody"].abstained


def test_a_set_up_that_is_wrong_from_the_start_raises():
    with pytest.raises(InvalidReferenceError):
        Scorer(Moody()).batch(["yes"], {"reference": ["bad"]})
    with pytest.raises(ConfigError, match="'reference', which is not there"):
        Scorer(Moody()).batch(["yes"], {"answer": ["a"]})


def test_an_error_passes_where_the_policy_is_to_raise():
    scorer = Scorer(Moody(), on_missing="raise")
    scorer.batch(["yes"], {"reference": ["a"]})
    with pytest.raises(InvalidReferenceError):
        scorer.batch(["yes"], {"reference": ["bad"]})


def test_a_reference_may_have_the_frameworks_name():
    scorer = Scorer(MathVerifier(), reference="ground_truth")
    assert scorer.one("so \\boxed{4}", {"ground_truth": "4"}).score == 1.0


def test_asyncio_gives_the_same_rows():
    async def scored():
        scorer = Scorer(Moody())
        await scorer.aone("yes", {"reference": "a"})
        return await scorer.abatch(["yes", "slow", "no"], {"reference": ["a", "a", "bad"]})

    found = asyncio.run(scored())
    assert found.scores == [1.0, None, None]
    assert found.statuses == ["scored", "timeout", "error"]


def test_none_and_chats_are_completions():
    chat = [{"role": "assistant", "content": None, "tool_calls": []}]
    scored = Scorer(MathVerifier()).batch([None, chat], {"reference": ["4", "4"]})
    assert scored.scores == [0.0, 0.0]


def test_an_empty_batch_is_an_empty_batch():
    assert Scorer(Moody()).batch([], {"reference": []}).scores == []


def test_a_value_that_no_verdict_explains_is_undecided():
    def silent(completions, /, **columns):
        return [None] * len(completions)

    row = Scorer(Reward({"silent": silent})).one("x", {})
    assert (row.score, row.status, row.detail) == (None, "undecided", "no value from silent")
    assert row.metrics() == {"decided": 0.0}


def test_a_scorer_can_be_pickled():
    again = pickle.loads(pickle.dumps(Scorer(MathVerifier())))
    assert again.one("\\boxed{4}", {"reference": "4"}).score == 1.0


@pytest.mark.parametrize("wrong", [MathVerifier, "math", None])
def test_what_is_neither_reward_nor_verifier_is_refused(wrong):
    with pytest.raises(ConfigError, match="give a Reward or a verifier"):
        as_reward(wrong)
    with pytest.raises(ConfigError, match="on_missing is one of"):
        Scorer(Moody(), on_missing="skip")
