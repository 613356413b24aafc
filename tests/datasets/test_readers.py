"""Every kind of data file is the same stream of rows."""

import gzip
import json
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rewardkit.datasets import Columns, RowSource, read_rows, write_rows
from rewardkit.engines import install_command
from rewardkit.errors import DataError, EngineMissingError

ROWS = [
    {"completion": "so 4", "reference": "4", "id": 1, "meta": {"a": [1, None, "x"]}},
    {"completion": None, "reference": "½", "id": 2, "meta": {"a": []}},
    {"completion": "", "reference": "b", "id": 3, "meta": None},
]


def write_json(path: Path, text: str | bytes) -> Path:
    data = text if isinstance(text, bytes) else text.encode("utf-8", "surrogatepass")
    path.write_bytes(gzip.compress(data) if path.suffix == ".gz" else data)
    return path


def lines(rows=ROWS):
    return "".join(json.dumps(row) + "\n" for row in rows)


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("rows.jsonl", lines()),
        ("rows.ndjson", lines()),
        ("rows.jsonl.gz", lines()),
        ("rows.json", json.dumps(ROWS)),
        ("rows.json", "\n \n" + json.dumps(ROWS, indent=2) + "\n\n"),
        ("rows.json", lines()),
        ("rows.json.gz", json.dumps(ROWS)),
        ("rows.jsonl", lines().replace("\n", "\r\n")),
        ("rows.jsonl", "\ufeff" + lines()),
        ("rows.jsonl", "\n\n" + lines().replace("\n", "\n\n")),
        ("rows.jsonl", lines().rstrip("\n")),
        ("ROWS.JSONL", lines()),
    ],
)
def test_json_in_every_dress_gives_the_same_rows(tmp_path, name, text):
    rows = list(read_rows(write_json(tmp_path / name, text)))
    assert [row.columns for row in rows] == ROWS
    assert [row.position for row in rows] == [0, 1, 2]
    assert [row.completion for row in rows] == ["so 4", None, ""]
    assert rows[0].context == {"id": 1, "meta": {"a": [1, None, "x"]}}


@pytest.mark.parametrize("name", ["rows.jsonl", "rows.json", "rows.jsonl.gz"])
def test_an_empty_file_has_no_rows(tmp_path, name):
    assert list(read_rows(write_json(tmp_path / name, ""))) == []


def test_an_empty_array_has_no_rows(tmp_path):
    assert list(read_rows(write_json(tmp_path / "rows.json", " [ ] \n"))) == []


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (lines() + "{broken\n", "rows.jsonl:4: not valid JSON"),
        (lines() + "[1, 2]\n", "rows.jsonl:4: a row must be a JSON object, not a list"),
        (lines() + "\n\n" + '{"completion": "x"}\n', "rows.jsonl:6: no column 'reference'"),
        (lines().encode() + b'{"a": "\xff"}\n', "rows.jsonl:4: not UTF-8 text (byte 7"),
        (lines() + "[" * 100_000 + "\n", "rows.jsonl:4: the JSON is nested too deep"),
        (lines() + '{"reference": ' + "9" * 5000 + "}\n", "rows.jsonl:4: not valid JSON: Exceeds"),
        (lines() + "\0" * 100, "rows.jsonl:4: not valid JSON"),
        (
            '{"completion": 3, "reference": "3"}',
            "rows.jsonl:1: the completion in 'completion' is a",
        ),
        (lines().encode("utf-16"), "UTF-16"),
    ],
)
def test_a_bad_line_is_named(tmp_path, text, message):
    with pytest.raises(DataError) as caught:
        list(read_rows(write_json(tmp_path / "rows.jsonl", text)))
    assert message in str(caught.value)


def test_a_missing_column_lists_those_that_exist(tmp_path):
    file = write_json(tmp_path / "rows.jsonl", lines())
    with pytest.raises(DataError, match=r"completion, id, meta, reference.*--completion-column"):
        list(read_rows(file, columns=Columns(completion="response")))


def test_bad_rows_can_be_collected_and_the_others_keep_their_places(tmp_path):
    text = '{"completion": "a", "reference": "b"}\n{oops\n{"completion": 1}\n' + lines()
    errors: list[DataError] = []
    file = write_json(tmp_path / "rows.jsonl", text)
    rows = list(read_rows(file, on_bad_row=errors.append))
    assert [row.position for row in rows] == [0, 3, 4, 5]
    assert [str(error)[:12] for error in errors] == ["rows.jsonl:2", "rows.jsonl:3"]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('[{"completion": "a", "reference": "b"}', "expected ',' or ']'"),
        ('[{"completion": "a", "reference": "b"} {}]', "expected ',' or ']'"),
        ('[{"completion": "a", "reference": "b"}] x', "after the end"),
        ('[\n{"completion": "a", "reference": "b"},\n{"c', "rows.json:3: not valid JSON"),
        ("[\n{},]", "rows.json:2"),
        ("[" * 100_000, "nested too deep"),
    ],
)
def test_a_broken_array_is_named(tmp_path, text, message):
    with pytest.raises(DataError) as caught:
        list(read_rows(write_json(tmp_path / "rows.json", text)))
    assert message in str(caught.value)


