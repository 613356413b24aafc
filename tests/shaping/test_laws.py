"""What holds for every shaper."""

import dataclasses
import math
import pickle

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rewardkit import Reward
from rewardkit.errors import ConfigError
from rewardkit.reward import Shaper
from tests.shaping.examples import (
    ALL,
    OF_A_COMPLETION,
    OF_A_GROUP,
    PIECES,
    batches,
    columns_of,
    rows,
)

every = pytest.mark.parametrize("shaper", ALL.values(), ids=ALL)
of_a_completion = pytest.mark.parametrize("shaper", OF_A_COMPLETION.values(), ids=OF_A_COMPLETION)
of_a_group = pytest.mark.parametrize("shaper", OF_A_GROUP.values(), ids=OF_A_GROUP)
few = settings(max_examples=10)


def values_of(shaper, batch):
    return shaper([completion for completion, _ in batch], **columns_of(batch))


@every
@given(batch=batches)
@few
def test_a_value_is_a_number_of_the_declared_range(shaper, batch):
    low, high = shaper.range
    assert math.isfinite(low)
    assert math.isfinite(high)
    for value in values_of(shaper, batch):
        assert value is not None
        assert low - 1e-12 <= value <= high + 1e-12


@every
@given(batch=batches, data=st.data())
@few
def test_the_order_of_the_batch_does_not_matter(shaper, batch, data):
    order = data.draw(st.permutations(range(len(batch))))
    values = values_of(shaper, batch)
    again = values_of(shaper, [batch[place] for place in order])
    assert again == pytest.approx([values[place] for place in order], abs=1e-9)


@of_a_completion
@given(batch=batches)
@few
def test_neighbours_do_not_matter_to_what_looks_at_one_completion(shaper, batch):
    assert values_of(shaper, batch) == [values_of(shaper, [row])[0] for row in batch]


@of_a_group
@given(batch=batches, other=rows())
@few
def test_other_groups_do_not_matter_to_what_compares_one(shaper, batch, other):
    if shaper.group_column is None:
        return
    completion, columns = other
    alone = values_of(shaper, batch)
    beside = values_of(shaper, [*batch, (completion, {**columns, "prompt": "another"})])
    assert beside[:-1] == alone


@every
@given(batch=batches)
@few
def test_what_is_not_decided_stays_so(shaper, batch):
    if "correct" not in shaper.reads:
        return
    undecided = [(completion, {**columns, "correct": None}) for completion, columns in batch]
    decided = {"answerable": [True] * len(batch)}
    values = shaper([c for c, _ in undecided], **{**columns_of(undecided), **decided})
    assert values == [None] * len(batch)


@every
@given(batch=batches)
@settings(max_examples=5)
def test_it_can_be_pickled_and_keeps_no_state(shaper, batch):
    again = pickle.loads(pickle.dumps(shaper))
    assert again == shaper
    assert values_of(again, batch) == values_of(shaper, batch) == values_of(shaper, batch)


@every
def test_it_is_frozen_and_its_options_have_names(shaper):
    name = dataclasses.fields(shaper)[0].name
    with pytest.raises(dataclasses.FrozenInstanceError):
        setattr(shaper, name, 1)
    with pytest.raises(TypeError, match="positional"):
        type(shaper)(1)


@every
def test_it_is_a_component_of_a_reward(shaper):
    assert isinstance(shaper, Shaper)
    batch = [
        ("The answer is 4.", {}),
        ([{"role": "assistant", "content": "<think>2+2</think> 4"}], {}),
        (None, {}),
    ]
    columns = {
        "prompt": ["p"] * 3,
        "completion_ids": [[1, 2], [1, 2, 3], []],
        "correct": [1.0, 0.0, 0.0],
        "premise_missing": [True, False, True],
        "answerable": [True, False, True],
        "steps": [["2+2=4"]] * 3,
        "solve_rate": [0.5, 0.6, 0.7],
        "answer_gaps": [[0.5], [0.7, 0.8], []],
        "features": [[1.0, 0.0], [0.0, 1.0], [1.0, 1.0]],
    }
    completions = [completion for completion, _ in batch]
    result = Reward({"shaper": shaper}).score(completions, **columns)
    assert result.scores == shaper(completions, **columns)
    assert None not in result.scores


COLUMNS = {
    "prompt": ["p"],
    "completion_ids": [[1]],
    "correct": [0.0],
    "premise_missing": [True],
    "answerable": [True],
    "steps": [["1"]],
    "solve_rate": [0.5],
    "answer_gaps": [[0.5]],
    "features": [[1.0, 0.0]],
}
TEXT_ALONE = {
    "think", "tags", "tags share", "json", "json final", "json fence", "linear", "overlong",
    "repetition words", "repetition characters", "language", "language final", "longest path",
    "constraints",
}  # fmt: skip


@pytest.mark.parametrize("name", ALL)
def test_a_missing_column_is_named(name):
    if name in TEXT_ALONE:
        assert len(ALL[name](["x"])) == 1
    else:
        with pytest.raises(ConfigError, match=r"the column '.*' is not there"):
            ALL[name](["x"])


def hostile_text(size):
    """Every piece repeated, one after the other, and some that are hard on parsers."""
    hard = ['"\\', "<Parallel><Thread>", "a b ", "```\n", "[{", "<think></think>", "\ud800\0"]
    share = size // len([*PIECES, *hard])
    return "".join(piece * (share // max(len(piece), 1)) for piece in [*PIECES, *hard])


@every
def test_ten_megabytes_of_hostile_text_are_a_number_like_any(shaper):
    low, high = shaper.range
    [value] = shaper([hostile_text(10_000_000)], **COLUMNS)
    assert low <= value <= high


@every
@pytest.mark.parametrize(
    "completion",
    [
        None,
        "",
        [],
        [{}],
        [{"role": "assistant"}],
        [{"role": "assistant", "content": [{"type": "image"}, 7, None], "tool_calls": "x"}],
        [None, 7, "text"],
        {"role": "assistant"},
        7,
        b"\xff",
    ],
)
def test_any_object_is_a_completion(shaper, completion):
    low, high = shaper.range
    [value] = shaper([completion], **COLUMNS)
    assert low <= value <= high
