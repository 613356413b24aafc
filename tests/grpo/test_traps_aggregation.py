"""What goes wrong in trainers, with the number that is right: sums over tokens, rows and ranks."""

import pytest

from tests._needs import needs

torch = needs("torch")
needs("transformers")

from rewardkit_grpo.aggregation import StepTotals, token_weights
from rewardkit_grpo.logprobs import collate, completion_logps
from rewardkit_grpo.losses import LOSSES, LossInputs, policy_loss
from tests.grpo import ranks
from tests.grpo.tiny import gradient, random_rows, tiny_llama

LENGTHS, ADVANTAGES = ranks.LENGTHS, ranks.ADVANTAGES
MULTIPLIERS = 3.0


def step_gradient(name, slices, *, totals=None, model=None):
    """The gradient of one optimizer step, taken in the given micro-batches."""
    model = model or tiny_llama()
    model.zero_grad()
    prompts, completions = random_rows(1, LENGTHS)
    whole = collate(prompts, completions)
    totals = totals or StepTotals.of(whole.completion_mask, max_tokens=16)
    for rows in slices:
        batch = collate([prompts[i] for i in rows], [completions[i] for i in rows])
        logps = completion_logps(model, batch)
        mask = batch.completion_mask.to(logps)
        own = totals if totals != "micro" else StepTotals.of(batch.completion_mask, max_tokens=16)
        advantages = torch.tensor([ADVANTAGES[i] for i in rows], dtype=logps.dtype)[:, None]
        multipliers = torch.full((len(rows), 1), MULTIPLIERS, dtype=logps.dtype)
        inputs = LossInputs(
            logps, logps.detach() - 0.05, advantages.expand_as(logps), mask, multipliers
        )
        loss = policy_loss(name, inputs, totals=own).loss
        (loss / len(slices) if totals == "micro" else loss).backward()
    return gradient(model)


def relative(a, b):
    return float((a - b).norm() / b.norm())


@pytest.mark.parametrize("name", sorted(LOSSES))
def test_01_micro_batches_add_up_to_the_step(name):
    whole = step_gradient(name, [range(8)])
    accumulated = step_gradient(name, [[0, 1], [2, 3], [4, 5], [6, 7]])
    assert relative(accumulated, whole) < 1e-9


def test_01_a_mean_of_micro_batch_means_is_another_gradient():
    whole = step_gradient("dapo", [range(8)])
    naive = step_gradient("dapo", [[0, 1], [2, 3], [4, 5], [6, 7]], totals="micro")
    assert relative(naive, whole) > 0.1


def test_02_no_micro_batch_is_dropped():
    whole = step_gradient("dapo", [range(8)])
    accumulated = step_gradient("dapo", [[0, 1], [2, 3], [4, 5], [6, 7]])
    first = step_gradient("dapo", [[0, 1]], totals=StepTotals(8, sum(LENGTHS), sum(LENGTHS), 1, 16))
    assert float(accumulated.norm() / whole.norm()) == pytest.approx(1.0, abs=1e-12)
    assert float(first.norm() / whole.norm()) < 0.5


def test_07_truncated_rows_leave_the_denominator_too():
    mask = torch.tensor([[1, 1, 0, 0], [1, 1, 1, 1]], dtype=torch.float64)
    alone = StepTotals.of(mask[:1], max_tokens=4)
    masked = StepTotals.of(mask * torch.tensor([[1], [0]]), max_tokens=4)
    assert masked == alone
    logps = torch.randn(2, 4, dtype=torch.float64, requires_grad=True)
    for name, loss in LOSSES.items():
        kept = mask * torch.tensor([[1], [0]])
        inputs = LossInputs(logps, logps.detach(), torch.ones_like(mask), kept, torch.ones(2, 1))
        both = policy_loss(name, inputs, totals=masked).loss
        one = policy_loss(name, LossInputs(*(value[:1] for value in inputs)), totals=alone).loss
        torch.testing.assert_close(both, one)
        (slope,) = torch.autograd.grad(both, logps)
        assert slope[1].abs().max() == 0, name
        weights = token_weights(loss.aggregation, kept, masked)
        assert weights[1].sum() == 0


@pytest.mark.parametrize(
    ("name", "ratio"),
    [
        ("grpo", 10.0),
        ("bnpo", 1.0),
        ("dapo", 1.0),
        ("dr_grpo", 1.0),
        ("gspo", 10.0),
        ("cispo", 1.0),
    ],
)
def test_17_weight_of_a_token_in_a_short_row_over_one_in_a_long_row(name, ratio):
    mask = torch.zeros(2, 100, dtype=torch.float64)
    mask[0, :10] = 1
    mask[1] = 1
    weights = token_weights(LOSSES[name].aggregation, mask, StepTotals.of(mask, max_tokens=100))
    assert float(weights[0, 0] / weights[1, 0]) == pytest.approx(ratio)


def test_03_two_ranks_take_the_step_of_one():
    context = torch.multiprocessing.get_context("spawn")
    results, port = context.Queue(), ranks.free_port()
    processes = [
        context.Process(target=ranks.run_rank, args=(rank, port, results)) for rank in range(2)
    ]
    for process in processes:
        process.start()
    found = results.get(timeout=300)
    for process in processes:
        process.join(60)
        assert process.exitcode == 0
    totals = StepTotals(8, sum(LENGTHS), sum(LENGTHS), 1, 16)
    one = {name: ranks.step(name, list(range(8)), totals) for name in ranks.LOSSES}
    for name in ("grpo", "dapo", "dr_grpo", "gspo"):
        assert relative(torch.tensor(found[name], dtype=torch.float64), one[name]) < 1e-12, name
    # The mean of each rank's own token mean is what bnpo promises, and is another number.
    assert relative(torch.tensor(found["bnpo"], dtype=torch.float64), one["dapo"]) > 0.1
