"""Answers made to fool the verifier, or to be misread by it: each stands for a class that was found once."""

import json
from pathlib import Path

import pytest

from rewardkit import MathVerifier

PATH = Path(__file__).resolve().parents[3] / "fixtures" / "math" / "adversarial.jsonl"
ROWS = [json.loads(line) for line in PATH.read_text(encoding="utf-8").splitlines()]
VERIFIERS = {mode: MathVerifier(mode=mode, symbolic=False) for mode in ("strict", "lenient")}


def completion(row):
    if "completion" in row:
        return row["completion"]
    repeat = row["repeat"]
    return repeat.get("before", "") + repeat["unit"] * repeat["count"] + repeat.get("after", "")


@pytest.mark.parametrize("kind", sorted({row["kind"] for row in ROWS}))
def test_adversarial_answers_are_judged_as_labelled(kind):
    wrong = [
        f"{row['id']} ({row['why']}): {verdict.detail}"
        for row in ROWS
        if row["kind"] == kind
        for verdict in [VERIFIERS[row["mode"]].verify(completion(row), row["reference"])]
        if verdict.passed != row["label"]
    ]
    assert wrong == []
