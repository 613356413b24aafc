"""The demo's outputs are graded as their ids say: that is the first thing a user sees."""

import json

import pytest

from rewardkit import MathVerifier
from tests._venvs import make_venv

RIGHT = {"right", "respelled", "right-again"}
WRONG = {"wrong", "wrong-again"}
# Not one of these may be paid, though most of them contain the right answer.
UNPAID = {"hostile", "truncated", "two-answers", "inside-thinking", "no-answer"}


@pytest.fixture(scope="module")
def rows(root):
    lines = (root / "fixtures/demo/math.jsonl").read_text("utf-8").splitlines()
    return [json.loads(line) for line in lines]


def kind(row):
    return row["id"].partition("-")[2]


@pytest.fixture(scope="module")
def verdicts(rows):
    with MathVerifier() as verifier:
        return verifier.verify_batch(
            [row["completion"] for row in rows],
            [row["reference"] for row in rows],
            prompt=[row["prompt"] for row in rows],
        )


def test_the_file_holds_four_rollouts_of_fifty_prompts(rows):
    assert len({row["id"] for row in rows}) == len(rows) == 200
    assert len({row["prompt"] for row in rows}) == 50
    assert {kind(row) for row in rows} == RIGHT | WRONG | UNPAID
    for row in rows:
        assert list(row) == ["id", "prompt", "completion", "reference", "source"]


def test_every_right_answer_is_paid_however_it_is_spelled(rows, verdicts):
    pairs = zip(rows, verdicts)
    assert [(r["id"], v.detail) for r, v in pairs if kind(r) in RIGHT and not v.passed] == []


def test_no_wrong_answer_is_paid(rows, verdicts):
    pairs = zip(rows, verdicts)
    assert [(r["id"], v.detail) for r, v in pairs if kind(r) in WRONG | UNPAID and v.passed] == []


def test_the_reasons_tell_the_kinds_apart(rows, verdicts):
    reasons = {}
    for row, verdict in zip(rows, verdicts):
        reasons.setdefault(kind(row), set()).add(verdict.reason.value)
    assert reasons["right"] == {"match"}
    assert reasons["wrong"] == {"mismatch"}
    assert reasons["no-answer"] == {"no_answer"}
    # Where the reference is a list, two boxes are one answer of several parts.
    assert reasons["two-answers"] <= {"ambiguous", "mismatch"}
    assert reasons["truncated"] == reasons["inside-thinking"] == {"truncated"}


@pytest.mark.network
@pytest.mark.slow
def test_a_light_install_grades_the_demo_without_any_engine(root, built, package_index, tmp_path):
    fresh = make_venv(tmp_path / "venv")
    fresh.pip("install", built[1])
    out, report = tmp_path / "scored.jsonl", tmp_path / "report.html"
    source = root / "fixtures/demo/math.jsonl"
    done = fresh.run("rewardkit", "score", source, "--out", out, "--report", report)
    assert done.returncode == 0, done.stderr
    scored = [json.loads(line) for line in out.read_text("utf-8").splitlines()]
    by_kind = {}
    for row in scored:
        by_kind.setdefault(kind(row), []).append(row["score"])
    assert len(scored) == 200
    assert set(by_kind["right"]) == {1.0}
    assert not {s for k in WRONG | UNPAID for s in by_kind[k]} & {1.0}
    assert report.stat().st_size > 10_000
