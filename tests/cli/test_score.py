"""`rewardkit score` and `rewardkit report`, as a user calls them."""

import json
import os
import subprocess
import sys

import pytest
from typer.testing import CliRunner

from rewardkit.cli import app
from rewardkit.scoring import read_scored
from rewardkit.verifiers.catalog import VERIFIERS

EXACT = ("--verifier", "tests.scoring.exact:ExactVerifier")


@pytest.fixture
def source(tmp_path):
    path = tmp_path / "in.jsonl"
    words = ["four", "FOUR", "unsure", ""]
    rows = [{"id": i, "completion": words[i % 4], "reference": "four"} for i in range(40)]
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


def call(*arguments, code=0):
    result = CliRunner().invoke(app, [str(argument) for argument in arguments])
    assert result.exit_code == code, result.output
    return result


def call_process(root, *arguments):
    """Calls the command line in a process of its own, with a terminal that knows only ASCII."""
    return subprocess.run(
        [sys.executable, "-c", "from rewardkit.cli import main; main()", *map(str, arguments)],
        env={**os.environ, "PYTHONPATH": str(root), "PYTHONIOENCODING": "ascii", "PYTHONUTF8": "0"},
        capture_output=True,
        text=True,
        timeout=120,
    )


def test_the_main_job_scores_reports_and_sums_up(source, tmp_path):
    out, report = tmp_path / "scored.jsonl", tmp_path / "report.html"
    result = call("score", source, *EXACT, "--out", out, "--report", report)
    assert len(list(read_scored(out))) == 40
    assert "</html>" in report.read_text()
    for words in ("match", "unproved", "33.3 %", "10 (outside every rate)"):
        assert words in result.stdout
    assert "from an earlier run" not in result.stdout
    assert f"report: {report}" in result.stdout.replace("\n", "")


def test_the_json_summary_is_one_object(source, tmp_path):
    out = tmp_path / "scored.jsonl"
    result = call("score", source, *EXACT, "--out", out, "--json", "-o", "fold_case=yes")
    summary = json.loads(result.stdout)
    assert (summary["rows"], summary["passed"], summary["abstained"]) == (40, 20, 10)
    assert summary["pass_rate"] == pytest.approx(2 / 3)
    assert summary["pass_rate_95"][0] < 2 / 3 < summary["pass_rate_95"][1]
    assert summary["reasons"]["match"]["count"] == 20
    assert summary["reasons"]["match"]["share"] == 0.5
    assert (summary["out"], summary["report"], summary["stopped"]) == (str(out), None, False)
    assert summary["tiers"] == {"word": summary["tiers"]["word"]}


def test_a_second_call_goes_on(source, tmp_path):
    out = tmp_path / "scored.jsonl"
    call("score", source, *EXACT, "--out", out, "--limit", 10)
    result = call("score", source, *EXACT, "--out", out, "--json")
    assert json.loads(result.stdout)["resumed_rows"] == 10


def test_columns_are_mapped_and_added_ones_get_a_prefix(tmp_path):
    source = tmp_path / "in.jsonl"
    row = {"out": ["x four", "five"], "reward_model": {"ground_truth": "four"}, "score": 3}
    source.write_text(json.dumps(row))
    out = tmp_path / "scored.jsonl"
    names = ("--completion-column", "out", "--reference-column", "reward_model.ground_truth")
    call("score", source, *EXACT, "--out", out, *names, "--prefix", "rk_", "--rollout-column", "n")
    rows = list(read_scored(out))
    assert [(row["n"], row["rk_score"], row["score"]) for row in rows] == [(0, 1.0, 3), (1, 0.0, 3)]


def test_a_report_against_another_scoring(source, tmp_path):
    strict, folded = tmp_path / "strict.jsonl", tmp_path / "folded.jsonl"
    call("score", source, *EXACT, "--out", strict)
    report = tmp_path / "report.html"
    call(
        *("score", source, *EXACT, "--out", folded, "-o", "fold_case=1"),
        *("--report", report, "--against", strict),
    )
    assert "Against strict.jsonl" in report.read_text()
    again = tmp_path / "again.html"
    call("report", folded, "--out", again, "--against", strict)
    assert again.read_bytes() == report.read_bytes()
    call("report", folded, "--out", again, "--against", strict, "--id-column", "id")
    assert "75.0 %" in again.read_text()


