"""A tiny Llama, and every completion that it can write."""

import itertools

from rewardkit_grpo.logprobs import collate
from tests._needs import needs

torch = needs("torch")
transformers = needs("transformers")

EOS = 2


def tiny_llama(seed=0, *, vocab=5, dtype=torch.float64, hidden=16, layers=2, sharp=1.0):
    """A Llama with random weights, in float64 so that exact things are exact."""
    torch.manual_seed(seed)
    config = transformers.LlamaConfig(
        vocab_size=vocab,
        hidden_size=hidden,
        intermediate_size=2 * hidden,
        num_hidden_layers=layers,
        num_attention_heads=2,
        num_key_value_heads=1,
        max_position_embeddings=128,
        eos_token_id=EOS,
        bos_token_id=1,
        pad_token_id=0,
        attn_implementation="sdpa",
    )
    model = transformers.LlamaForCausalLM(config).to(dtype).eval()
    with torch.no_grad():
        model.lm_head.weight.mul_(sharp)
    return model


def all_completions(vocab, longest):
    """Every sequence that ends with EOS, or is cut off at `longest` tokens without one."""
    found = []
    others = [token for token in range(vocab) if token != EOS]
    for length in range(longest + 1):
        for body in itertools.product(others, repeat=length):
            if length < longest:
                found.append([*body, EOS])
            else:
                found.append(list(body))
    return found


def random_rows(seed, lengths, *, vocab=5, prompt=3):
    """Prompts and completions of the given lengths."""
    generator = torch.Generator().manual_seed(seed)

    def draw(n):
        return torch.randint(0, vocab, (n,), generator=generator).tolist()

    return [draw(prompt) for _ in lengths], [draw(length) for length in lengths]


def gradient(model):
    """All gradients as one vector."""
    return torch.cat(
        [
            torch.zeros_like(p).flatten() if p.grad is None else p.grad.flatten()
            for p in model.parameters()
        ]
    )


def batch_of(prompts, completions):
    return collate(prompts, completions)
