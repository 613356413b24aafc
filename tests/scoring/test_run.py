"""A scoring run writes each row once, whatever happens to it."""

import json
from pathlib import Path
from typing import Any

import pytest

from rewardkit import Verdict
from rewardkit.datasets import Columns
from rewardkit.errors import ConfigError, DataError
from rewardkit.runtime import WorkerPool
from rewardkit.scoring import read_scored, score_file
from tests._needs import needs
from tests.scoring.exact import ExactVerifier

CONFIG = {"verifier": "exact"}


def make_rows(count: int) -> list[dict[str, object]]:
    endings = ["four", "five", "unsure", "", "FOUR", "\ud800 four", "\x00", "😀 four"]
    return [
        {"id": i, "completion": f"{'so ' * (i % 3)}{endings[i % 8]}", "reference": "four"}
        for i in range(count)
    ]


def write(path: Path, rows) -> Path:
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


@pytest.fixture
def source(tmp_path):
    return write(tmp_path / "in.jsonl", make_rows(100))


def score(source, out, **options):
    options = {"config": CONFIG, **options}
    return score_file(options.pop("verifier", ExactVerifier()), source, out, **options)


def scored(path):
    """Returns the rows of a scored file without their times."""
    rows = list(read_scored(path))
    for row in rows:
        row["verdict"]["seconds"] = 0.0
    return rows


def stop_after(batches: int):
    calls = iter(range(batches))
    return lambda: next(calls, None) is None


def test_each_row_keeps_its_columns_and_gets_its_verdict(source, tmp_path):
    result = score(source, tmp_path / "out.jsonl")
    rows = scored(tmp_path / "out.jsonl")
    assert [{k: row[k] for k in ("id", "completion", "reference")} for row in rows] == make_rows(
        100
    )
    for row in rows:
        expected = ExactVerifier().verify(row["completion"], row["reference"])
        assert Verdict.from_dict(row["verdict"]).reason == expected.reason
        assert row["score"] == expected.score
    assert result.tally.rows == 100
    assert result.tally.abstained == sum(row["score"] is None for row in rows) > 0
    assert list(rows[0]) == ["id", "completion", "reference", "row_id", "score", "verdict"]


@pytest.mark.parametrize("name", ["out.jsonl", "out.jsonl.gz", "out.parquet"])
@pytest.mark.parametrize("batches", [1, 2])
def test_a_stopped_run_goes_on_where_it_ended(source, tmp_path, name, batches):
    if name.endswith("parquet"):
        needs("pyarrow")
    first = score(source, tmp_path / name, should_stop=stop_after(batches - 1))
    assert first.stopped
    assert 0 < first.tally.rows < 100
    second = score(source, tmp_path / name)
    assert second.resumed_rows == first.tally.rows
    assert not second.stopped
    score(source, tmp_path / f"whole-{name}")
    assert scored(tmp_path / name) == scored(tmp_path / f"whole-{name}")
    assert second.tally.rows == len(scored(tmp_path / name)) == 100


@pytest.mark.parametrize("name", ["out.jsonl", "out.jsonl.gz", "out.parquet"])
def test_a_finished_run_does_nothing_again(source, tmp_path, name):
    if name.endswith("parquet"):
        needs("pyarrow")
    score(source, tmp_path / name)
    before = (tmp_path / name).read_bytes()
    result = score(source, tmp_path / name)
    assert (result.tally.rows, result.resumed_rows) == (100, 100)
    assert (tmp_path / name).read_bytes() == before
    assert sorted(p.name for p in tmp_path.iterdir()) == sorted(
        ["in.jsonl", name, f"{name}.run.json"]
    )


@pytest.mark.parametrize("cut", [1, 40, 5000])
def test_a_torn_last_line_is_written_again(source, tmp_path, cut):
    out = tmp_path / "out.jsonl"
    score(source, out)
    whole, before = out.read_bytes(), scored(out)
    out.write_bytes(whole[: len(whole) - cut])
    result = score(source, out)
    assert result.resumed_rows < 100
    assert scored(out) == before


