"""Which columns are graded, and how lists of rollouts become rows."""

import pytest

from rewardkit.datasets.rows import Columns, Record, expand_record, hash_content
from rewardkit.errors import DataError

CHAT = [{"role": "user", "content": "2+2?"}, {"role": "assistant", "content": "4"}]


def expand(data, **names):
    return list(expand_record(Record(7, "rows.jsonl:8", data), Columns(**names)))


@pytest.mark.parametrize("completion", ["4", "", None, CHAT, [], [{"content": "4"}]])
def test_one_completion_is_one_row(completion):
    [row] = expand({"completion": completion, "reference": "4", "id": "a"})
    assert (row.position, row.rollout, row.completion) == (7, None, completion)
    assert row.columns == {"completion": completion, "reference": "4", "id": "a"}


@pytest.mark.parametrize("completions", [["4", "5", None], [CHAT, CHAT[:1]], ["4"]])
def test_a_list_of_completions_is_one_row_each(completions):
    rows = expand({"completion": completions, "reference": "4", "id": "a"})
    assert [row.completion for row in rows] == completions
    assert [row.rollout for row in rows] == list(range(len(completions)))
    assert rows[0].columns == {
        "completion": completions[0],
        "reference": "4",
        "id": "a",
        "rollout": 0,
    }
    assert rows[0].context == {"id": "a"}


def test_a_taken_rollout_column_is_not_overwritten():
    data = {"completion": ["4"], "reference": "4", "rollout": 9}
    with pytest.raises(DataError, match="--rollout-column"):
        expand(data)
    [row] = expand(data, rollout="sample")
    assert (row.columns["rollout"], row.columns["sample"]) == (9, 0)


def test_nested_columns_are_named_by_a_path():
    data = {"out": {"text": ["a", "b"], "seed": 1}, "reward_model": {"ground_truth": "a"}}
    rows = expand(data, completion="out.text", reference="reward_model.ground_truth")
    assert [row.completion for row in rows] == ["a", "b"]
    assert [row.reference for row in rows] == ["a", "a"]
    assert [row.columns["out"] for row in rows] == [
        {"text": "a", "seed": 1},
        {"text": "b", "seed": 1},
    ]
    assert data["out"]["text"] == ["a", "b"]


def test_a_column_whose_name_has_a_dot_comes_before_a_path():
    data = {"a.b": "flat", "a": {"b": "nested"}, "reference": ""}
    assert expand(data, completion="a.b")[0].completion == "flat"


@pytest.mark.parametrize("completion", [3, 2.5, True, {"text": "4"}, [1, 2], ["4", {"x": 1}]])
def test_what_is_no_completion_is_refused(completion):
    with pytest.raises(DataError, match="list of chat messages"):
        expand({"completion": completion, "reference": "4"})


@pytest.mark.parametrize("name", ["answer", "meta.answer", "reference.x"])
def test_a_missing_column_is_named_with_its_option(name):
    with pytest.raises(DataError, match=rf"rows.jsonl:8: no column '{name}'.*--reference-column"):
        expand({"completion": "4", "reference": "4", "meta": {}}, reference=name)


def test_the_hash_depends_on_completion_and_reference_and_on_nothing_else():
    first = hash_content("4", {"a": 1, "b": "\ud800"})
    assert first == hash_content("4", {"b": "\ud800", "a": 1})
    assert first != hash_content("5", {"a": 1, "b": "\ud800"})
    assert first != hash_content("4", {"a": 2, "b": "\ud800"})
    assert len(first) == 16
