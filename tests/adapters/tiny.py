"""A tiny model and a character tokenizer, made here: no hub, no download."""

SPECIAL = ["<pad>", "<eos>", "<unk>"]
CHAT = (
    "{% for m in messages %}<{{ m['role'] }}>{{ m['content'] }}\n{% endfor %}"
    "{% if add_generation_prompt %}<assistant>{% endif %}"
)


def tokenizer(extra=(), template=CHAT, eos="<eos>"):
    from tokenizers import Tokenizer, models, pre_tokenizers
    from tokenizers.decoders import Fuse
    from transformers import PreTrainedTokenizerFast

    letters = [chr(code) for code in range(32, 127)] + ["\n"]
    words = [*SPECIAL, *extra, *letters]
    inner = Tokenizer(models.WordLevel({w: i for i, w in enumerate(words)}, unk_token="<unk>"))
    inner.pre_tokenizer = pre_tokenizers.Split("", "isolated")
    inner.decoder = Fuse()
    inner.add_special_tokens([*SPECIAL])
    inner.add_tokens([*extra])
    made = PreTrainedTokenizerFast(
        tokenizer_object=inner, pad_token="<pad>", eos_token=eos, unk_token="<unk>"
    )
    made.chat_template = template
    return made


def model(vocabulary, seed=0):
    import torch
    from transformers import LlamaConfig, LlamaForCausalLM

    torch.manual_seed(seed)
    config = LlamaConfig(
        vocab_size=vocabulary,
        hidden_size=16,
        intermediate_size=32,
        num_hidden_layers=1,
        num_attention_heads=2,
        max_position_embeddings=8192,
        pad_token_id=0,
        eos_token_id=1,
    )
    return LlamaForCausalLM(config)


def rows(count=4, conversational=False):
    from datasets import Dataset

    prompts = [f"{i}+{i}=" for i in range(count)]
    if conversational:
        prompts = [[{"role": "user", "content": text}] for text in prompts]
    return Dataset.from_dict(
        {
            "prompt": prompts,
            "reference": [str(2 * i) for i in range(count)],
            "level": list(range(count)),
        }
    )


def arguments(folder, **options):
    from trl import GRPOConfig

    settings = {
        "output_dir": str(folder),
        "use_cpu": True,
        "bf16": False,
        "gradient_checkpointing": False,
        "per_device_train_batch_size": 8,
        "num_generations": 4,
        "max_completion_length": 6,
        "max_steps": 1,
        "learning_rate": 1e-2,
        "logging_steps": 1,
        "save_strategy": "no",
        "report_to": [],
        "disable_tqdm": True,
        "seed": 3,
        "optim": "sgd",
        "lr_scheduler_type": "constant",
        "max_grad_norm": 0.0,
    }
    return GRPOConfig(**{**settings, **options})


def trained(folder, reward_functions, *, kind=None, dataset=None, words=None, more=None, **options):
    """Trains the tiny model, and returns the trainer."""
    import torch
    from trl import GRPOTrainer

    torch.set_num_threads(1)
    words = words or tokenizer()
    trainer = (kind or GRPOTrainer)(
        model=model(len(words)),
        processing_class=words,
        reward_funcs=reward_functions,
        args=arguments(folder, **options),
        train_dataset=rows() if dataset is None else dataset,
        **(more or {}),
    )
    trainer.train()
    return trainer


def weights(trainer):
    import torch

    return torch.cat([p.detach().flatten() for p in trainer.model.parameters()])
