"""Turns and threads: Gaussians, asking first, and the longest path."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rewardkit.errors import ConfigError
from rewardkit.shaping import (
    DC_COT,
    Acceleration,
    ClarifyPause,
    LongestPathPenalty,
    ToolTurns,
    path_lengths,
)
from rewardkit.shaping.base import Row
from tests._needs import needs
from tests.shaping.examples import texts


@given(calls=st.integers(0, 12), mean=st.floats(0, 6), deviation=st.floats(0.5, 4))
def test_the_gaussian_is_scipys_scaled_to_1(calls, mean, deviation):
    norm = needs("scipy.stats").norm(mean, deviation)
    found = ToolTurns(mean=mean, deviation=deviation)(["<tool_call>" * calls])
    assert found == pytest.approx([norm.pdf(calls) / norm.pdf(mean)])


def test_it_rises_to_the_mean_and_falls_after_it():
    values = ToolTurns(mean=3, deviation=2)(["<tool_call>" * n for n in range(8)])
    assert values[:4] == sorted(values[:4])
    assert values[3:] == sorted(values[3:], reverse=True)
    assert values[3] == 1.0


def test_right_and_wrong_answers_may_have_curves_of_their_own():
    shaper = ToolTurns(mean=1, deviation=1, wrong_mean=3, wrong_deviation=2)
    found = shaper(["<tool_call>"] * 3, correct=[1.0, 0.0, None])
    assert found == [1.0, math.exp(-0.5), None]


def test_calls_of_a_chat_are_counted_where_the_model_speaks():
    chat = [
        {"role": "assistant", "content": "", "tool_calls": [{"name": "f"}, {"name": "g"}]},
        {"role": "tool", "content": "<tool_call>"},
        {"role": "assistant", "content": "<tool_call>f</tool_call>"},
        {"role": "assistant", "content": "4", "tool_calls": None},
    ]
    assert ToolTurns(mean=0, deviation=1).calls(Row(chat, {})) == 3


def say(*turns):
    return [{"role": "assistant", "content": text} for text in turns]


ASK, WRONG, RIGHT = "Not enough information.", "It is 5.", "It is 4."


@pytest.mark.parametrize(
    ("turns", "missing", "score", "value"),
    [
        ((ASK, RIGHT), True, 1.0, 0.3 + 0.7),
        ((WRONG, ASK, RIGHT), True, 1.0, 0.3 * 0.3 + 0.7),
        ((ASK, WRONG), True, 0.0, 0.3),
        ((ASK, WRONG, WRONG), True, 0.0, 0.3 - 0.5 * 0.5),
        ((ASK, ASK), True, 1.0, 0.3 - 0.7 * 2),
        ((RIGHT,), True, 1.0, -1.0),
        ((ASK,), True, 1.0, 0.3),
        ((ASK, RIGHT), False, 1.0, -1.0),
        ((RIGHT,), False, 1.0, 1.0),
        ((WRONG, WRONG), False, 0.0, -0.25),
    ],
)
def test_the_stages_of_clarifying_are_the_published_ones(turns, missing, score, value):
    found = ClarifyPause()([say(*turns)], premise_missing=[missing], correct=[score])
    assert found == pytest.approx([value])


@given(turn=st.integers(0, 4), low=st.floats(0, 1), more=st.floats(0, 1))
def test_asking_later_and_answering_worse_never_pay_more(turn, low, more):
    shaper = ClarifyPause()
    soon, late = say(*[WRONG] * turn, ASK, RIGHT), say(*[WRONG] * (turn + 1), ASK, RIGHT)
    one, other = shaper([soon, late], premise_missing=[True] * 2, correct=[low] * 2)
    assert one >= other
    better = min(1.0, low + more)
    one, other = shaper([soon, soon], premise_missing=[True] * 2, correct=[low, better])
    assert one <= other


def test_a_string_is_one_turn():
    found = ClarifyPause()([ASK, RIGHT], premise_missing=[True, None], correct=[1.0, 1.0])
    assert found == pytest.approx([0.3, None])


# Threads

IDS = {"open": (100,), "close": (101,), "thread": (102, 104), "end": (103,)}


def longest_by_hand(sequential, blocks):
    """Every path takes one thread of each block; the longest of all combinations."""
    paths = [sequential]
    for threads in blocks:
        marks = 2 * len(threads)
        paths = [path + marks + one for path in paths for one in (threads or [0])]
    return max(paths)


@given(
    parts=st.lists(
        st.tuples(st.integers(0, 5), st.lists(st.integers(0, 9), max_size=3)), max_size=3
    )
)
def test_the_longest_path_is_the_longest_of_all_paths(parts):
    ids, sequential = [], 0
    for before, threads in parts:
        ids += [1] * before + [100]
        for size in threads:
            ids += [102] + [2] * size + [103]
        ids += [101]
        sequential += before + 2
    shaper = LongestPathPenalty(max_length=10, buffer=5, token_ids=IDS, correct=None)
    found = shaper.lengths(Row("", {"completion_ids": ids}))
    assert found.total == len(ids)
    assert found.longest == longest_by_hand(sequential, [threads for _, threads in parts])
    assert found.blocks == len(parts)
    assert found.threads == sum(len(threads) for _, threads in parts)


@given(text=texts)
def test_no_path_is_longer_than_the_text_and_without_blocks_it_is_the_text(text):
    found = Acceleration().lengths(Row(text, {}))
    assert 0 <= found.longest <= found.total == len(text)
    assert 0 <= found.acceleration < 1 or not text
    if "<Parallel>" not in text:
        assert found.longest == found.total


@pytest.mark.parametrize(
    ("pieces", "longest"),
    [
        # What is open at the end ends there.
        ([("open", 1), ("thread", 1), ("", 5), ("end", 1), ("thread", 1), ("", 9)], 13),
        # A mark within its own kind, or where it cannot be, is text.
        ([("open", 1), ("thread", 1), ("thread", 1), ("close", 1), ("end", 1), ("close", 1)], 6),
        ([("thread", 1), ("", 4), ("end", 1), ("close", 1)], 7),
        ([("open", 1), ("open", 1), ("", 2), ("close", 1), ("", 3)], 8),
    ],
)
def test_marks_that_do_not_fit_are_text(pieces, longest):
    assert path_lengths(pieces).longest == longest


def test_dc_cots_workers_are_threads():
    text = "<spawn_workers><worker_1>aaaa</worker_1><worker_2>bb</worker_2></spawn_workers>"
    found = LongestPathPenalty(max_length=9, buffer=0, grammar=DC_COT).lengths(Row(text, {}))
    assert (found.total, found.longest, found.threads) == (len(text), len(text) - 2, 2)


def spell(*threads, before=""):
    inside = "".join(f"<Thread>{thread}</Thread>" for thread in threads)
    return f"{before}<Parallel>{inside}</Parallel>"


@given(long=st.integers(0, 60), short=st.integers(0, 60), more=st.integers(0, 60))
def test_only_the_longest_thread_costs(long, short, more):
    shaper = LongestPathPenalty(max_length=120, buffer=80, correct=None, factor=0.9)
    short = min(short, long)
    base, filled, longer = shaper(
        [
            spell("a" * long, "b" * short),
            spell("a" * long, "b" * long),
            spell("a" * (long + more), "b" * short),
        ]
    )
    assert base == filled >= longer


def test_the_penalty_is_dc_cots():
    # Its code: min(-(length - (max - buffer)) / buffer * factor, 0), where no text passes max.
    for size in (40, 80, 100, 120):
        wanted = min(-(size - (120 - 80)) / 80 * 0.9, 0)
        shaper = LongestPathPenalty(max_length=120, buffer=80, factor=0.9)
        assert shaper(["a" * size], correct=[1.0]) == pytest.approx([wanted])
        assert shaper(["a" * size], correct=[0.0]) == [0.0]


def test_acceleration_is_for_right_answers_and_clipped():
    text = spell("a" * 100, "b" * 100)
    lengths = Acceleration().lengths(Row(text, {}))
    share = 1 - (len(text) - 100) / len(text)
    assert lengths.acceleration == pytest.approx(share)
    found = Acceleration(clip=1.0, scale=2.0)([text] * 3, correct=[1.0, 0.5, None])
    assert found == [pytest.approx(2 * share), 0.0, None]
    assert Acceleration(clip=0.1)([text], correct=[1.0]) == [0.1]


@given(size=st.integers(0, 50), more=st.integers(0, 50))
def test_the_known_flaw_of_acceleration_is_as_documented(size, more):
    # Words that fill the shorter thread are paid: a larger total at the same longest path.
    shaper = Acceleration(clip=1.0)
    short, filled = min(size, 50), min(size + more, 50)
    one, other = shaper([spell("a" * 50, "b" * short), spell("a" * 50, "b" * filled)],
                        correct=[1.0, 1.0])  # fmt: skip
    assert one <= other


@pytest.mark.parametrize(
    ("kind", "options"),
    [
        (ToolTurns, {"mean": 1, "deviation": 0}),
        (ToolTurns, {"mean": 1, "deviation": 1, "wrong_deviation": -1}),
        (ToolTurns, {"mean": 1, "deviation": 1, "mark": ""}),
        (ClarifyPause, {"asks": ()}),
        (ClarifyPause, {"decay": 2}),
        (Acceleration, {"clip": 2}),
        (Acceleration, {"token_ids": {"open": (1,)}}),
        (LongestPathPenalty, {"max_length": 0, "buffer": 0}),
    ],
)
def test_an_option_that_cannot_be_is_refused(kind, options):
    with pytest.raises(ConfigError):
        kind(**options)
