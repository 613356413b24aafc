"""Steps are spans of the text: nothing is lost, and tokens are those of the whole text."""

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rewardkit.errors import ConfigError
from rewardkit.process import (
    Segmentation,
    StepTokens,
    by_entropy,
    by_number,
    by_sentence,
    by_separator,
    by_size,
    by_tag,
    by_turn,
    offsets_from_starts,
)
from tests._needs import needs

TEXTS = st.text(st.sampled_from("ab .!?1\n\r\t<>/té😀—"), max_size=60)
BUILDERS = {
    "separator": by_separator,
    "line": lambda text: by_separator(text, "\n"),
    "sentence": by_sentence,
    "number": by_number,
    "tag": lambda text: by_tag(text, ["a", "b"]),
    "turn": by_turn,
    "size": lambda text: by_size(text, 3),
}


@pytest.mark.parametrize("name", BUILDERS)
@given(text=TEXTS | st.sampled_from(["<a>1</a> x <b>2</b>", "1. a\n2. b", "<a><a></a>", "\n\n\n"]))
def test_the_steps_joined_are_the_text_and_none_is_blank(name, text):
    steps = BUILDERS[name](text)
    assert "".join(steps.texts) == text
    assert [text[a:b] for a, b in steps.spans] == list(steps)
    assert len(steps) == len(steps.spans) == len(steps.texts)
    assert all(a < b for a, b in steps.spans)
    if not text.isspace():
        assert not any(step.isspace() for step in steps) or name == "turn"


@pytest.mark.parametrize(
    ("made", "texts"),
    [
        (by_separator("a\r\n\r\nb"), ["a\r\n\r\n", "b"]),
        (by_separator("a\n\n\n\nb\n\n"), ["a\n\n\n\n", "b\n\n"]),
        (by_separator("\n\na\n\nb"), ["\n\na\n\n", "b"]),
        (by_separator("a;b", ";"), ["a;", "b"]),
        (by_sentence("Dr. No has 3.5 kg. He eats? Yes!\nEnd"),
         ["Dr. No has 3.5 kg.", " He eats?", " Yes!\n", "End"]),
        (by_sentence("1. Add.\n2. Stop."), ["1. Add.\n", "2. Stop."]),
        (by_number("Step 1: a\n  Step 2: b\n(3) c\n4.5 is no step"),
         ["Step 1: a\n", "  Step 2: b\n", "(3) c\n4.5 is no step"]),
        (by_tag("\n<a>1</a>\n<b>2</b> end", ["a", "b"]), ["\n<a>1</a>\n", "<b>2</b>", " end"]),
        (by_tag("<a>never closed <b>2</b>", ["a", "b"]), ["<a>never closed ", "<b>2</b>"]),
        (by_tag("<a><b></b></a>", ["a", "b"]), ["<a><b></b></a>"]),
        (by_size("abcd", 2), ["ab", "cd"]),
        (Segmentation.from_steps(["a", "b"], joiner=""), ["a", "b"]),
        (by_separator(""), []),
    ],
)  # fmt: skip
def test_where_steps_begin(made, texts):
    assert list(made) == texts


def test_tagged_and_spoken_steps_have_names():
    assert by_tag("\n<a>1</a>\n<b>2</b> end", ["a", "b"]).names == ("a", "b", None)
    chat = [
        {"role": "assistant", "content": "look"},
        {"role": "tool", "content": [{"type": "text", "text": "42"}]},
        {"role": "assistant", "content": None},
        {"role": "assistant", "content": "42!"},
    ]
    steps = by_turn(chat)
    assert list(zip(steps.names, steps)) == [
        ("assistant", "look"), ("tool", "42"), ("assistant", "42!"),
    ]  # fmt: skip


