"""The included trainer on one GPU: tokens a second, model FLOPs utilisation, step time; and TRL's.

    python -m benchmarks.grpo_gpu --prompts 64 --group 8 --tokens 512

The model is a Llama of half a billion random weights, so that nothing is downloaded; with them a
completion seldom ends before the limit. Generation is on transformers in both.
"""

import argparse
import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import torch

_VOCABULARY = 32_000


def load() -> Any:  # noqa: ANN401 # transformers is untyped
    """Returns a Llama of half a billion random weights."""
    from transformers import LlamaConfig, LlamaForCausalLM

    torch.manual_seed(0)
    return LlamaForCausalLM(
        LlamaConfig(
            vocab_size=_VOCABULARY,
            hidden_size=1024,
            intermediate_size=4096,
            num_hidden_layers=28,
            num_attention_heads=16,
            num_key_value_heads=8,
            max_position_embeddings=4096,
            bos_token_id=1,
            eos_token_id=2,
            pad_token_id=0,
        )
    )


def tokenizer() -> Any:  # noqa: ANN401 # transformers is untyped
    """Returns one word a token: w3 to w31999."""
    from tokenizers import Tokenizer, models, pre_tokenizers
    from transformers import PreTrainedTokenizerFast

    vocabulary = {"<pad>": 0, "<s>": 1, "</s>": 2}
    vocabulary |= {f"w{i}": i for i in range(3, _VOCABULARY)}
    made = Tokenizer(models.WordLevel(vocabulary, unk_token="<pad>"))
    made.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    return PreTrainedTokenizerFast(tokenizer_object=made, eos_token="</s>", pad_token="<pad>")


def rows(count: int) -> list[dict[str, str]]:
    """Returns prompts of 128 tokens."""
    return [
        {"prompt": " ".join(f"w{3 + (i * 131 + j) % 31_000}" for j in range(128))}
        for i in range(count)
    ]


def evenness(completions: Sequence[Any], **_: object) -> list[float]:
    """Returns a reward that differs within every group: the parity of the first words."""
    return [sum(map(ord, str(text)[:40])) % 7 / 6 for text in completions]


def run_rewardkit(arguments: argparse.Namespace) -> dict[str, Any]:
    """Returns the seconds of each part of a step."""
    from rewardkit import Reward
    from rewardkit_grpo.config import GRPOConfig
    from rewardkit_grpo.trainer import Trainer

    with tempfile.TemporaryDirectory() as out:
        config = GRPOConfig(
            output_dir=Path(out),
            steps=arguments.steps,
            prompts_per_step=arguments.prompts,
            group_size=arguments.group,
            max_new_tokens=arguments.tokens,
            generation_rows=arguments.prompts * arguments.group,
            micro_batch_tokens=arguments.micro_batch_tokens,
            chunk_tokens=8192,
            precision="bf16",
            loss="dapo",
            save_rollouts=False,
        )
        reward = Reward({"evenness": lambda completions, /, **columns: evenness(completions)})
        trainer = Trainer(load(), tokenizer(), reward, rows(256), config)
        found = []
        for _ in range(arguments.steps):
            torch.cuda.synchronize()
            found.append(trainer.train_step())
            torch.cuda.synchronize()
    keys = ("time/step_s", "time/generate_s", "time/learn_s", "time/reward_share")
    return {key: [metrics[key] for metrics in found] for key in keys}


def run_trl(arguments: argparse.Namespace) -> dict[str, Any]:
    """Returns the seconds of a step with TRL."""
    from datasets import Dataset
    from transformers import TrainerCallback
    from trl import GRPOConfig, GRPOTrainer

    seconds: list[float] = []

    class Clock(TrainerCallback):  # type: ignore[misc] # untyped
        def on_step_begin(self, *_: object, **__: object) -> None:
            torch.cuda.synchronize()
            self.start = time.perf_counter()

        def on_step_end(self, *_: object, **__: object) -> None:
            torch.cuda.synchronize()
            seconds.append(time.perf_counter() - self.start)

    batch = arguments.prompts * arguments.group
    micro = max(1, arguments.micro_batch_tokens // (arguments.tokens + 128))
    with tempfile.TemporaryDirectory() as out:
        config = GRPOConfig(
            output_dir=out,
            max_steps=arguments.steps,
            per_device_train_batch_size=micro,
            gradient_accumulation_steps=max(1, batch // micro),
            num_generations=arguments.group,
            max_completion_length=arguments.tokens,
            loss_type="dapo",
            bf16=True,
            gradient_checkpointing=False,
            report_to=[],
            save_strategy="no",
            disable_tqdm=True,
        )
        GRPOTrainer(
            load(),
            evenness,
            args=config,
            train_dataset=Dataset.from_list(rows(256)),
            processing_class=tokenizer(),
            callbacks=[Clock()],
        ).train()
    return {"time/step_s": seconds}


def main() -> None:
    """Prints one row a trainer."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--prompts", type=int, default=64)
    parser.add_argument("--group", type=int, default=8)
    parser.add_argument("--tokens", type=int, default=512)
    parser.add_argument("--steps", type=int, default=4)
    parser.add_argument("--micro-batch-tokens", type=int, default=40_960)
    parser.add_argument("--peak-tflops", type=float, default=989.0, help="bf16, dense; H100, H200")
    parser.add_argument("--child", choices=["rewardkit", "trl"])
    arguments = parser.parse_args()
    if not torch.cuda.is_available():
        raise SystemExit("this benchmark needs a GPU; benchmarks.grpo_cpu runs without one")
    if arguments.child:
        run = run_rewardkit if arguments.child == "rewardkit" else run_trl
        found = run(arguments) | {"peak_gb": torch.cuda.max_memory_allocated() / 2**30}
        print("RESULT " + json.dumps(found))
        return
    parameters = sum(p.numel() for p in load().parameters())
    tokens = arguments.prompts * arguments.group * arguments.tokens
    for trainer in ("rewardkit", "trl"):
        command = [sys.executable, "-m", "benchmarks.grpo_gpu", *sys.argv[1:], "--child", trainer]
        done = subprocess.run(command, capture_output=True, text=True)
        lines = [line for line in done.stdout.splitlines() if line.startswith("RESULT ")]
        if not lines:
            raise SystemExit(f"{trainer} ended with {done.returncode}:\n{done.stderr[-3000:]}")
        found = json.loads(lines[0].removeprefix("RESULT "))
        steps = sorted(found["time/step_s"][1:])
        step = steps[len(steps) // 2]
        speed, memory = tokens / step, found["peak_gb"]
        print(f"{trainer}: {step:.2f} s a step, {speed:,.0f} tokens/s, {memory:.1f} GiB")
        if "time/learn_s" in found:
            learn = sorted(found["time/learn_s"][1:])[len(steps) // 2]
            share = 6 * parameters * tokens / learn / (arguments.peak_tflops * 1e12)
            generate = sorted(found["time/generate_s"][1:])[len(steps) // 2]
            print(
                f"  learner {tokens / learn:,.0f} tokens/s, MFU {share:.1%} (completion tokens); "
                f"generation {tokens / generate:,.0f} tokens/s; reward "
                f"{max(found['time/reward_share']):.2%} of a step"
            )


if __name__ == "__main__":
    main()
