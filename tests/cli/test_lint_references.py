"""`rewardkit lint-references`: what a verifier thinks of a data set's references."""

import json

import pytest
from typer.testing import CliRunner

from rewardkit.cli import app
from rewardkit.datasets import read_rows
from rewardkit.datasets.readers import open_records, raise_bad_row

EXACT = ("--verifier", "tests.scoring.exact:ExactVerifier")


def call(*arguments, code):
    command = ["lint-references", *map(str, arguments), *EXACT]
    result = CliRunner().invoke(app, command)
    assert result.exit_code == code, result.output
    return result


def write(tmp_path, references):
    path = tmp_path / "in.jsonl"
    path.write_text("".join(json.dumps({"answer": r, "n": 1}) + "\n" for r in references))
    return path


COLUMN = ("--reference-column", "answer")


def test_references_are_counted_once_each_and_problems_are_located(tmp_path):
    source = write(tmp_path, ["four", "Four", "", "four", "", 7, "Four"])
    result = call(source, *COLUMN, "--json", code=1)
    audit = json.loads(result.stdout)
    assert audit["fine"] == {"rows": 2, "references": 1}
    assert audit["warned"] == {"rows": 2, "references": 1}
    assert audit["unreadable"] == {"rows": 3, "references": 2}
    assert audit["problems"] == 3
    assert [(p["place"], p["kind"], p["reference"]) for p in audit["examples"]] == [
        ("in.jsonl:2", "warning", "Four"),
        ("in.jsonl:3", "unreadable", ""),
        ("in.jsonl:6", "unreadable", "7"),
    ]


def test_warnings_alone_are_no_failure_and_are_shown(tmp_path):
    shown = call(write(tmp_path, ["four", "Four"]), *COLUMN, code=0).stdout
    assert "in.jsonl:2" in shown
    assert "upper case" in shown


def test_all_problems_are_written(tmp_path):
    source = write(tmp_path, [f"A{i}" for i in range(150)] + [""])
    out = tmp_path / "problems.jsonl"
    shown = call(source, *COLUMN, "--out", out, code=1).stdout
    rows = [record.data for record in open_records(out).records(raise_bad_row)]
    assert len(rows) == 151
    assert rows[-1] == {
        "place": "in.jsonl:151",
        "reference": "",
        "kind": "unreadable",
        "message": "a reference is one word, not ''",
    }
    assert "and 131 more" in shown


def test_no_completions_are_needed_and_hostile_references_cannot_reach_the_terminal(tmp_path):
    source = write(tmp_path, ["\x1b[2JX\ud800"])
    shown = call(source, *COLUMN, code=0).stdout
    assert "<U+001B>[2JX<U+D800>" in shown
    assert "\x1b" not in shown


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((), "no column 'reference' for the reference. The columns here: answer, n."),
        ((*COLUMN, "--out", "x.txt"), "must end in .jsonl"),
    ],
)
def test_a_mistake_is_one_clear_sentence(tmp_path, arguments, message):
    result = call(write(tmp_path, ["four"]), *arguments, code=2)
    assert message in " ".join(result.stderr.split())


def test_the_problems_never_replace_the_references(tmp_path):
    source = write(tmp_path, ["four", ""])
    before = source.read_bytes()
    result = call(source, *COLUMN, "--out", source, code=2)
    assert "is the input itself" in result.stderr
    assert source.read_bytes() == before


def test_the_references_of_a_scored_file_can_be_linted(tmp_path):
    source = tmp_path / "in.jsonl"
    source.write_text('{"completion": "a", "reference": "a"}\n')
    scored = tmp_path / "scored.jsonl"
    CliRunner().invoke(app, ["score", str(source), "--out", str(scored), *EXACT])
    assert len(list(read_rows(scored))) == 1
    call(scored, code=0)
