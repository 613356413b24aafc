"""The judge from the command line, like every verifier; a key is written nowhere."""

import json

import pytest
from typer.testing import CliRunner

from rewardkit.cli import app
from tests._needs import needs
from tests.verifiers.judge.scripted import ScriptedServer

KEY = "sk-very-secret-0123456789"


@pytest.fixture(autouse=True)
def _engines():
    needs("httpx"), needs("tenacity")


def run(*arguments):
    return CliRunner().invoke(app, [str(one) for one in arguments])


def test_verify_asks_the_judge():
    with ScriptedServer() as server:
        options = ["--verifier", "judge", "--option", f"base_url={server.url}"]
        right = run("verify", "I get 17", "17", *options, "--json")
        assert (right.exit_code, json.loads(right.output)["score"]) == (0, 1.0)
        assert run("verify", "I get 18", "17", *options).exit_code == 1
        assert run("verify", "I get 17 [fault refused]", "17", *options).exit_code == 3
        rubric = 'rubric=[{"criterion": "Oslo", "points": 2}, {"criterion": "fjord"}]'
        graded = run("verify", "Oslo", "", *options, "--mode", "rubric", "-o", rubric, "--json")
        assert json.loads(graded.output)["score"] == pytest.approx(2 / 3)
        wrong = run("verify", "x y", "17", *options, "--mode", "pairwise", "-o", "vote=loudest")
        assert (wrong.exit_code, "vote" in wrong.output) == (2, True)


def test_score_keeps_hundreds_in_flight_and_writes_no_key(tmp_path):
    rows = [{"completion": f"I get {n}", "reference": str(n - n % 2)} for n in range(150)]
    source, out = tmp_path / "rows.jsonl", tmp_path / "scored.jsonl"
    source.write_text("".join(json.dumps(row) + "\n" for row in rows))
    with ScriptedServer(delay_s=0.2) as server:
        options = [f"base_url={server.url}", f"api_key={KEY}", "concurrency=64"]
        command = ["score", source, "--verifier", "judge", "--out", out]
        done = run(*command, *(word for one in options for word in ("--option", one)))
        assert done.exit_code == 0, done.output
        assert server.most_in_flight > 32
        assert server.calls[0].headers["authorization"] == f"bearer {KEY}"
        scored = [json.loads(line) for line in out.read_text().splitlines()]
        assert [row["score"] for row in scored] == [float(n % 2 == 0) for n in range(150)]
        assert KEY not in done.output
        assert not [file for file in tmp_path.iterdir() if KEY in file.read_text()]


def test_a_cascade_by_name_writes_no_key_either(tmp_path):
    source, out = tmp_path / "rows.jsonl", tmp_path / "scored.jsonl"
    row = {"completion": "I would say 17 or so", "reference": "yes", "text": "17"}
    source.write_text(json.dumps(row) + "\n")
    with ScriptedServer() as server:
        options = {
            "first": "choice",
            "first_options": json.dumps({"labels": ["yes", "no"]}),
            "second_options": json.dumps({"base_url": server.url, "api_key": KEY}),
            "second_reference": "text",
        }
        words = [word for key, one in options.items() for word in ("--option", f"{key}={one}")]
        done = run("score", source, "--verifier", "cascade", "--out", out, *words)
        assert done.exit_code == 0, done.output
        assert json.loads(out.read_text())["score"] == 1.0
        assert not [file for file in tmp_path.iterdir() if KEY in file.read_text()]
