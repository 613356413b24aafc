"""The demo learns: what it takes is a trainer that is right, from sampling to the optimizer."""

import pytest

from tests._needs import needs

needs("torch")
needs("transformers")

from rewardkit_grpo.demos import addition


def test_the_model_has_the_size_that_the_page_says():
    assert addition.tiny_llama(0).num_parameters() == 83_136


def test_no_pair_is_in_both_parts():
    train, held_out = addition.addition_rows(0)
    assert len(train) + len(held_out) == 10_000
    assert not {row["prompt"] for row in train} & {row["prompt"] for row in held_out}


def test_the_tokenizer_reads_back_what_it_wrote():
    tokenizer = addition.CharTokenizer()
    assert tokenizer.decode([*tokenizer.encode("12+34="), tokenizer.eos_token_id]) == "12+34="


@pytest.mark.slow
def test_a_hundred_steps_raise_the_reward_on_unseen_sums():
    curve, trainer = addition.run(0, steps=100)
    assert 0.2 < curve.before < 0.6
    assert curve.after > curve.before + 0.08
    assert trainer.learner.updates == 100
