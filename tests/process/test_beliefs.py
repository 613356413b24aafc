"""Beliefs after each step: they telescope, and the scorer's numbers are the model's own."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rewardkit.errors import ConfigError
from rewardkit.process import (
    Beliefs,
    LogProb,
    StepTokens,
    TransformersScorer,
    belief_advantages,
    by_separator,
    by_size,
    probe_beliefs,
)
from tests._needs import needs

torch = needs("torch")
needs("transformers")


class Table:
    """A scorer whose belief grows with the length of the prefix."""

    def __init__(self):
        self.calls, self.pairs = 0, []

    def __call__(self, pairs):
        self.calls += 1
        self.pairs += pairs
        return [LogProb(-20.0 / len(prefix), len(answer)) for prefix, answer in pairs]


def test_one_call_asks_each_question_once():
    scorer = Table()
    texts = ["a\n\nb\n\nc", "a\n\nx"]
    steps = [by_separator(text) for text in texts]
    found = probe_beliefs(["Q: "] * 2, steps, ["42"] * 2, scorer)
    assert scorer.calls == 1
    assert len(scorer.pairs) == 4 + 3 - 2  # the empty prefix and "a\n\n" are shared
    assert [len(belief.values) for belief in found] == [4, 3]
    assert found[0].values[0] == math.exp(-20.0 / len("Q: \n\nThe answer is "))
    by_token = probe_beliefs(["Q: "], steps[:1], ["42"], scorer, by_token=True)
    assert by_token[0].values[0] == pytest.approx(math.sqrt(found[0].values[0]))


@given(st.text("ab", min_size=1, max_size=20), st.integers(1, 5))
def test_progress_telescopes_however_the_text_is_cut(text, size):
    (belief,) = probe_beliefs(["Q"], [by_size(text, size)], ["1"], Table())
    (whole,) = probe_beliefs(["Q"], [by_size(text, len(text))], ["1"], Table())
    assert math.fsum(belief.progress.values) == pytest.approx(
        belief.values[-1] - belief.values[0], abs=1e-12
    )
    assert math.fsum(belief.progress.values) == pytest.approx(math.fsum(whole.progress.values))


def test_advantages_are_outcome_plus_progress():
    beliefs = [Beliefs((0.1, 0.5, 0.4)), Beliefs((0.1, 0.0)), Beliefs((0.1, 0.9))]
    tokens = [StepTokens((0, 2, 3), 4), StepTokens((0, 1), 1), StepTokens((0, 1), 1)]
    found = belief_advantages([1.0, 0.0, None], ["p"] * 3, beliefs, tokens)
    first, second = 0.5 + 1.2 * 0.4, 0.5 + 1.2 * -0.1
    assert found[0] == pytest.approx([first, first, second, 0.5])
    assert found[1] == pytest.approx([-0.5 - 1.2 * 0.1])
    assert found[2] == [0.0]


def test_what_does_not_fit_is_refused():
    steps = [by_separator("a")]
    for call in [
        lambda: probe_beliefs(["Q"], steps, [], Table()),
        lambda: probe_beliefs(["Q"], steps, [""], Table()),
        lambda: probe_beliefs(["Q"], steps, ["1"], lambda pairs: []),
        lambda: belief_advantages([1.0], ["p"], [], []),
    ]:
        with pytest.raises(ConfigError):
            call()


@pytest.fixture(scope="module")
def language_model():
    from tests.adapters import tiny

    words = tiny.tokenizer()
    return tiny.model(len(words)).eval(), words


def one_by_one(model, words, prefix, continuation):
    """log p of each character of the continuation, with a forward pass of its own."""
    ids = words(prefix + continuation)["input_ids"]
    total = 0.0
    for place in range(len(words(prefix)["input_ids"]), len(ids)):
        with torch.no_grad():
            logits = model(input_ids=torch.tensor([ids[:place]])).logits[0, -1]
        total += float(logits.double().log_softmax(-1)[ids[place]])
    return total


def test_the_transformers_scorer_gives_the_models_log_probabilities(language_model):
    model, words = language_model
    pairs = [("1+1=", "2"), ("a longer prefix, 3*4=", "12"), ("x", "long answer"), ("y", "")]
    scorer = TransformersScorer(model, words)
    found = scorer(pairs)
    assert scorer.batches == 1
    for (prefix, continuation), scored in zip(pairs, found):
        assert scored.tokens == len(continuation)
        assert scored.total == pytest.approx(
            one_by_one(model, words, prefix, continuation), abs=1e-4
        )
    small = TransformersScorer(model, words, max_tokens=24)
    assert [s.total for s in small(pairs)] == pytest.approx([s.total for s in found], abs=1e-4)
    assert small.batches > 1


def test_a_probe_of_a_model_is_the_probability_of_the_answer(language_model):
    model, words = language_model
    steps = by_separator("3*4=12\n\nso 12+1=13")
    (belief,) = probe_beliefs(
        ["Q: "], [steps], ["13"], TransformersScorer(model, words), glue=" A: "
    )
    wanted = [
        math.exp(one_by_one(model, words, "Q: " + prefix + " A: ", "13"))
        for prefix in steps.prefixes
    ]
    assert list(belief.values) == pytest.approx(wanted, rel=1e-3)


def test_a_slow_tokenizer_is_refused(language_model):
    model, _ = language_model
    with pytest.raises(ConfigError, match="fast"):
        TransformersScorer(model, object())
