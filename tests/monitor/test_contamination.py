"""The probe: a model that knows a prompt completes it, and one that does not, does not."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rewardkit.errors import ConfigError
from rewardkit.monitor import probe_contamination, split_prompt
from rewardkit.noise import wilson_interval

PROMPTS = [f"Question {i} asks how many of the {i} red boxes hold {i * 7} balls" for i in range(20)]


def knows(prompts):
    """A sampler that knows some prompts by heart and writes something else for others."""

    def sampler(texts, /, *, max_chars):
        return [
            next((p[len(t) :] for p in prompts if p.startswith(t)), " and so on, and so on")
            for t in texts
        ]

    return sampler


def test_the_rate_is_the_share_that_is_known_by_heart():
    found = probe_contamination(PROMPTS, knows(PROMPTS[:7]), batch_size=3)
    assert (found.verbatim, len(found.rows), found.skipped) == (7, 20, 0)
    assert found.rate == 0.35
    assert found.interval == wilson_interval(7, 20)


def test_what_goes_on_after_the_prompt_and_wide_spaces_do_not_matter():
    def sampler(texts, /, *, max_chars):
        return [
            "\n" + text.replace(" ", "  ") + "? The answer is 7."
            for text in knows(PROMPTS)(texts, max_chars=max_chars)
        ]

    found = probe_contamination([p + "s now" for p in PROMPTS], knows([]))
    assert found.rate == 0
    rate = probe_contamination(PROMPTS, lambda t, /, *, max_chars: [
        s.replace("?", " ?") for s in sampler(t, max_chars=max_chars)]).rate  # fmt: skip
    assert rate == 1


def test_the_overlap_is_the_longest_common_subsequence():
    prompt = "one two three four five six seven eight nine ten"
    found = probe_contamination(
        [prompt], lambda texts, /, *, max_chars: ["six other eight ten"], share=0.5
    )
    assert found.overlap == pytest.approx(3 / 5)
    assert found.rate == 0


@given(st.text(), st.floats(0.05, 0.95))
def test_the_parts_of_a_prompt_are_the_prompt(text, share):
    parts = split_prompt(text, share=share, min_words=1)
    if parts is not None:
        assert "".join(parts) == text.rstrip()
        assert all(part.split() for part in parts)


def test_short_prompts_are_left_out_and_said():
    found = probe_contamination(["What is 2 + 2?"], knows([]))
    assert (found.rate, found.skipped, found.overlap) == (None, 1, None)


def test_impossible_options_and_samplers_are_refused():
    for options in ({"share": 1.0}, {"min_words": 0}, {"batch_size": 0}):
        with pytest.raises(ConfigError):
            probe_contamination(PROMPTS, knows([]), **options)
    with pytest.raises(ConfigError, match="one text"):
        probe_contamination(PROMPTS, lambda texts, /, *, max_chars: ["x"])
