"""What goes wrong in trainers, with the number that is right: log-probabilities and masks."""

import pytest

from tests._needs import needs

torch = needs("torch")
needs("transformers")

from rewardkit_grpo.aggregation import StepTotals
from rewardkit_grpo.logprobs import (
    Batch,
    collate,
    completion_logps,
    completion_logps_shared,
    token_logps,
)
from rewardkit_grpo.losses import LossInputs, policy_loss
from tests.grpo.tiny import EOS, all_completions, gradient, random_rows, tiny_llama


def test_04_padding_moves_nothing():
    model = tiny_llama()
    prompts, completions = random_rows(3, [4, 4])
    plain = collate(prompts, completions)
    padded = Batch(
        torch.nn.functional.pad(plain.prompt_ids, (7, 0)),
        torch.nn.functional.pad(plain.prompt_mask, (7, 0)),
        torch.nn.functional.pad(plain.completion_ids, (0, 5)),
        torch.nn.functional.pad(plain.completion_mask, (0, 5)),
    )
    expected = completion_logps(model, plain)
    assert (completion_logps(model, padded)[:, :4] - expected).abs().max() < 1e-12
    unmasked = Batch(padded.prompt_ids, torch.ones_like(padded.prompt_ids), *_completion(padded))
    assert (completion_logps(model, unmasked)[:, :4] - expected).abs().max() > 1e-4


def _completion(batch):
    return batch.completion_ids, batch.completion_mask


def test_04_positions_count_real_tokens_where_they_are_learned():
    transformers = needs("transformers")
    torch.manual_seed(0)
    config = transformers.GPT2Config(
        vocab_size=5, n_positions=32, n_embd=16, n_layer=1, n_head=2, initializer_range=0.5
    )
    model = transformers.GPT2LMHeadModel(config).double().eval()
    prompts, completions = random_rows(3, [4])
    plain = collate(prompts, completions)
    padded = Batch(
        torch.nn.functional.pad(plain.prompt_ids, (7, 0)),
        torch.nn.functional.pad(plain.prompt_mask, (7, 0)),
        *_completion(plain),
    )
    gap = completion_logps(model, padded) - completion_logps(model, plain)
    assert gap.abs().max() < 1e-12


def test_05_probabilities_of_all_completions_add_up_to_one():
    model = tiny_llama(sharp=20.0)
    every = all_completions(5, 3)
    batch = collate([[1, 3, 4]] * len(every), every)
    logps = (completion_logps(model, batch) * batch.completion_mask).detach()
    assert float(logps.sum(1).exp().sum()) == pytest.approx(1.0, abs=1e-12)
    without_eos = logps * (batch.completion_ids != EOS)
    assert float(without_eos.sum(1).exp().sum()) > 2


def test_05_the_score_of_a_token_is_in_the_logits_before_it():
    model = tiny_llama()
    ids = torch.tensor([[1, 3, 4, 2, 3]])
    logits = model(ids).logits
    batch = collate([[1, 3]], [[4, 2, 3]])
    by_hand = torch.log_softmax(logits[0, 1:4], -1)[range(3), [4, 2, 3]]
    torch.testing.assert_close(completion_logps(model, batch)[0], by_hand)


def test_06_tokens_after_eos_move_neither_loss_nor_gradient():
    model, found = tiny_llama(), []
    for tail in ([3, 4], [1, 1]):
        batch = collate([[1, 3]], [[4, EOS, *tail]])
        batch.completion_mask[:, 2:] = 0
        model.zero_grad()
        logps = completion_logps(model, batch)
        inputs = LossInputs(
            logps, logps.detach(), torch.ones_like(logps), batch.completion_mask.to(logps)
        )
        loss = policy_loss("reinforce", inputs, totals=StepTotals.of(batch.completion_mask)).loss
        loss.backward()
        found.append((loss.detach(), gradient(model)))
    assert torch.equal(found[0][0], found[1][0])
    assert torch.equal(found[0][1], found[1][1])


def test_08_scores_are_at_the_temperature_of_the_sampler():
    logits = torch.randn(4, 7, dtype=torch.float64) * 3
    targets = torch.tensor([0, 3, 5, 1])
    sampler = torch.softmax(logits / 0.6, -1)[range(4), targets].log()
    at = token_logps(logits, targets, temperature=0.6)
    torch.testing.assert_close(at, sampler)
    assert (token_logps(logits, targets) - sampler).abs().mean() > 0.05


