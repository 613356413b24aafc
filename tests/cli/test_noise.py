"""`rewardkit noise`, as a user calls it."""

import json

import pytest
from typer.testing import CliRunner

from rewardkit.cli import app
from rewardkit.labels import Judgement, Label, LabelJournal, read_scored_rows
from rewardkit.noise import Channel
from tests.labels.scored import write_scored


@pytest.fixture
def scored(tmp_path):
    return write_scored(tmp_path / "scored.jsonl", rows=800)


def call(*arguments, code=0):
    result = CliRunner().invoke(app, ["noise", *map(str, arguments)])
    assert result.exit_code == code, result.output
    return result


def test_rates_from_a_truth_column_hold_the_true_ones(scored, tmp_path):
    out = tmp_path / "noise.json"
    shown = call("estimate", scored, "--truth-column", "right", "--by", "source", "--out", out)
    channel = Channel.load(out)
    assert channel.rates.rho0.low < 0.1 < channel.rates.rho0.high
    assert channel.rates.rho1.low < 0.2 < channel.rates.rho1.high
    assert set(channel.strata) == {"web", "book"}
    assert channel.stratified_by == ("source",)
    for words in ("rho0", "web", f"rates: {out}"):
        assert words in shown.stdout.replace("\n", "")


def test_rates_from_the_journal_beside_the_file_are_the_same(scored):
    by_column = call("estimate", scored, "--truth-column", "right", "--json").stdout
    rows = read_scored_rows(scored, keep=["right"])
    with LabelJournal(f"{scored}.labels.jsonl") as journal:
        for row in rows.rows.values():
            right = Judgement.RIGHT if row.values[0] else Judgement.WRONG
            journal.append(Label(row.row_id, right, "a"))
    assert call("estimate", scored, "--json").stdout == by_column


def test_what_is_left_out_and_what_errors_depend_on_is_said(scored):
    rows = list(read_scored_rows(scored, keep=["right"]).rows.values())
    with LabelJournal(f"{scored}.labels.jsonl") as journal:
        for row in rows[:400]:
            journal.append(
                Label(row.row_id, Judgement.RIGHT if row.values[0] else Judgement.WRONG, "a")
            )
        journal.append(Label(rows[400].row_id, Judgement.UNSURE, "a"))
        journal.append(
            Label(rows[0].row_id, Judgement.WRONG if rows[0].values[0] else Judgement.RIGHT, "b")
        )
    warnings = json.loads(call("estimate", scored, "--feature", "length", "--json").stdout)[
        "warnings"
    ]
    assert any("1 labelled row could not be judged and is left out" in w for w in warnings)
    assert any("1 labelled row is disputed" in w for w in warnings)
    assert any(w.startswith("rho1 depends on length") for w in warnings)


def test_a_plan_names_labels_by_verdict(scored):
    shown = call("plan", scored, "--rho0", "0.1", "--rho1", "0.2", "--half-width", "0.03").stdout
    assert "note" in shown
    figures = json.loads(call("plan", "--accept-rate", "0.5", "--json").stdout)
    assert figures["labels"] == figures["accepted"] + figures["rejected"] < figures["uniform"]
    assert figures["to_show_below"] == 149


def test_a_report_advises(scored, tmp_path):
    out = tmp_path / "noise.json"
    call("estimate", scored, "--truth-column", "right", "--by", "source", "--out", out)
    shown = call("report", out).stdout
    for words in ("its direction is right as it is", "over the strata", "takes about"):
        assert words in shown
    assert json.loads(call("report", out, "--json").stdout)["advice"]


def test_a_report_of_a_coin_says_that_corrections_refuse(tmp_path):
    coin = write_scored(tmp_path / "coin.jsonl", rows=60, rho0=0.5, rho1=0.5)
    out = tmp_path / "noise.json"
    call("estimate", coin, "--truth-column", "right", "--out", out)
    assert "corrections refuse" in call("report", out).stdout


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["estimate", "SCORED"], "no labels yet"),
        (["estimate", "SCORED", "--truth-column", "none"], "in the column 'none'"),
        (["estimate", "SCORED", "--labels", "x", "--truth-column", "right"], "not both"),
        (["estimate", "SCORED", "--truth-column", "prompt"], "the truth is true"),
        (["estimate", "SCORED", "--truth-column", "right", "--by", "colour"], "stratify by"),
        (["estimate", "SCORED", "--truth-column", "right", "--confidence", "95"], "confidence"),
        (["plan"], "--accept-rate"),
        (["plan", "--accept-rate", "0.01", "--rho0", "0.1"], "between rho0"),
        (["report", "SCORED"], "not a JSON object"),
    ],
)
def test_mistakes_are_one_sentence_and_exit_2(scored, arguments, words):
    given = [scored if a == "SCORED" else a for a in arguments]
    result = call(*given, code=2)
    assert words in result.stderr.replace("\n", " ")
    assert "Traceback" not in result.output
