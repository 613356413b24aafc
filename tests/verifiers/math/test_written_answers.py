"""Answers made to fool the verifier, and honest ones as models write them, are told apart."""

import json
from pathlib import Path

import pytest

from rewardkit import MathVerifier

FOLDER = Path(__file__).resolve().parents[3] / "fixtures" / "math"
ROWS = [
    json.loads(line)
    for name in ("adversarial.jsonl", "honest.jsonl")
    for line in (FOLDER / name).read_text(encoding="utf-8").splitlines()
]
VERIFIERS = {mode: MathVerifier(mode=mode, symbolic=False) for mode in ("strict", "lenient")}


def completion(row):
    if "completion" in row:
        return row["completion"]
    repeat = row["repeat"]
    return repeat.get("before", "") + repeat["unit"] * repeat["count"] + repeat.get("after", "")


@pytest.mark.parametrize("kind", sorted({row["kind"] for row in ROWS}))
def test_answers_are_judged_as_labelled(kind):
    wrong = [
        f"{row['id']} ({row['why']}): {verdict.detail}"
        for row in ROWS
        if row["kind"] == kind
        for verdict in [VERIFIERS[row["mode"]].verify(completion(row), row["reference"])]
        if verdict.passed != row["label"]
    ]
    assert wrong == []