def test_a_torn_line_longer_than_a_read_is_cut_off(tmp_path):
    source = write(
        tmp_path / "in.jsonl", [*make_rows(2), {"completion": "x" * 500_000, "reference": "x"}]
    )
    out = tmp_path / "out.jsonl"
    score(source, out)
    before = scored(out)
    out.write_bytes(out.read_bytes()[:-100])
    assert score(source, out).resumed_rows == 2
    assert scored(out) == before


def test_a_first_line_that_is_torn_starts_anew(source, tmp_path):
    out = tmp_path / "out.jsonl"
    score(source, out)
    before = scored(out)
    out.write_bytes(out.read_bytes()[:30])
    assert score(source, out).resumed_rows == 0
    assert scored(out) == before


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda rows: [{**rows[0], "completion": "other"}, *rows[1:]], "in.jsonl:1: .* changed"),
        (lambda rows: [{**rows[0], "id": 7}, *rows[1:]], "in.jsonl:1: .* changed"),
        (lambda rows: [*rows[:20], {**rows[20], "reference": "x"}, *rows[21:]], "in.jsonl:21"),
        (lambda rows: rows[1:], "in.jsonl:1: .* changed"),
        (lambda rows: rows[:50], "shorter"),
    ],
)
@pytest.mark.parametrize("on_bad_row", ["stop", "skip"])
def test_a_changed_input_is_an_error(source, tmp_path, change, message, on_bad_row):
    out = tmp_path / "out.jsonl"
    score(source, out, on_bad_row=on_bad_row)
    before = out.read_bytes()
    write(source, change(make_rows(100)))
    with pytest.raises(DataError, match=f"{message}.*--overwrite"):
        score(source, out, on_bad_row=on_bad_row)
    assert out.read_bytes() == before


def test_an_input_that_has_grown_is_scored_on(source, tmp_path):
    out = tmp_path / "out.jsonl"
    score(source, out)
    write(source, make_rows(130))
    assert score(source, out).resumed_rows == 100
    assert [row["id"] for row in scored(out)] == list(range(130))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"config": {"verifier": "math"}}, 'verifier = "exact".*"math"'),
        ({"config": {**CONFIG, "option mode": "lenient"}}, 'option mode = null.*"lenient"'),
        ({"prefix": "rk_"}, "prefix"),
        ({"columns": Columns(reference="id")}, "reference column"),
    ],
)
def test_another_configuration_does_not_resume(source, tmp_path, options, message):
    out = tmp_path / "out.jsonl"
    score(source, out, should_stop=stop_after(0))
    before = out.read_bytes()
    with pytest.raises(ConfigError, match=f"{message}.*--overwrite"):
        score(source, out, **options)
    assert out.read_bytes() == before


def test_overwrite_starts_anew(source, tmp_path):
    out = tmp_path / "out.jsonl"
    out.write_text("something else")
    result = score(source, out, overwrite=True)
    assert (result.resumed_rows, len(scored(out))) == (0, 100)
    result = score(source, out, overwrite=True, config={"verifier": "other"})
    assert (result.resumed_rows, len(scored(out))) == (0, 100)


@pytest.mark.parametrize("name", ["out.jsonl", "out.jsonl.gz"])
def test_a_file_of_another_origin_is_never_touched(source, tmp_path, name):
    (tmp_path / name).write_bytes(b"precious")
    with pytest.raises(DataError, match=r"no scoring run left it there.*--overwrite"):
        score(source, tmp_path / name)
    assert (tmp_path / name).read_bytes() == b"precious"


def test_a_damaged_line_in_the_middle_is_an_error(source, tmp_path):
    out = tmp_path / "out.jsonl"
    score(source, out)
    lines = out.read_bytes().splitlines(keepends=True)
    lines[5] = b"\0" * 50 + b"\n"
    out.write_bytes(b"".join(lines))
    with pytest.raises(DataError, match=r"out.jsonl:6.*damaged.*--overwrite"):
        score(source, out)


