"""Parquet and Hugging Face datasets, against the real libraries."""

import datetime
import json

import pytest

from rewardkit.datasets import RowSource, read_rows, write_rows
from rewardkit.errors import DataError
from tests._needs import needs

pa = needs("pyarrow")
parquet = needs("pyarrow.parquet")

CHAT = [{"role": "assistant", "content": "4"}]


def read(path):
    return [row.columns for row in read_rows(path)]


def test_rows_of_many_row_groups_arrive_in_order(tmp_path):
    rows = [{"completion": f"c{i}", "reference": str(i), "n": i} for i in range(2000)]
    parquet.write_table(pa.Table.from_pylist(rows), tmp_path / "r.parquet", row_group_size=300)
    source = RowSource(tmp_path / "r.parquet")
    assert [row.columns for row in source] == rows
    assert source.fraction() == 1.0


def test_chats_rollouts_and_nested_references_are_read(tmp_path):
    rows = [
        {"completion": [CHAT, CHAT], "reference": "4", "at": datetime.datetime(2026, 1, 2)},
    ]
    parquet.write_table(pa.Table.from_pylist(rows), tmp_path / "r.parquet")
    first, second = read_rows(tmp_path / "r.parquet")
    assert (first.completion, first.rollout, second.rollout) == (CHAT, 0, 1)
    assert first.columns["at"] == datetime.datetime(2026, 1, 2)


def test_written_rows_come_back(tmp_path):
    rows = [{"completion": "a", "reference": {"x": [1, 2]}, "n": 1.5}] * 3000
    write_rows(tmp_path / "r.parquet", rows)
    assert read(tmp_path / "r.parquet") == rows


@pytest.mark.parametrize(
    "values",
    [
        [1, "one"],
        ["a", ["b"]],
        [{}, {}],
        [10**30, 1],
        [[{}], [{}]],
        [2**60 + 1, 0.5],
        [True, "true"],
    ],
)
@pytest.mark.parametrize("gap", [0, 2000])
def test_a_column_that_fits_no_type_is_written_as_json_text(tmp_path, values, gap):
    rows = [{"completion": "", "reference": value} for value in values]
    rows[1:1] = [{"completion": "", "reference": None}] * gap
    write_rows(tmp_path / "r.parquet", rows)
    texts = [row["reference"] for row in read(tmp_path / "r.parquet")]
    assert [json.loads(text) for text in texts] == [row["reference"] for row in rows]


def test_types_of_later_rows_widen_earlier_ones(tmp_path):
    rows = [{"completion": "", "reference": 1}] * 1500 + [
        {"completion": "", "reference": 1.5, "late": "x"}
    ]
    write_rows(tmp_path / "r.parquet", rows)
    back = read(tmp_path / "r.parquet")
    assert back[0] == {"completion": "", "reference": 1.0, "late": None}
    assert back[-1] == rows[-1]


def test_lone_surrogates_which_parquet_cannot_hold_are_replaced(tmp_path):
    rows = [{"completion": "a\ud800b", "reference": ["\udfff", "😀\x00"]}]
    write_rows(tmp_path / "r.parquet", rows)
    assert read(tmp_path / "r.parquet") == [
        {"completion": "a\ufffdb", "reference": ["\ufffd", "😀\x00"]}
    ]


def test_what_is_no_parquet_is_one_clear_error(tmp_path):
    (tmp_path / "r.parquet").write_bytes(b"PAR1 not really")
    with pytest.raises(DataError, match="not a readable Parquet file"):
        read_rows(tmp_path / "r.parquet")


@pytest.fixture
def hf():
    return needs("datasets")


def test_a_hugging_face_dataset_is_read(tmp_path, hf):
    rows = [{"completion": CHAT, "reference": str(i)} for i in range(600)]
    hf.Dataset.from_list(rows).save_to_disk(tmp_path / "data")
    assert read(tmp_path / "data") == rows


def test_a_split_is_chosen_by_name(tmp_path, hf):
    rows = {
        name: hf.Dataset.from_list([{"completion": name, "reference": ""}])
        for name in ("train", "test")
    }
    hf.DatasetDict(rows).save_to_disk(tmp_path / "data")
    [row] = read_rows(tmp_path / "data", split="test")
    assert row.completion == "test"
    with pytest.raises(DataError, match=r"test, train.*--split"):
        read_rows(tmp_path / "data")
    with pytest.raises(DataError, match="no split 'dev'; there are: test, train"):
        read_rows(tmp_path / "data", split="dev")


def test_the_only_split_needs_no_name(tmp_path, hf):
    only = hf.Dataset.from_list([{"completion": "x", "reference": ""}])
    hf.DatasetDict({"train": only}).save_to_disk(tmp_path / "data")
    assert read(tmp_path / "data") == [{"completion": "x", "reference": ""}]


def test_a_split_of_a_file_is_a_mistake(tmp_path):
    (tmp_path / "rows.jsonl").write_text("")
    with pytest.raises(DataError, match="leave --split away"):
        read_rows(tmp_path / "rows.jsonl", split="train")
