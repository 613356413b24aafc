"""Rows are written completely or not at all."""

import gzip
import json

import pytest

from rewardkit.datasets import encode_line, read_rows, write_rows
from rewardkit.errors import DataError
from tests._needs import needs

ROWS = [{"completion": "a", "reference": "½"}, {"completion": None, "reference": [1, {"x": None}]}]


@pytest.mark.parametrize("name", ["out.jsonl", "out.ndjson", "out.jsonl.gz", "OUT.JSONL.GZ"])
def test_json_lines_hold_what_was_written(tmp_path, name):
    write_rows(tmp_path / name, ROWS)
    data = (tmp_path / name).read_bytes()
    text = (gzip.decompress(data) if name.lower().endswith("gz") else data).decode()
    assert [json.loads(line) for line in text.splitlines()] == ROWS


def test_the_same_rows_give_the_same_bytes_even_gzipped(tmp_path):
    write_rows(tmp_path / "a.jsonl.gz", ROWS)
    write_rows(tmp_path / "b.jsonl.gz", ROWS)
    assert (tmp_path / "a.jsonl.gz").read_bytes() == (tmp_path / "b.jsonl.gz").read_bytes()


@pytest.mark.parametrize("text", ["\ud800", "\x00", "\n\r\u2028", "😀", "\udfff😀"])
def test_a_line_is_one_line_of_valid_utf8(text):
    line = encode_line({"completion": text})
    assert line.count(b"\n") == 1
    assert json.loads(line.decode()) == {"completion": text}


def test_text_stays_readable():
    assert encode_line({"a": "漢 ½"}) == '{"a": "漢 ½"}\n'.encode()


@pytest.mark.parametrize(
    ("name", "message"),
    [("out.csv", "must end in"), ("no/out.jsonl", "does not exist"), ("folder.jsonl", "a folder")],
)
def test_a_name_that_cannot_be_written_is_refused_first(tmp_path, name, message):
    (tmp_path / "folder.jsonl").mkdir()
    with pytest.raises(DataError, match=message):
        write_rows(tmp_path / name, ROWS)


@pytest.mark.parametrize("name", ["out.jsonl", "out.parquet"])
def test_a_failure_leaves_the_old_file(tmp_path, name):
    if name.endswith("parquet"):
        needs("pyarrow")

    def rows():
        yield ROWS[0]
        raise RuntimeError("the source broke")

    write_rows(tmp_path / name, ROWS[:1])
    before = (tmp_path / name).read_bytes()
    with pytest.raises(RuntimeError):
        write_rows(tmp_path / name, rows)
    assert (tmp_path / name).read_bytes() == before
    assert list(tmp_path.iterdir()) == [tmp_path / name]


def test_parquet_values_that_json_does_not_know_become_plain_text(tmp_path):
    import datetime
    import decimal

    row = {
        "at": datetime.datetime(2026, 1, 2, 3, 4, 5),
        "day": datetime.date(2026, 1, 2),
        "price": decimal.Decimal("1.50"),
        "data": b"\x00\xff",
        "took": datetime.timedelta(seconds=1.5),
    }
    assert json.loads(encode_line(row)) == {
        "at": "2026-01-02T03:04:05",
        "day": "2026-01-02",
        "price": "1.50",
        "data": "AP8=",
        "took": 1.5,
    }
    with pytest.raises(TypeError, match="cannot be written as JSON"):
        encode_line({"x": object()})


def test_rows_may_be_a_function_that_yields_them(tmp_path):
    write_rows(tmp_path / "out.jsonl", lambda: iter(ROWS))
    assert [row.columns for row in read_rows(tmp_path / "out.jsonl")] == ROWS
