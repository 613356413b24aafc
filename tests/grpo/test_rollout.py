"""Sampling, and what may be done to the probabilities."""

import pytest

from tests._needs import needs

torch = needs("torch")
needs("transformers")

from rewardkit_grpo.logprobs import collate, completion_logps
from rewardkit_grpo.processors import chain, constrained_uniform, nucleus
from rewardkit_grpo.rollout import generate
from tests.grpo.tiny import EOS, tiny_llama


def sampled(**options):
    settings = {"group_size": 6, "max_new_tokens": 5, "eos_ids": [EOS], "temperature": 0.8}
    generator = torch.Generator().manual_seed(1)
    model = tiny_llama(sharp=8.0)
    prompts = [[1, 3, 4], [1], [4, 4, 1, 3, 3]]
    return model, prompts, generate(model, prompts, generator=generator, **(settings | options))


def test_log_probabilities_are_those_of_one_whole_pass():
    model, prompts, found = sampled()
    rows = [prompt for prompt in prompts for _ in range(6)]
    batch = collate(rows, found.completions)
    whole = completion_logps(model, batch, temperature=0.8).detach()
    for row, logps in enumerate(found.logps):
        assert logps == pytest.approx(whole[row, : len(logps)].tolist(), abs=1e-5)


def test_a_completion_ends_with_eos_or_is_truncated():
    _, _, found = sampled()
    assert any(found.truncated)
    assert not all(found.truncated)
    for tokens, cut in zip(found.completions, found.truncated):
        assert EOS not in tokens[:-1]
        assert (tokens[-1] == EOS) != cut
        assert len(tokens) == 5 or not cut


def test_the_last_token_may_be_eos():
    _, _, found = sampled(max_new_tokens=1)
    assert [row == [EOS] for row in found.completions] == [not cut for cut in found.truncated]


def test_entropy_is_that_of_the_distribution_at_the_temperature():
    model, prompts, found = sampled(group_size=1)
    logits = model(torch.tensor([prompts[0]])).logits[0, -1].float() / 0.8
    expected = torch.distributions.Categorical(logits=logits).entropy().item()
    assert found.entropies[0][0] == pytest.approx(expected, abs=1e-5)


def test_a_processor_decides_what_is_drawn_and_not_the_log_probability():
    def only_three(logps, places):
        weights = torch.zeros_like(logps)
        weights[:, 3] = 1
        return weights

    model, prompts, found = sampled(processor=only_three)
    assert all(row == [3] * 5 for row in found.completions)
    batch = collate(prompts[:1], found.completions[:1])
    whole = completion_logps(model, batch, temperature=0.8).detach()
    assert found.logps[0] == pytest.approx(whole[0].tolist(), abs=1e-5)


def test_top_k_and_top_p_keep_the_likeliest():
    logps = torch.tensor([[0.5, 0.3, 0.15, 0.05]]).log()
    assert nucleus(logps, top_k=2)[0].tolist() == pytest.approx([0.5, 0.3, 0, 0])
    assert nucleus(logps, top_p=0.8)[0].tolist() == pytest.approx([0.5, 0.3, 0, 0])
    assert nucleus(logps, top_p=0.81)[0].tolist() == pytest.approx([0.5, 0.3, 0.15, 0])
    assert nucleus(logps, top_p=0.01)[0].tolist() == pytest.approx([0.5, 0, 0, 0])
    assert nucleus(logps)[0].tolist() == pytest.approx([0.5, 0.3, 0.15, 0.05])


def test_cuts_is_uniform_over_what_the_model_thinks_possible():
    logps = torch.tensor([[0.5, 0.3, 0.15, 0.05], [0.97, 0.01, 0.01, 0.01]]).log()
    weights = constrained_uniform(logps, k=3, min_p=0.1)
    assert weights[0].tolist() == [1, 1, 1, 0]
    assert weights[1].tolist() == [1, 0, 0, 0]
    assert constrained_uniform(logps, k=2, min_p=0.1)[0].tolist() == [1, 1, 0, 0]


def test_a_share_of_each_group_is_explored():
    process = chain(group_size=4, cuts_k=2, cuts_min_p=0.1, cuts_share=0.5)
    logps = torch.tensor([[0.5, 0.3, 0.2]]).log().expand(4, 3)
    weights = process(logps, torch.arange(4))
    assert weights[:2].tolist() == [[1, 1, 0]] * 2
    assert weights[2].tolist() == pytest.approx([0.5, 0.3, 0.2])
    assert chain(group_size=4) is None
