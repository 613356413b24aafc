"""One optimizer step of a linear model over the given rows, on one rank or on two."""

import socket

import torch

from rewardkit_grpo.aggregation import StepTotals
from rewardkit_grpo.losses import LossInputs, policy_loss

LENGTHS = [1, 2, 3, 5, 7, 10, 13, 16]
ADVANTAGES = [1.0, -0.5, 2.0, -1.5, 0.7, 1.3, -2.0, 0.4]
LOSSES = ("grpo", "dapo", "dr_grpo", "gspo", "bnpo")


def step(name, rows, totals):
    """The gradient by the weights of a model that maps features of a token to its log-prob."""
    generator = torch.Generator().manual_seed(0)
    features = torch.randn(8, 16, 6, generator=generator, dtype=torch.float64)
    weights = torch.zeros(6, dtype=torch.float64, requires_grad=True)
    mask = (torch.arange(16)[None] < torch.tensor(LENGTHS)[:, None]).double()[rows]
    logps = features[rows] @ weights
    advantages = torch.tensor(ADVANTAGES, dtype=torch.float64)[rows][:, None].expand_as(logps)
    inputs = LossInputs(logps, logps.detach() - 0.05, advantages, mask)
    policy_loss(name, inputs, totals=totals).loss.backward()
    return weights.grad


def run_rank(rank, port, results):
    torch.set_num_threads(1)
    torch.distributed.init_process_group(
        "gloo", init_method=f"tcp://127.0.0.1:{port}", rank=rank, world_size=2
    )
    rows = [[0, 1, 2, 3], [4, 5, 6, 7]][rank]
    counts = torch.tensor([len(rows), sum(LENGTHS[i] for i in rows)])
    local = int(counts[1])
    torch.distributed.all_reduce(counts)
    totals = StepTotals(int(counts[0]), int(counts[1]), local, 2, 16)
    found = {}
    for name in LOSSES:
        gradient = step(name, rows, totals)
        torch.distributed.all_reduce(gradient)
        found[name] = gradient.tolist()
    if rank == 0:
        results.put(found)
    torch.distributed.destroy_process_group()


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]
