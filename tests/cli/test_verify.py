"""`rewardkit verify`: one pair, and why."""

import json
import os
import subprocess
import sys

import pytest
from typer.testing import CliRunner

from rewardkit import Verdict
from rewardkit.cli import app

EXACT = ("--verifier", "tests.scoring.exact:ExactVerifier")


def call(*arguments, code, stdin=None):
    result = CliRunner().invoke(app, ["verify", *map(str, arguments), *EXACT], input=stdin)
    assert result.exit_code == code, result.output
    return result


@pytest.mark.parametrize(
    ("completion", "code", "words"),
    [
        ("so four", 0, ["1 (passed)", "match", "graded four", "tier word", "why word: compared"]),
        ("so five", 1, ["0 (not passed)", "mismatch", "graded five"]),
        ("", 1, ["0 (not passed)", "no_answer", "graded nothing"]),
        ("unsure", 3, ["none: could not decide (abstained)", "unproved"]),
    ],
)
def test_the_verdict_and_its_reasons_are_shown_and_the_exit_code_says_which(
    completion, code, words
):
    shown = " ".join(call(completion, "four", code=code).stdout.split())
    for word in words:
        assert word in shown


def test_json_is_the_verdict():
    verdict = Verdict.from_json(call("so four", "four", "--json", code=0).stdout)
    assert verdict.passed
    assert verdict.evidence == {"tier": "word"}


@pytest.mark.parametrize("data", [b"so four\n", b"so four\r\n", b"so four", b"\xff four\n"])
def test_completion_and_reference_are_read_from_files_and_standard_input(tmp_path, data):
    (tmp_path / "completion").write_bytes(data)
    (tmp_path / "reference").write_bytes(b"four\n")
    call(f"@{tmp_path / 'completion'}", f"@{tmp_path / 'reference'}", code=0)
    call("-", "four", code=0, stdin=data)
    call("so four", "-", code=0, stdin=b"four\n")


def test_a_completion_may_begin_with_a_dash():
    result = CliRunner().invoke(app, ["verify", *EXACT, "--", "-5", "-5"])
    assert result.exit_code == 0


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("-", "-"), "only one of completion and reference"),
        (("@no/such/file", "four"), "@no/such/file: cannot be read: No such file"),
        (("four", ""), "a reference is one word"),
        (("four", "[1", "--reference-json"), "the reference is not JSON"),
        (("four", "[" * 100_000, "--reference-json"), "the reference is nested too deep"),
        (("four", "[1]", "--reference-json"), "a reference is one word, not [1]"),
    ],
)
def test_a_mistake_is_one_clear_sentence_and_exit_code_two(arguments, message):
    result = call(*arguments, code=2)
    assert message in " ".join(result.stderr.split())
    assert result.stdout == ""


def test_a_reference_that_looks_like_json_is_asked_about():
    arguments = ["verify", "A", '{"answer": "A", "choices": ["x", "y"]}', "-v", "choice"]
    asked = CliRunner().invoke(app, arguments)
    assert asked.exit_code == 2
    assert "then --reference-json" in " ".join(asked.stderr.split())
    assert CliRunner().invoke(app, [*arguments, "--reference-json"]).exit_code == 0


def test_hostile_text_cannot_reach_the_terminal():
    shown = call("\x1b[2J\u202e\x00[red]four", "four", code=1).stdout
    assert "<U+001B>[2J<U+202E><U+0000>[red]four" in shown
    assert not {"\x1b", "\u202e", "\x00"} & set(shown)


def test_a_long_answer_is_cut():
    shown = call("x" * 100_000, "four", code=1).stdout
    assert "(100,000 characters)" in shown
    assert len(shown) < 6000


def test_a_process_ends_with_the_exit_code(root):
    code = "from rewardkit.cli import main; main()"
    done = subprocess.run(
        [sys.executable, "-c", code, "verify", "-", "four", *EXACT, "--json"],
        env={**os.environ, "PYTHONPATH": str(root)},
        input=b"\xed\xa0\x80 unsure",
        capture_output=True,
        timeout=60,
    )
    assert done.returncode == 3
    assert json.loads(done.stdout)["score"] is None


def test_the_math_verifier_says_which_tier_decided():
    result = CliRunner().invoke(app, ["verify", r"so \boxed{\frac12}", "0.5", "--json"])
    assert result.exit_code == 0
    verdict = Verdict.from_json(result.stdout)
    assert verdict.answer == r"\frac12"
    assert verdict.evidence["tier"]
