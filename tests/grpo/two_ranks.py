"""What each of two processes does for test_parallel; torchrun starts it with a folder."""

import sys
from pathlib import Path

from tests._needs import needs

torch = needs("torch")
needs("transformers")

from rewardkit import Reward
from rewardkit_grpo import parallel
from rewardkit_grpo.config import GRPOConfig
from rewardkit_grpo.demos.addition import CharTokenizer, addition_rows, tiny_llama
from rewardkit_grpo.resume import save_model
from rewardkit_grpo.trainer import Trainer

torch.set_num_threads(1)
STEPS = 4
RUNS = {
    "copies": {"sharding": "none", "estimator": "batch_z", "loss": "dapo"},
    "parts": {"sharding": "fsdp", "loss": "grpo", "chunk_tokens": 3},
    "tied": {"sharding": "fsdp", "loss": "dr_grpo", "share_prompts": False},
    "checkpointed": {"sharding": "fsdp", "loss": "dapo", "gradient_checkpointing": True},
    "adapters": {"sharding": "fsdp", "loss": "grpo", "lora_rank": 4, "beta": 0.1},
}


def digits(completions, /, **columns):
    """The share of different characters; for half of the prompts one number for all."""
    pairs = zip(completions, columns["prompt"])
    return [0.5 if int(p[0]) % 2 else len(set(text)) / 4 for text, p in pairs]


def make(folder, name, steps=STEPS):
    """A run in fp64, so that two ways to the same sum can be told from two sums."""
    model = tiny_llama(0).double()
    if name == "tied":
        model.config.tie_word_embeddings = True
        model.lm_head.weight = model.model.embed_tokens.weight
    torch.manual_seed(1)  # of the adapters
    settings = {
        "output_dir": Path(folder),
        "steps": steps,
        "prompts_per_step": 4,
        "group_size": 4,
        "max_new_tokens": 4,
        "learning_rate": 1e-3,
        "micro_batch_tokens": 24,
        "eval_every": 2,
        "eval_ks": (1,),
        "eval_samples": 2,
    }
    options = RUNS[name] if parallel.world_size() > 1 else {**RUNS[name], "sharding": "none"}
    return Trainer(
        model,
        CharTokenizer(),
        Reward({"digits": digits}),
        addition_rows(0)[0][:50],
        GRPOConfig.model_validate(settings | options),
        eval_dataset=addition_rows(0)[1][:5],
    )


def watched(trainer, rows):
    """The trainer, which puts the rows of each step into a list."""
    update = trainer.learner.update

    def noting(own, *, seed):
        rows.append([row.as_dict() for row in own])
        return update(own, seed=seed)

    trainer.learner.update = noting
    return trainer


def main(folder):
    parallel.start()
    for name in RUNS:
        rows = []
        watched(make(folder / name, name), rows).run()
        torch.save(rows, folder / name / f"rows-{parallel.rank()}.pt")
        make(folder / f"{name}-in-two", name, steps=2).run()
        resumed = make(folder / f"{name}-in-two", name)
        resumed.run()
        save_model(resumed.model, folder / f"{name}-model", shards=resumed.shards)
    torch.distributed.destroy_process_group()


if __name__ == "__main__":
    main(Path(sys.argv[1]))
