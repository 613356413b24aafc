"""Short runs of the trainer on a tiny model."""

import sys
from pathlib import Path

from tests._needs import needs

torch = needs("torch")
needs("transformers")

from rewardkit import Reward
from rewardkit_grpo.config import GRPOConfig
from rewardkit_grpo.demos.addition import CharTokenizer, addition_rows, tiny_llama
from rewardkit_grpo.trainer import Trainer

torch.set_num_threads(1)


def variety(completions, /, **columns):
    """The share of different characters: an untrained model's samples differ in it."""
    return [len(set(text)) / 4 for text in completions]


def make_trainer(
    folder, *, reward=None, rows=None, seed=0, eval_dataset=None, stage=None, **options
):
    settings = {
        "output_dir": Path(folder),
        "seed": seed,
        "steps": 4,
        "prompts_per_step": 4,
        "group_size": 4,
        "max_new_tokens": 4,
        "learning_rate": 1e-3,
    }
    return Trainer(
        tiny_llama(seed),
        CharTokenizer(),
        reward or Reward({"variety": variety}),
        rows or addition_rows(0)[0][:50],
        GRPOConfig.model_validate(settings | options),
        eval_dataset=eval_dataset,
        stage=stage,
    )


def weights(trainer):
    return {name: p.detach().clone() for name, p in trainer.model.named_parameters()}


def same(one, two):
    return one.keys() == two.keys() and all(torch.equal(one[name], two[name]) for name in one)


if __name__ == "__main__":
    # A run that another process kills: says each step, so that the killer knows where it is.
    runner = make_trainer(sys.argv[1], steps=int(sys.argv[2]), save_every=2)

    class Speaking:
        def show(self, step, metrics):
            print(f"step {step}", flush=True)  # noqa: T201

        def say(self, text):
            print(text, flush=True)  # noqa: T201

        def __enter__(self):
            return self

        def __exit__(self, *_):
            return None

    runner.run(display=Speaking())
    total = sum(value.double().abs().sum() for value in weights(runner).values())
    print(f"weights {total.item()!r}", flush=True)  # noqa: T201