@pytest.mark.parametrize("text", ["{torn", "[]", "{}", '{"config": 3}', ""])
def test_a_damaged_manifest_is_an_error_that_says_how_to_go_on(source, tmp_path, text):
    out = tmp_path / "out.jsonl"
    score(source, out)
    (tmp_path / "out.jsonl.run.json").write_text(text)
    before = out.read_bytes()
    with pytest.raises(DataError, match=r"out.jsonl.run.json: damaged.*--overwrite"):
        score(source, out)
    assert out.read_bytes() == before
    assert score(source, out, overwrite=True).tally.rows == 100


def test_rows_of_another_program_in_the_output_are_an_error(source, tmp_path):
    out = tmp_path / "out.jsonl"
    score(source, out)
    out.write_bytes(b'{"id": 1}\n' + out.read_bytes())
    with pytest.raises(DataError, match="row 1 was not written by a scoring run"):
        score(source, out)


def test_two_runs_never_write_one_file(source, tmp_path):
    out = tmp_path / "out.jsonl"
    errors = []

    def run_another():
        with pytest.raises(ConfigError, match="another run is writing") as caught:
            score(source, out)
        errors.append(caught.value)
        return False

    score(source, out, should_stop=run_another)
    assert errors
    assert len(scored(out)) == 100


def test_the_input_is_never_the_output(source):
    before = source.read_bytes()
    for overwrite in (False, True):
        with pytest.raises(ConfigError, match="is the input itself"):
            score(source, source, overwrite=overwrite)
    assert source.read_bytes() == before


def test_a_limit_can_be_raised(source, tmp_path):
    out = tmp_path / "out.jsonl"
    assert score(source, out, limit=10).tally.rows == 10
    assert score(source, out, limit=10).resumed_rows == 10
    assert score(source, out, limit=25).resumed_rows == 10
    assert score(source, out, limit=5).tally.rows == 25
    assert score(source, out).resumed_rows == 25
    assert [row["id"] for row in scored(out)] == list(range(100))


def test_a_finished_file_that_cannot_grow_says_so(source, tmp_path):
    out = tmp_path / "out.jsonl.gz"
    assert score(source, out, limit=10).tally.rows == 10
    assert score(source, out, limit=10).resumed_rows == 10
    with pytest.raises(DataError, match=r"finished with 10 rows.*--overwrite"):
        score(source, out)


@pytest.mark.parametrize("limit", [0, -1])
def test_a_limit_below_one_is_a_mistake(source, tmp_path, limit):
    with pytest.raises(ConfigError, match="limit"):
        score(source, tmp_path / "out.jsonl", limit=limit)


def with_bad_rows(tmp_path):
    rows = make_rows(40)
    rows[30]["reference"] = ""
    rows[39]["reference"] = None
    lines = [json.dumps(row) for row in rows]
    lines[20:20] = ["{broken"]
    path = tmp_path / "bad.jsonl"
    path.write_text("\n".join(lines))
    return path


def test_the_first_bad_row_ends_the_run_after_the_rows_before_it(tmp_path):
    source, out = with_bad_rows(tmp_path), tmp_path / "out.jsonl"
    with pytest.raises(DataError, match=r"bad.jsonl:21: not valid JSON.*--on-bad-row skip"):
        score(source, out)
    source.write_text(source.read_text().replace("{broken", json.dumps(make_rows(1)[0])))
    with pytest.raises(DataError, match=r"bad.jsonl:32: the reference cannot.*lint-references"):
        score(source, out)
    assert len(scored(out)) == 31


@pytest.mark.parametrize("batches", [0, 1, 2, 99])
def test_skipped_rows_are_counted_and_the_others_scored_once(tmp_path, batches):
    source, out = with_bad_rows(tmp_path), tmp_path / "out.jsonl"
    score(source, out, on_bad_row="skip", should_stop=stop_after(batches))
    result = score(source, out, on_bad_row="skip")
    assert [row["id"] for row in scored(out)] == [i for i in range(40) if i not in (30, 39)]
    assert result.skipped.count == 3
    assert result.skipped.examples[0].startswith("bad.jsonl:21")