@pytest.fixture
def rewards(tmp_path):
    path = tmp_path / "my_rewards.py"
    path.write_text(
        "from rewardkit import Reward\n"
        "from tests.scoring.exact import ExactVerifier\n"
        "def brief(completions, /, **columns):\n"
        "    return [-len(text) / 100 for text in completions]\n"
        "reward = Reward({'exact': ExactVerifier(fold_case=True), 'brief': brief})\n"
    )
    return path


@pytest.mark.parametrize("workers", [(), ("--workers", 1)])
def test_a_reward_scores_in_a_verifiers_place(source, rewards, tmp_path, workers):
    out, report = tmp_path / "scored.jsonl", tmp_path / "report.html"
    chosen = ("score", source, "--reward", f"{rewards}:reward", "--out", out, *workers)
    call(*chosen, "--limit", 4)
    result = call(*chosen, "--report", report)
    rows = list(read_scored(out))
    assert [row["score"] for row in rows[:4]] == [0.96, 0.96, None, 0.0]
    assert rows[0]["components"] == {"exact": 1.0, "brief": -0.04}
    for words in ("component", "brief", "-0.035", "total", "66.7 %"):
        assert words in result.stdout
    page = report.read_text()
    for words in ("Components of the reward", "total 0.96, exact 1, brief -0.04"):
        assert words in page
    summary = json.loads(call(*chosen, "--json").stdout)
    assert summary["resumed_rows"] == 40
    assert summary["reward"]["components"]["brief"]["min"] == -0.06
    rewards.write_text(rewards.read_text() + "\n")
    result = call(*chosen, code=2)
    assert "was begun with reward file" in " ".join(result.stderr.split())


def test_a_reward_file_names_the_column_of_its_references(tmp_path):
    source = tmp_path / "in.jsonl"
    source.write_text(json.dumps({"completion": "four", "answer": "four"}))
    file = tmp_path / "reward.json"
    part = {"verifier": "tests.scoring.exact:ExactVerifier", "reference": "answer", "weight": 2}
    file.write_text(json.dumps({"components": {"exact": part}}))
    out = tmp_path / "scored.jsonl"
    call("score", source, "--reward", file, "--out", out)
    assert [row["score"] for row in read_scored(out)] == [2.0]


@pytest.mark.parametrize(
    ("more", "message"),
    [
        (["-v", "math"], "--verifier says how a verifier grades"),
        (["--mode", "strict"], "--mode says how"),
        (["-o", "a=1"], "--option says how"),
    ],
)
def test_a_reward_and_a_verifier_do_not_go_together(source, rewards, tmp_path, more, message):
    out = tmp_path / "o.jsonl"
    result = call("score", source, "--reward", f"{rewards}:reward", "--out", out, *more, code=2)
    assert message in " ".join(result.stderr.split())


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["no.jsonl", "--out", "o.jsonl"], "no.jsonl: no such file"),
        (["IN", "--out", "o.csv"], "must end in .jsonl"),
        (["IN", "--out", "no/o.jsonl"], "the folder no does not exist"),
        (["IN", "--out", "IN"], "is the input itself"),
        (
            ["IN", "--out", "o.jsonl", "--verifier", "maths"],
            f"no verifier 'maths' (did you mean math?). There are: {', '.join(sorted(VERIFIERS))}",
        ),
        (
            ["IN", "--out", "o.jsonl", "-o", "nope=1"],
            "has no option 'nope'. Its options: fold_case",
        ),
        (["IN", "--out", "o.jsonl", "-o", "delay_s=x"], "option delay_s is float, not 'x'"),
        (["IN", "--out", "o.jsonl", "--mode", "hard"], "has no option 'mode'"),
        (["IN", "--out", "o.jsonl", "--mode", "a", "-o", "mode=b"], "give either --mode"),
        (["IN", "--out", "o.jsonl", "--completion-column", "text"], "completion, id, reference"),
        (["IN", "--out", "o.jsonl", "--split", "train"], "leave --split away"),
        (["IN", "--out", "o.jsonl", "--against", "IN"], "give --report as well"),
        (["IN", "--out", "o.jsonl", "--reward", "no.json"], "no.json: No such file"),
        (["IN", "--out", "o.jsonl", "--reward", "reward"], "file.py:name"),
        (["IN", "--out", "o.jsonl", "--report", "r.pdf"], "name it .html"),
        (["IN", "--out", "o.jsonl", "--report", "no/r.html"], "does not exist; create it first"),
        (["IN", "--out", "o.jsonl", "--report", "r.html", "--against", "n.jsonl"], "no such file"),
        (["IN", "--out", "o.jsonl", "--report", "IN.html", "--out", "IN"], "is the input itself"),
    ],
)
def test_a_mistake_is_one_clear_sentence(source, tmp_path, monkeypatch, arguments, message):
    monkeypatch.chdir(tmp_path)
    chosen = [str(source) if argument == "IN" else argument for argument in arguments]
    verifier = () if {"--verifier", "--reward"} & {*chosen} else EXACT
    result = call("score", *chosen, *verifier, code=2)
    assert message in " ".join(result.stderr.split())
    assert result.stderr.startswith("error: ")
    assert result.stderr.count("\n") == 1
    assert result.stdout == ""
    assert source.read_text().startswith('{"id": 0')