def test_21_bf16_logits_are_scored_in_fp32():
    generator = torch.Generator().manual_seed(0)
    exact = torch.randn(200, 500, generator=generator) * 4
    targets = torch.randint(0, 500, (200,), generator=generator)
    truth = torch.log_softmax(exact.double(), -1)[range(200), targets]
    in_fp32 = token_logps(exact, targets)
    assert in_fp32.dtype == torch.float32
    assert float((in_fp32 - truth).abs().mean()) < 1e-5
    from_bf16 = token_logps(exact.bfloat16(), targets)
    assert from_bf16.dtype == torch.float32
    all_bf16 = torch.log_softmax(exact.bfloat16(), -1)[range(200), targets]
    assert float((all_bf16.float() - truth).abs().mean()) > 5e-3


def test_21_the_head_of_a_model_under_autocast_stays_in_fp32():
    model = tiny_llama(dtype=torch.float32, sharp=20.0, vocab=64, hidden=64)
    prompts, completions = random_rows(5, [6] * 8, vocab=64)
    batch = collate(prompts, completions)
    with torch.no_grad(), torch.autocast("cpu", torch.bfloat16):
        logps = completion_logps(model, batch)
    assert logps.dtype == torch.float32
    plain = completion_logps(model, batch).detach()
    assert float((logps - plain).abs().mean()) < 0.05


@pytest.mark.parametrize("chunk", [1, 5, 7, 1000])
def test_a_chunked_head_gives_the_same_scores_and_gradient(chunk):
    model = tiny_llama()
    prompts, completions = random_rows(5, [6, 2, 4])
    batch = collate(prompts, completions)
    found = []
    for size in (0, chunk):
        model.zero_grad()
        logps = completion_logps(model, batch, temperature=0.7, chunk_tokens=size)
        (logps * batch.completion_mask).sum().backward()
        found.append((logps.detach(), gradient(model)))
    torch.testing.assert_close(found[1][0], found[0][0])
    torch.testing.assert_close(found[1][1], found[0][1])


@pytest.mark.parametrize("prompt_lengths", [(5, 5), (2, 6), (1, 4), (1, 1)])
def test_shared_prompts_give_the_same_scores_and_gradient(prompt_lengths):
    model = tiny_llama(sharp=5.0)
    prompts = [random_rows(9 + n, [1], prompt=n)[0][0] for n in prompt_lengths]
    owners = [0, 0, 1, 1, 0]
    _, completions = random_rows(8, [3, 6, 1, 4, 2])
    shared = collate(prompts, [[0]])
    rows = collate([prompts[owner] for owner in owners], completions)
    found = []
    for share in (False, True):
        model.zero_grad()
        if share:
            batch = Batch(shared.prompt_ids, shared.prompt_mask, *_completion(rows))
            logps = completion_logps_shared(model, batch, torch.tensor(owners), temperature=0.7)
        else:
            logps = completion_logps(model, rows, temperature=0.7)
        (logps * rows.completion_mask).sum().backward()
        found.append((logps * rows.completion_mask, gradient(model)))
    # Llama's norms compute in fp32, whatever the weights are.
    torch.testing.assert_close(found[1][0], found[0][0], rtol=1e-5, atol=1e-6)
    torch.testing.assert_close(found[1][1], found[0][1], rtol=1e-4, atol=1e-5)


def test_22_small_steps_move_fp32_weights_and_get_lost_in_bf16():
    shares = {}
    for dtype in (torch.float32, torch.bfloat16):
        torch.manual_seed(0)
        weights = torch.nn.Parameter(torch.randn(2000).to(dtype) * 0.05)
        before = weights.detach().clone()
        optimizer = torch.optim.Adam([weights], lr=1e-6)
        for _ in range(10):
            optimizer.zero_grad()
            weights.grad = torch.randn(2000).to(dtype)
            optimizer.step()
        shares[dtype] = float((weights.detach() != before).float().mean())
    assert shares[torch.float32] > 0.99
    assert shares[torch.bfloat16] < 0.2
