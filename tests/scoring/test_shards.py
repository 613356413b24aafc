"""Shards and pieces: every record in exactly one of them, whatever was done before."""

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rewardkit.datasets.rows import Columns
from rewardkit.errors import ConfigError, DataError
from rewardkit.scoring import read_scored
from rewardkit.scoring._pieces import cut_pieces, pieces_done
from rewardkit.scoring._shards import (
    Shard,
    ShardReading,
    check_shard,
    find_shards,
    finish_shard,
    is_sharded,
)
from rewardkit.scoring.scored import ScoredColumns, scored_row
from rewardkit.verdict import Reason, Verdict


def reading_in(folder: Path, *, skips: bool = False) -> ShardReading:
    return ShardReading(Columns(), ScoredColumns(), skips, folder)


def make_shard(folder: Path, lines: list[str]) -> Shard:
    path = folder / "in.jsonl"
    path.write_text("".join(line + "\n" for line in lines))
    return Shard(path, folder / "out" / "in.jsonl", max(path.stat().st_size, 1))


def rows(count: int) -> list[str]:
    return [json.dumps({"completion": f"c{i}", "reference": f"r{i}"}) for i in range(count)]


def keep(reading: ShardReading, piece) -> None:
    """Writes a piece as an actor does."""
    verdict = Verdict(1.0, Reason.MATCH)
    lines = [json.dumps(scored_row(one, verdict, reading.added)) + "\n" for one in piece.rows]
    reading.file(piece.shard, piece.first, piece.stop).write_text("".join(lines))


@pytest.fixture
def place(tmp_path):
    (tmp_path / "out").mkdir()
    (tmp_path / "pieces").mkdir()
    return tmp_path


def test_a_folder_or_a_pattern_is_many_files_and_a_dataset_folder_is_one(tmp_path):
    (tmp_path / "a.jsonl").write_text("")
    assert is_sharded(tmp_path)
    assert is_sharded(tmp_path / "*.jsonl")
    assert not is_sharded(tmp_path / "a.jsonl")
    odd = tmp_path / "a[1].jsonl"
    odd.write_text("")
    assert not is_sharded(odd)  # it is there under this very name
    (tmp_path / "state.json").write_text("{}")
    assert not is_sharded(tmp_path)


def test_shards_are_found_by_name_and_keep_their_kind(tmp_path):
    for name in ("b.parquet", "a.json", "c.jsonl.gz", "_SUCCESS", ".hidden.jsonl"):
        (tmp_path / name).write_text("")
    found = find_shards(tmp_path, Path("scored"))
    assert [one.path.name for one in found] == ["a.json", "b.parquet", "c.jsonl.gz"]
    assert [one.out.name for one in found] == ["a.jsonl", "b.parquet", "c.jsonl.gz"]


def test_what_cannot_be_read_or_would_collide_is_named(tmp_path):
    with pytest.raises(DataError, match="no files"):
        find_shards(tmp_path / "*.parquet", tmp_path)
    (tmp_path / "notes.txt").write_text("")
    with pytest.raises(DataError, match=r"notes\.txt: unknown kind"):
        find_shards(tmp_path, tmp_path)
    for name in ("x", "y"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "part.jsonl").write_text("")
    with pytest.raises(ConfigError, match="both be scored"):
        find_shards(tmp_path / "*" / "part.jsonl", tmp_path)


@st.composite
def shard_lines(draw) -> list[str]:
    """Rows with one completion or several, blank lines and broken ones among them."""
    kinds = draw(st.lists(st.sampled_from(["one", "many", "broken", "blank"]), max_size=30))
    made = {
        "one": json.dumps({"completion": "c", "reference": "r"}),
        "many": json.dumps({"completion": ["a", "b", "c"], "reference": "r"}),
        "broken": "{",
        "blank": "",
    }
    return [made[kind] for kind in kinds]


@given(lines=shard_lines(), size=st.integers(1, 7), data=st.data())
def test_pieces_of_any_two_runs_cover_every_row_once(tmp_path_factory, lines, size, data):
    folder = tmp_path_factory.mktemp("shard")
    (folder / "out").mkdir()
    (folder / "pieces").mkdir()
    reading, shard = reading_in(folder / "pieces", skips=True), make_shard(folder, lines)
    *first, end = cut_pieces(reading, shard, [], size)
    assert end.is_last
    kept = data.draw(st.lists(st.sampled_from(first), unique_by=id)) if first else []
    for piece in kept:
        keep(reading, piece)
    done = pieces_done(reading, shard)
    *second, end = cut_pieces(reading, shard, done, data.draw(st.integers(1, 7)))
    for piece in second:
        keep(reading, piece)
    spans = pieces_done(reading, shard)
    assert sum(len(span) for span in spans) >= end.stop
    assert [b.start for b in spans[1:]] == [a.stop for a in spans[:-1]]
    checked = finish_shard(reading, shard, spans)
    whole = [candidate.row_id for candidate in reading.open(shard)]
    assert [row["row_id"] for row in read_scored(shard.out)] == whole
    assert checked.tally.rows == len(whole)
    assert checked.skipped == lines.count("{")


def test_what_a_killed_run_left_over_a_later_one_is_removed(place):
    reading, shard = reading_in(place / "pieces"), make_shard(place, rows(8))
    for first, stop in ((0, 4), (2, 6), (4, 8)):
        reading.file(shard, first, stop).write_text("")
    assert pieces_done(reading, shard) == [range(4), range(4, 8)]
    assert not reading.file(shard, 2, 6).exists()


def test_a_row_that_is_missing_or_another_is_found(place):
    reading, shard = reading_in(place / "pieces"), make_shard(place, rows(6))
    pieces = list(cut_pieces(reading, shard, [], 3))[:-1]
    for piece in pieces:
        keep(reading, piece)
    spans = pieces_done(reading, shard)
    with pytest.raises(DataError, match=r"in\.jsonl:4: this row is not in"):
        finish_shard(reading, shard, spans[:1])
    with pytest.raises(DataError, match="not the row"):
        finish_shard(reading, shard, spans[1:])
    assert not shard.out.exists()
    finish_shard(reading, shard, spans)
    assert check_shard(reading, shard).tally.rows == 6
    make_shard(place, [*rows(5), rows(7)[6]])
    with pytest.raises(DataError, match="changed"):
        check_shard(reading, shard)


def test_a_shard_that_cannot_be_read_says_where(place):
    shard = make_shard(place, [*rows(2), "{"])
    *_, last = cut_pieces(reading_in(place / "pieces"), shard, [], 10)
    assert last.is_last
    assert "in.jsonl:3" in str(last.error)
