"""Features from a model are those of a plain forward pass, row by row."""

import pytest

from tests._needs import needs

torch = needs("torch")
needs("transformers")

from rewardkit import Reward
from rewardkit.answer import AnswerPolicy, extract_answer
from rewardkit.shaping import EllipticalBonus, Row, SelfConfidence, answer_confidence
from rewardkit_grpo.demos.addition import CharTokenizer, tiny_llama
from rewardkit_grpo.features import AnswerGaps, MeanHiddenState
from tests.grpo.runs import make_trainer

PROMPTS, TEXTS = ["1+2=", "10+2=", "3+4=", "5+5="], ["3", "12", "", "5+5=10"]


@pytest.fixture(scope="module")
def reader():
    return {"model": tiny_llama(0).eval(), "tokenizer": CharTokenizer(), "batch_rows": 3}


def rows():
    words = CharTokenizer()
    return [
        Row(text, {"prompt": prompt, "completion_ids": words.encode(text)})
        for prompt, text in zip(PROMPTS, TEXTS)
    ]


def alone(model, row):
    """Hidden states and logits of one row, without padding."""
    prompt = CharTokenizer().encode(row.columns["prompt"])
    ids = torch.tensor([[*prompt, *row.token_ids]])
    with torch.no_grad():
        out = model(input_ids=ids, output_hidden_states=True)
    return len(prompt), out.hidden_states[-1][0], out.logits[0]


def test_the_mean_hidden_state_is_that_of_each_row_alone(reader):
    found = MeanHiddenState(**reader)(rows())
    assert found[2] is None
    for row, vector in zip(rows(), found):
        if vector is not None:
            begin, hidden, _ = alone(reader["model"], row)
            torch.testing.assert_close(
                torch.tensor(vector), hidden[begin:].mean(0), atol=1e-5, rtol=1e-4
            )


def test_gaps_are_those_of_the_answers_tokens(reader):
    policy = AnswerPolicy(last_expression=True)
    found = AnswerGaps(policy=policy, **reader)(rows())
    for index, row in enumerate(rows()):
        # A token is a character here, so a span of characters is one of tokens.
        span = extract_answer(row.text, policy)
        begin, _, logits = alone(reader["model"], row)
        places = range(span.start, span.end) if span.text is not None else []
        top = [logits[begin - 1 + place].softmax(-1).topk(2).values for place in places]
        gaps = [float(best[0] - best[1]) for best in top]
        assert found[index] == pytest.approx(gaps, abs=1e-5)
    assert [len(one) for one in found[:3]] == [1, 2, 0]


def test_both_serve_shapers_of_a_reward_that_trains(tmp_path, reader):
    reward = Reward(
        {
            "diverse": EllipticalBonus(embed=MeanHiddenState(**reader)),
            "sure": SelfConfidence(measure=AnswerGaps(**reader), kind="value"),
        }
    )
    trainer = make_trainer(tmp_path, reward=reward, steps=1)
    rollouts = trainer.sample()
    components = trainer.score(rollouts).result.components
    made = [
        Row(text, {"prompt": prompt.columns["prompt"], "completion_ids": ids})
        for text, prompt, ids in zip(rollouts.texts, rollouts.prompts, rollouts.completions)
    ]
    gaps = AnswerGaps(**reader)(made)
    assert components["sure"] == pytest.approx([answer_confidence(one) for one in gaps], abs=1e-6)
    features = MeanHiddenState(**reader)(made)
    assert components["diverse"] == pytest.approx(
        EllipticalBonus()(rollouts.texts, prompt=rollouts.groups, features=features), abs=1e-6
    )
    assert len(set(components["diverse"])) > 1
    trainer.run()