def test_a_list_of_rollouts_is_scored_one_by_one(tmp_path):
    source = write(
        tmp_path / "in.jsonl",
        [
            {"completion": ["four", "five"], "reference": "four"},
            {"completion": "x four", "reference": "four"},
        ],
    )
    out = tmp_path / "out.jsonl"
    score(source, out, limit=1)
    score(source, out)
    rows = scored(out)
    assert [(row["completion"], row.get("rollout"), row["score"]) for row in rows] == [
        ("four", 0, 1.0),
        ("five", 1, 0.0),
        ("x four", None, 1.0),
    ]
    assert [row["row_id"].partition(":")[0] for row in rows] == ["0.0", "0.1", "1"]


def test_own_columns_under_the_added_names_are_never_lost(tmp_path):
    source = write(tmp_path / "in.jsonl", [{"completion": "a", "reference": "a", "score": 0.3}])
    for on_bad_row in ("stop", "skip"):
        with pytest.raises(ConfigError, match=r"already has a column 'score'.*--prefix"):
            score(source, tmp_path / "out.jsonl", on_bad_row=on_bad_row)
    score(source, tmp_path / "out2.jsonl", prefix="rk_")
    [row] = read_scored(tmp_path / "out2.jsonl")
    assert (row["score"], row["rk_score"]) == (0.3, 1.0)


def test_a_scored_file_can_be_scored_again_and_keeps_its_row_ids(tmp_path):
    source = write(
        tmp_path / "in.jsonl",
        [
            {"completion": ["Four", "five"], "reference": "four"},
            {"completion": "x four", "reference": "four"},
        ],
    )
    score(source, tmp_path / "strict.jsonl")
    folding = ExactVerifier(fold_case=True)
    score(tmp_path / "strict.jsonl", tmp_path / "folding.jsonl", verifier=folding)
    strict, folded = scored(tmp_path / "strict.jsonl"), scored(tmp_path / "folding.jsonl")
    assert [row["row_id"] for row in strict] == [row["row_id"] for row in folded]
    assert [row["score"] for row in strict] == [0.0, 0.0, 1.0]
    assert [row["score"] for row in folded] == [1.0, 0.0, 1.0]
    assert [list(row) for row in strict] == [list(row) for row in folded]


class ColumnReader(ExactVerifier):
    """Records which columns it is given."""

    def __init__(self):
        super().__init__()
        self.seen = []

    def verify_batch(self, completions, references, /, **columns):
        self.seen.append(columns)
        return super().verify_batch(completions, references, **columns)


def test_the_other_columns_are_the_context_and_missing_ones_are_none(tmp_path):
    rows = [
        {"completion": "a", "reference": "a", "prompt": "p", "self": 1},
        {"completion": "b", "reference": "b", "extra": 2},
    ]
    verifier = ColumnReader()
    score(write(tmp_path / "in.jsonl", rows), tmp_path / "out.jsonl", verifier=verifier)
    assert verifier.seen == [{"prompt": ["p", None], "self": [1, None], "extra": [None, 2]}]


class ShortVerifier(ExactVerifier):
    """Breaks the contract: one verdict too few."""

    def verify_batch(self, completions, references, /, **columns):
        return super().verify_batch(completions, references, **columns)[1:]


def test_a_verifier_that_loses_a_verdict_is_caught(source, tmp_path):
    with pytest.raises(ConfigError, match="returned 15 verdicts for 16 completions"):
        score(source, tmp_path / "out.jsonl", verifier=ShortVerifier())


def test_workers_give_the_same_rows(source, tmp_path):
    score(source, tmp_path / "one.jsonl")
    with WorkerPool(workers=2) as pool:
        score(source, tmp_path / "two.jsonl", pool=pool)
    assert scored(tmp_path / "one.jsonl") == scored(tmp_path / "two.jsonl")


