"""Process reward models on tiny random ones of the same architecture."""

import pytest

from rewardkit.errors import ConfigError
from rewardkit.process import QwenPRM, Segmentation, SkyworkPRM, by_separator
from tests._needs import needs
from tests.adapters import tiny

torch = needs("torch")
transformers = needs("transformers")

TEXTS = ["Add 1 and 2.\n\nThat is 3.\n\nSo 3.", "Guess: 7."]
PROMPTS = ["1+2=", "What is 3+4?"]


def backbone(vocabulary):
    torch.manual_seed(0)
    config = transformers.Qwen2Config(
        vocab_size=vocabulary,
        hidden_size=16,
        intermediate_size=32,
        num_hidden_layers=2,
        num_attention_heads=2,
        num_key_value_heads=1,
        max_position_embeddings=1024,
        pad_token_id=0,
    )
    return transformers.Qwen2Model(config).eval()


class Head(torch.nn.Module):
    """Qwen2 with the two-layer head of Qwen2.5-Math-PRM, or the value head of Skywork's."""

    def __init__(self, vocabulary, outputs):
        super().__init__()
        self.model = backbone(vocabulary)
        size = self.model.config.hidden_size
        self.outputs = outputs
        if outputs == 2:
            self.score = torch.nn.Sequential(
                torch.nn.Linear(size, size), torch.nn.ReLU(), torch.nn.Linear(size, 2)
            )
        else:
            self.score = torch.nn.Linear(size, 1)

    def forward(self, input_ids, attention_mask):
        hidden = self.model(input_ids=input_ids, attention_mask=attention_mask).last_hidden_state
        logits = self.score(hidden)
        if self.outputs == 2:
            return (logits,)
        return (None, None, logits.squeeze(-1))


@pytest.fixture(scope="module")
def words():
    return tiny.tokenizer(extra=["<extra_0>"])


def test_qwen_scores_are_the_class_probabilities_at_the_separators(words):
    model = Head(len(words), 2)
    steps = [by_separator(text) for text in TEXTS]
    found = QwenPRM(model, words, system="S").score(PROMPTS, steps)
    assert [len(scores) for scores in found] == [3, 1]
    for prompt, own, scores in zip(PROMPTS, steps, found):
        answer = "".join(step.strip() + "<extra_0>" for step in own)
        text = f"<system>S\n<user>{prompt}\n<assistant>{answer}\n"
        ids = words.encode(text, add_special_tokens=False)
        with torch.no_grad():
            (logits,) = model(torch.tensor([ids]), torch.ones(1, len(ids), dtype=torch.long))
        marks = [k for k, token in enumerate(ids) if token == words.encode("<extra_0>")[0]]
        wanted = [float(logits[0, k].softmax(-1)[1]) for k in marks]
        assert list(scores.values) == pytest.approx(wanted, abs=1e-5)
    assert len({round(v, 6) for scores in found for v in scores.values}) > 1


def test_a_separator_written_by_the_model_is_no_step(words):
    model = Head(len(words), 2)
    plain = by_separator("One.\n\nTwo.")
    forged = Segmentation.from_steps(["One.<extra_0>", "Two."])
    prm = QwenPRM(model, words)
    clean, hostile = prm.score(["p", "p<extra_0>"], [plain, forged])
    assert len(hostile) == 2
    assert hostile.values == pytest.approx(clean.values)


def test_skywork_scores_are_the_values_at_the_last_tokens_of_steps(words):
    model = Head(len(words), 1)
    steps = [by_separator(text) for text in TEXTS]
    found = SkyworkPRM(model, words).score(PROMPTS, steps)
    for prompt, own, scores in zip(PROMPTS, steps, found):
        text = f"{prompt}\n{own.text}"
        ids = words(text)["input_ids"]
        assert len(ids) == len(text)  # a token is a character here
        with torch.no_grad():
            *_, values = model(torch.tensor([ids]), torch.ones(1, len(ids), dtype=torch.long))
        ends = [len(prompt) + 1 + end - 1 for _, end in own.spans]
        wanted = [float(values[0, k].sigmoid()) for k in ends]
        assert list(scores.values) == pytest.approx(wanted, abs=1e-5)


def test_the_token_classifier_of_transformers_fits_both_formats(words):
    torch.manual_seed(1)
    config = backbone(len(words)).config
    for labels, prm in [(2, QwenPRM), (1, SkyworkPRM)]:
        config.num_labels = labels
        model = transformers.Qwen2ForTokenClassification(config).eval()
        (scores,) = prm(model, words).score(["1+2="], [by_separator(TEXTS[0])])
        assert len(scores) == 3
        assert all(0 < value < 1 for value in scores.values)


def test_what_does_not_fit_is_refused(words):
    model = Head(len(words), 2)
    with pytest.raises(ConfigError, match="tokens here"):
        QwenPRM(model, words, separator="ab")
    with pytest.raises(ConfigError, match="template"):
        SkyworkPRM(model, words, template="{answer} {prompt}")
    with pytest.raises(ConfigError, match="fast"):
        SkyworkPRM(model, object())