def test_entropy_cuts_give_each_step_as_many_uncertain_tokens():
    rng = random.Random(0)
    text = "x" * 200
    offsets = [(t, t + 1) for t in range(200)]
    entropies = [rng.random() for _ in offsets]
    steps = by_entropy(text, offsets, entropies, spans=5, threshold=0.6)
    held = [sum(e >= 0.6 for e in entropies[a:b]) for a, b in steps.spans]
    assert len(held) == 5
    assert max(held) - min(held) <= 1
    assert list(by_entropy(text, offsets, [0.0] * 200, spans=5, threshold=0.6)) == [text]


def owner_by_definition(steps, offsets):
    """The step of a token's last character, read off one by one."""
    found = []
    for start, end in offsets:
        inside = [k for k, (a, b) in enumerate(steps.spans) if a < end <= b]
        found.append(inside[0] if end > start and inside else -1)
    return found


@given(st.lists(st.integers(1, 4), min_size=1, max_size=12), st.data())
def test_a_token_across_two_steps_belongs_to_the_later_one(widths, data):
    size = sum(widths)
    starts = [sum(widths[:i]) for i in range(len(widths))]
    offsets = [(a, a + w) for a, w in zip(starts, widths)]
    cuts = data.draw(st.sets(st.integers(1, max(size - 1, 1))))
    steps = Segmentation("x" * size, (0, *sorted(c for c in cuts if c < size), size))
    padded = [(0, 0)] * data.draw(st.integers(0, 2)) + offsets + [(0, 0)]
    tokens = steps.project(padded)
    assert tokens.owners() == owner_by_definition(steps, padded)
    assert sum(tokens.counts) == len(offsets)
    assert tokens.length == len(padded)
    assert offsets_from_starts(starts, size) == offsets


def test_tokens_of_a_real_tokenizer_are_found_with_multi_byte_text_and_line_ends():
    tokenizers = needs("tokenizers")
    texts = ["Let ε → 0.\r\n\r\nDann: größer 😀😀 als 1.\n\n因此 x = 3."] * 4
    made = tokenizers.Tokenizer(tokenizers.models.BPE())
    made.pre_tokenizer = tokenizers.pre_tokenizers.ByteLevel(add_prefix_space=False)
    trainer = tokenizers.trainers.BpeTrainer(
        vocab_size=300,
        initial_alphabet=tokenizers.pre_tokenizers.ByteLevel.alphabet(),
        show_progress=False,
    )
    made.train_from_iterator(texts, trainer)
    encoded = made.encode(texts[0])
    steps = by_separator(texts[0])
    tokens = steps.project(encoded.offsets)
    assert len(steps) == 3
    assert len(encoded.offsets) > 20
    assert tokens.owners() == owner_by_definition(steps, encoded.offsets)


def test_what_does_not_fit_is_refused():
    for bounds in [(0, 2), (1, 3), (0, 2, 2, 3), ()]:
        with pytest.raises(ConfigError, match="rise"):
            Segmentation("abc", bounds)
    with pytest.raises(ConfigError, match="names"):
        Segmentation("abc", (0, 3), ("a", "b"))
    for call in [
        lambda: by_separator("a", ""),
        lambda: by_size("a", 0),
        lambda: by_tag("a", ["<x>"]),
        lambda: by_tag("a", []),
        lambda: by_entropy("a", [(0, 1)], [], spans=2, threshold=0),
        lambda: by_entropy("a", [(0, 1)], [1.0], spans=0, threshold=0),
        lambda: Segmentation.from_steps(["a", ""], joiner=""),
    ]:
        with pytest.raises(ConfigError):
            call()


def test_a_step_without_tokens_is_empty_and_counts_stay_whole():
    tokens = Segmentation("abc", (0, 1, 3)).project([(0, 3)])
    assert tokens == StepTokens((0, 0, 1), 1)
    assert tokens.counts == (0, 1)
    assert tokens.last == (0, 0)


def test_blank_and_huge_texts_take_time_in_proportion():
    for text in ["\n" * 200_000, "<a>" * 60_000, "a\n\n" * 60_000, "1. " * 60_000]:
        for build in BUILDERS.values():
            assert "".join(build(text)) == text