def test_a_row_that_kills_its_worker_abstains_and_its_neighbours_do_not(source, tmp_path):
    rows = make_rows(30)
    rows[13]["completion"] = "poison"
    write(source, rows)
    with WorkerPool(workers=2) as pool:
        verifier = ExactVerifier(kill_at="poison")
        result = score(source, tmp_path / "out.jsonl", verifier=verifier, pool=pool)
    reasons = [row["verdict"]["reason"] for row in scored(tmp_path / "out.jsonl")]
    assert reasons[13] == "engine_failure"
    assert reasons.count("engine_failure") == 1
    assert result.tally.rows == 30


def test_a_disk_that_takes_no_more_is_one_clear_error_and_loses_nothing(source, tmp_path):
    resource = pytest.importorskip("resource", reason="needs limits on file sizes")
    out = tmp_path / "out.jsonl"
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (12_000, hard))
    try:
        with pytest.raises(DataError, match=r"cannot be written.*the same command resumes"):
            score(source, out)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    assert out.stat().st_size == 12_000
    assert 0 < score(source, out).resumed_rows < 100
    assert [row["id"] for row in scored(out)] == list(range(100))


def test_progress_counts_up_to_the_whole(source, tmp_path):
    seen = []
    score(source, tmp_path / "out.jsonl", limit=40, should_stop=stop_after(0))
    score(
        source,
        tmp_path / "out.jsonl",
        on_progress=lambda progress: seen.append(
            (progress.tally.rows, progress.resumed_rows, progress.fraction)
        ),
    )
    assert [rows for rows, _, _ in seen] == sorted(rows for rows, _, _ in seen)
    assert seen[0][:2] == (16, 16)
    assert seen[-1] == (100, 16, 1.0)


@pytest.mark.parametrize("kind", ["large_list", "list of three", "in a struct"])
def test_rollouts_of_every_list_type_of_parquet_stay_text(tmp_path, kind):
    pa, parquet = needs("pyarrow"), needs("pyarrow.parquet")
    rollouts = {
        "large_list": pa.large_list(pa.string()),
        "list of three": pa.list_(pa.string(), 3),
        "in a struct": pa.struct([("text", pa.list_(pa.string()))]),
    }[kind]
    words: Any = ["four", "five", "so four"]
    value = {"text": words} if kind == "in a struct" else words
    columns = Columns(completion="out.text" if kind == "in a struct" else "out")
    arrays = [pa.array([value], rollouts), pa.array(["four"])]
    parquet.write_table(pa.table(arrays, names=["out", "reference"]), tmp_path / "in.parquet")
    score(tmp_path / "in.parquet", tmp_path / "out.parquet", columns=columns)
    out = parquet.read_table(tmp_path / "out.parquet")["out"].to_pylist()
    assert [row["text"] if kind == "in a struct" else row for row in out] == words


def test_parquet_keeps_the_types_of_its_input(tmp_path):
    pa, parquet = needs("pyarrow"), needs("pyarrow.parquet")
    import datetime
    import decimal

    rows = [
        {
            "completion": ["four", "five"],
            "reference": "four",
            "at": datetime.datetime(2026, 1, 2, tzinfo=datetime.UTC),
            "price": decimal.Decimal("1.50"),
            "data": b"\xff",
            "small": i,
            "prompt": [{"role": "user", "content": "?"}],
        }
        for i in range(20)
    ]
    table = pa.Table.from_pylist(rows)
    table = table.set_column(5, "small", table["small"].cast(pa.int8()))
    parquet.write_table(table, tmp_path / "in.parquet")
    score(tmp_path / "in.parquet", tmp_path / "out.parquet")
    out = parquet.read_table(tmp_path / "out.parquet")
    for name in ("reference", "at", "price", "data", "small", "prompt"):
        assert out.schema.field(name).type == table.schema.field(name).type
    assert out["completion"].to_pylist() == ["four", "five"] * 20
    assert out["score"].to_pylist() == [1.0, 0.0] * 20
    first = next(read_scored(tmp_path / "out.parquet"))
    assert Verdict.from_dict(first["verdict"]).evidence == {"tier": "word"}
    score(tmp_path / "in.parquet", tmp_path / "out.jsonl")
    assert [row["row_id"] for row in read_scored(tmp_path / "out.jsonl")] == out[
        "row_id"
    ].to_pylist()
