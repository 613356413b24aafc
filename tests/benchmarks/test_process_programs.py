"""The programs that print the figures of the steps page run, on a handful."""

import json

import pytest

from benchmarks import process_localise, process_steps
from tests._needs import needs

ROWS = [
    (["A = 2 * 3 = 6", "so A + 1 = 7"], None),
    (["A = 2 * 3 = 6", "so A + 1 = 8"], 1),
    (["A = 2 * 3 = 5", "so A + 1 = 6"], 0),
    (["A = 2 * 3 = 5", "so A + 1 = 6"], None),  # a label that misses the error
    (["nothing to check"], None),
]


@pytest.fixture
def folder(tmp_path):
    rows = [
        {"steps": steps, "target": "7", "answer": "7", "mistake_index": label}
        for steps, label in ROWS
    ]
    text = "\n".join(map(json.dumps, rows))
    for task in process_localise.TASKS:
        (tmp_path / f"bbm_{task}.jsonl").write_text(text, "utf-8")
    return tmp_path


def test_the_figures_are_counted_as_the_benchmark_of_first_errors_counts_them(folder):
    traces = process_localise.read_traces(folder / "bbm_word_sorting.jsonl")
    assert [trace.found for trace in traces] == [None, 1, 0, 0, None]
    found = process_localise.scores(traces)
    assert (found.bad_hits, found.bad, found.good_hits, found.good) == (2, 2, 2, 3)
    assert found.harmonic == pytest.approx(2 / (1 + 3 / 2))
    rows = dict(process_localise.localisation(traces).rows)
    assert rows["label and checker differ"] == "1"
    assert rows["of these, equalities that Python too finds wrong"] == "1"
    (miss,) = process_localise.misses(traces).rows
    assert miss == ("3", "None", "0", "`2 * 3` = `5`", "6 and 5")
    assert len(process_localise.coverage(folder).rows) == len(process_localise.TASKS)


def test_python_works_out_what_the_checker_calls_wrong():
    assert process_localise.integer("((1 + 2) * -3") == -9
    assert process_localise.integer("2 - -3)") == 5
    for text in ("x + 1", "1 / 2", "'a'"):
        with pytest.raises((ValueError, KeyError)):
            process_localise.integer(text)


def test_the_labelled_traces_come_to_the_target(shared_dir):
    path = shared_dir / "data" / "process" / "bbm_multistep_arithmetic.jsonl"
    if not path.is_file():
        pytest.skip(f"{path} is not here")
    found = process_localise.scores(process_localise.read_traces(path))
    assert (found.bad_hits + found.good_hits) / (found.bad + found.good) >= 0.9


def test_the_cost_of_steps_is_printed_part_by_part():
    needs("transformers")
    table = process_steps.measure(20, 5, 1)
    assert table.rows[0][0] == "tokenising, with offsets"
    assert len(table.rows) == 7