@pytest.mark.parametrize("letter", ["a", "é", "漢", "😀"])
def test_an_array_longer_than_a_read_is_cut_nowhere(tmp_path, letter):
    rows = [{"completion": letter * n, "reference": str(n)} for n in (3, 1_400_001, 5, 700_000)]
    file = write_json(tmp_path / "rows.json", json.dumps(rows, ensure_ascii=False))
    assert [row.columns for row in read_rows(file)] == rows


@pytest.mark.parametrize("name", ["rows.jsonl", "rows.json"])
def test_hostile_text_arrives_unchanged(tmp_path, name):
    texts = ["\ud800", "\x00", "\u202e", "x" * 1_000_000, "\u2028\x85", "</script>", "😀"]
    rows = [{"completion": text, "reference": text} for text in texts]
    escaped = json.dumps(rows[0])
    raw = "".join(f",{json.dumps(row, ensure_ascii=False)}" for row in rows[1:])
    text = f"[{escaped}{raw}]" if name == "rows.json" else f"{escaped}{raw}".replace(",{", "\n{")
    assert [row.completion for row in read_rows(write_json(tmp_path / name, text))] == texts


def test_raw_control_characters_and_raw_surrogates_in_strings_are_read(tmp_path):
    text = '{"completion": "a\x00\x1b\ud800", "reference": ""}\n'
    [row] = read_rows(write_json(tmp_path / "rows.jsonl", text))
    assert row.completion == "a\x00\x1b\ud800"


def test_cut_off_gzip_is_one_clear_error(tmp_path):
    file = tmp_path / "rows.jsonl.gz"
    file.write_bytes(gzip.compress(lines().encode())[:-12])
    with pytest.raises(DataError, match="damaged or cut off"):
        list(read_rows(file))


@pytest.mark.parametrize(
    ("name", "message"),
    [("no.jsonl", "no such file"), ("rows.csv", "unknown kind"), ("folder", "save_to_disk")],
)
def test_what_is_no_data_file_is_refused_with_advice(tmp_path, name, message):
    (tmp_path / "rows.csv").write_text("a,b\n")
    (tmp_path / "folder").mkdir()
    with pytest.raises(DataError, match=message):
        read_rows(tmp_path / name)


def test_the_share_read_grows_to_one(tmp_path):
    file = write_json(tmp_path / "rows.jsonl", lines(ROWS * 20_000))
    source = RowSource(file)
    shares = [source.fraction() for _ in source]
    assert shares == sorted(shares)
    assert 0.2 < shares[len(shares) // 2] < 0.8
    assert source.fraction() == 1.0


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=6,
)
any_text = st.text(st.characters(exclude_categories=())).map(str)
rows_to_write = st.lists(
    st.fixed_dictionaries({"completion": st.none() | any_text, "reference": json_values}).flatmap(
        lambda row: st.dictionaries(any_text, json_values, max_size=3).map(lambda more: more | row)
    ),
    max_size=5,
)


@given(rows_to_write)
def test_rows_come_back_from_json_lines_as_they_were(tmp_path_factory, rows):
    file = tmp_path_factory.mktemp("rows") / "rows.jsonl"
    write_rows(file, rows)
    assert [row.columns for row in read_rows(file)] == rows
    assert file.read_bytes().count(b"\n") == len(rows)


@given(rows_to_write)
def test_rows_come_back_from_a_json_array_as_they_were(tmp_path_factory, rows):
    file = tmp_path_factory.mktemp("rows") / "rows.json"
    file.write_text(json.dumps(rows, indent=1))
    assert [row.columns for row in read_rows(file)] == rows


def test_parquet_without_pyarrow_says_how_to_install_it(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    (tmp_path / "rows.parquet").write_bytes(b"PAR1")
    with pytest.raises(EngineMissingError) as caught:
        read_rows(tmp_path / "rows.parquet")
    assert caught.value.install == install_command("data")


def test_a_saved_dataset_without_the_library_says_how_to_install_it(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "datasets", None)
    (tmp_path / "state.json").write_text("{}")
    with pytest.raises(EngineMissingError) as caught:
        read_rows(tmp_path)
    assert caught.value.install == install_command("data")
