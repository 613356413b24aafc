"""What each of two processes does for test_trl_ranks; torchrun starts it with a folder."""

import sys
from pathlib import Path

import torch

import rewardkit_trl
from rewardkit.advantages import AdvantageStage
from rewardkit.reward import Reward
from rewardkit_trl import reward_funcs
from tests.adapters import tiny


def letters(completions, /, **columns):
    return [sum(c.isalpha() for c in text) / 6 for text in completions]


def rising(rewards, groups, /, *, lengths, **context):
    """One number a token, which tells rows and places apart."""
    base = AdvantageStage("leave_one_out")(rewards, groups).values
    return [[a * (t + 1) for t in range(n)] for a, n in zip(base, lengths)]


STAGES = {
    "batch": AdvantageStage("batch_z"),
    "group": AdvantageStage("leave_one_out"),
    "tokens": AdvantageStage(rising, control="none"),
}


def main(folder):
    class Capturing(rewardkit_trl.GRPOTrainer):
        def _generate_and_score_completions(self, inputs):
            self.taken = super()._generate_and_score_completions(inputs)
            return dict(self.taken)

    for name, stage in STAGES.items():
        trainer = tiny.trained(
            folder / name,
            reward_funcs(Reward({"letters": letters})),
            kind=Capturing,
            more={"advantages": stage},
            per_device_train_batch_size=4,
            num_generations=4,
        )
        batch, rank = trainer._rewardkit_batch, trainer.accelerator.process_index
        assert trainer.accelerator.num_processes == 2
        found = {
            "rewards": list(batch.rewards),
            "groups": list(batch.groups),
            "lengths": list(batch.lengths),
            "prompts": [str(prompt) for prompt in batch.columns["prompt"]],
            "texts": list(batch.completions),
            "advantages": trainer.taken["advantages"].tolist(),
            "own": trainer.processing_class.batch_decode(
                trainer.taken["completion_ids"], skip_special_tokens=True
            ),
            "weights": tiny.weights(trainer),
        }
        torch.save(found, folder / f"{name}-{rank}.pt")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