def test_a_bad_row_ends_the_run_or_is_left_out(source, tmp_path):
    out = tmp_path / "scored.jsonl"
    source.write_text(source.read_text() + "{broken\n")
    result = call("score", source, *EXACT, "--out", out, code=2)
    assert "in.jsonl:41: not valid JSON" in result.stderr
    assert "--on-bad-row skip" in result.stderr
    result = call("score", source, *EXACT, "--out", out, "--on-bad-row", "skip", "--overwrite")
    assert "1 row that cannot be read or used" in result.stdout
    assert "left out: in.jsonl:41" in result.stdout


def test_a_pipe_that_knows_only_ascii_gets_text_and_no_traceback(root, source, tmp_path):
    done = call_process(root, "score", source, *EXACT, "--out", tmp_path / "s.jsonl")
    assert (done.returncode, done.stderr) == (0, "")
    done.stdout.encode("ascii")
    assert "match" in done.stdout


def test_the_progress_bar_is_quiet_where_there_is_no_terminal(root, source, tmp_path):
    done = call_process(root, "score", source, *EXACT, "--out", tmp_path / "s.jsonl", "--json")
    assert done.stderr == ""
    assert json.loads(done.stdout)["rows"] == 40


def test_the_progress_bar_shows_rate_and_pass_rate():
    import io

    from rich.console import Console

    from rewardkit import Reason, Verdict
    from rewardkit.cli._progress import ScoreProgressBar
    from rewardkit.scoring import Progress, Tally

    tally = Tally()
    console = Console(file=io.StringIO(), force_terminal=True, width=120)
    with ScoreProgressBar(console) as bar:
        bar.show(Progress(tally, 0, 0.0))
        for verdict in (Verdict(1.0, Reason.MATCH), Verdict(0.0, Reason.MISMATCH)):
            tally.add(verdict.to_dict())
        bar.show(Progress(tally, 0, 0.5))
    shown = console.file.getvalue()
    assert "2 rows" in shown
    assert "50.0 % pass" in shown
    assert "50%" in shown


@pytest.mark.parametrize(
    ("command", "words"),
    [
        ("score", ["Examples", "--against", "Exit codes", "130", "goes on"]),
        ("verify", ["Examples", "Exit codes", "tier", "@file"]),
        ("lint-references", ["Example", "Exit codes", "--out"]),
        ("preflight", ["Example", "Exit codes", "gold"]),
        ("report", ["Example", "--against"]),
        ("doctor", ["engines"]),
    ],
)
def test_the_help_teaches(command, words):
    shown = call(command, "--help").stdout
    for word in words:
        assert word in shown


def test_the_commands_are_listed_and_the_version_is_printed():
    import rewardkit

    shown = call("--help").stdout
    for command in ("score", "verify", "lint-references", "preflight", "report", "doctor"):
        assert command in shown
    assert call("--version").stdout == f"rewardkit {rewardkit.__version__}\n"


def test_the_command_line_starts_without_engines():
    code = "import sys, rewardkit.cli; print(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    loaded = {name.partition(".")[0] for name in done.stdout.split()}
    assert "typer" in loaded
    assert not loaded & {"sympy", "mpmath", "math_verify", "pint", "pyarrow", "datasets"}
    assert "rewardkit.scoring" not in done.stdout.split()
