"""A reward in a verifier's place: what its verdicts say, and what the scored file holds."""

import asyncio
import pickle

import pytest

from rewardkit import Gate, Reason, Reward
from rewardkit.datasets.writers import write_rows
from rewardkit.errors import ConfigError, DataError, InvalidReferenceError
from rewardkit.labels.rows import read_scored_rows
from rewardkit.reward_file import load_reward
from rewardkit.scoring import RewardVerifier, read_scored, score_file
from rewardkit.shaping import GroupLength
from tests._needs import needs
from tests.scoring.exact import ExactVerifier


def brevity(completions, /, **columns):
    return [-len(text) / 10 for text in completions]


def reward():
    return Reward(
        {"brief": brevity, "exact": ExactVerifier(), "folded": ExactVerifier(fold_case=True)},
        weights={"brief": 0.5, "exact": 2.0, "folded": 0.0},
    )


ROWS = [
    {"completion": "four", "reference": "four"},
    {"completion": "FOUR", "reference": "four"},
    {"completion": "unsure", "reference": "four"},
]
TOTALS = [2 - 0.2, -0.2, None]


def test_the_verdict_is_that_of_the_first_verifier_with_a_weight():
    found = RewardVerifier(reward()).verify("FOUR", "four")
    assert (found.score, found.reason, found.answer) == (0.0, Reason.MISMATCH, "FOUR")
    told = found.evidence["reward"]
    assert told["total"] == pytest.approx(-0.2)
    assert told["components"] == {"brief": -0.4, "exact": 0.0, "folded": 1.0}
    assert told["graded_by"] == "exact"
    assert told["verdicts"]["folded"]["reason"] == "match"
    assert found.evidence["tier"] == "word"


def test_a_gate_does_not_grade_and_without_weights_the_first_verifier_does():
    gated = Reward(
        {"format": ExactVerifier(fold_case=True), "exact": ExactVerifier()},
        gates={"format": Gate()},
    )
    assert RewardVerifier(gated).verify("FOUR", "four").evidence["reward"]["graded_by"] == "exact"
    free = Reward({"a": ExactVerifier(), "brief": brevity}, weights={"a": 0.0})
    assert RewardVerifier(free).verify("four", "four").evidence["reward"]["graded_by"] == "a"


def test_a_reward_without_a_verifier_has_a_verdict_of_its_total():
    verifier = RewardVerifier(Reward({"brief": brevity}, weights={"brief": -0.5}))
    found = [verifier.verify(text, None) for text in ("", "four", "a" * 40)]
    assert [one.score for one in found] == [0.0, 0.2, 1.0]
    assert [one.reason for one in found] == [Reason.MISMATCH, Reason.PARTIAL, Reason.MATCH]
    assert found[2].evidence["reward"]["total"] == 2.0
    silent = RewardVerifier(Reward({"none": lambda completions, /, **c: [None]}))
    assert silent.verify("x", None).score is None


def test_batches_single_calls_and_async_calls_agree():
    verifier = RewardVerifier(reward())
    completions = [row["completion"] for row in ROWS]
    references = [row["reference"] for row in ROWS]
    batch = verifier.verify_batch(completions, references)
    single = [verifier.verify(c, r) for c, r in zip(completions, references)]
    awaited = [asyncio.run(verifier.averify(c, r)) for c, r in zip(completions, references)]

    def plain(verdicts):
        return [{**v.to_dict(), "seconds": 0} for v in verdicts]

    assert plain(batch) == plain(single) == plain(awaited)
    with pytest.raises(InvalidReferenceError):
        verifier.verify("x", 7)


def test_what_compares_completions_is_refused():
    inner = Reward({"length": GroupLength(unit="characters")})
    with pytest.raises(ConfigError, match="'outer/length' compares"):
        RewardVerifier(Reward({"outer": inner}))


def test_references_come_under_the_name_that_the_reward_reads():
    made = Reward({"exact": ExactVerifier()}, references={"exact": "answer"})
    verifier = RewardVerifier(Reward({"inner": made}))
    assert verifier.reference == "answer"
    assert verifier.verify("four", "four").passed


@pytest.mark.parametrize("suffix", [".jsonl", ".jsonl.gz", ".parquet"])
def test_a_scored_file_has_totals_and_components(tmp_path, suffix):
    if suffix == ".parquet":
        needs("pyarrow")
    source, out = tmp_path / "in.jsonl", tmp_path / f"out{suffix}"
    write_rows(source, ROWS)
    result = score_file(RewardVerifier(reward()), source, out, config={"reward": "r"})
    rows = list(read_scored(out))
    assert [row["score"] for row in rows] == [
        None if total is None else pytest.approx(total) for total in TOTALS
    ]
    assert [row["components"]["folded"] for row in rows] == [1.0, 1.0, None]
    assert [row["verdict"]["score"] for row in rows] == [1.0, 0.0, None]
    tally = result.tally
    assert (tally.rows, tally.passed, tally.abstained) == (3, 1, 1)
    told = tally.to_dict()["reward"]
    assert told["total"] == {
        "mean": pytest.approx(0.8), "min": pytest.approx(-0.2), "max": pytest.approx(1.8),
        "missing": 1,
    }  # fmt: skip
    assert told["components"]["exact"]["mean"] == 0.5
    # A threshold for labels is one of the verdict's score.
    scored = read_scored_rows(out)
    assert [row.accepted for row in scored.rows.values()] == [True, False]


def test_a_scored_file_can_be_scored_again_by_something_else(tmp_path):
    source, once = tmp_path / "in.jsonl", tmp_path / "once.jsonl"
    write_rows(source, ROWS)
    score_file(RewardVerifier(reward()), source, once, config={"reward": "r"})
    other = Reward({"exact": ExactVerifier()}, weights={"exact": 3.0})
    score_file(RewardVerifier(other), once, tmp_path / "twice.jsonl", config={"reward": "s"})
    [first, *_] = read_scored(tmp_path / "twice.jsonl")
    assert (first["score"], first["components"]) == (3.0, {"exact": 1.0})
    score_file(ExactVerifier(), once, tmp_path / "plain.jsonl", config={"verifier": "exact"})
    [first, *_] = read_scored(tmp_path / "plain.jsonl")
    assert (first["score"], "components" in first) == (1.0, False)


def test_a_column_of_that_name_is_not_overwritten(tmp_path):
    source = tmp_path / "in.jsonl"
    write_rows(source, [{**ROWS[0], "components": 7}])
    with pytest.raises(ConfigError, match="--prefix"):
        score_file(RewardVerifier(reward()), source, tmp_path / "o.jsonl", config={})
    score_file(RewardVerifier(reward()), source, tmp_path / "p.jsonl", config={}, prefix="rk_")
    [row] = read_scored(tmp_path / "p.jsonl")
    assert (row["components"], row["rk_components"]["exact"]) == (7, 1.0)
    score_file(ExactVerifier(), source, tmp_path / "e.jsonl", config={})


def test_a_copy_in_another_process_is_made_of_the_file(tmp_path):
    path = tmp_path / "own_rewards.py"
    path.write_text(
        "from rewardkit import Reward\n"
        "def brief(completions, /, **columns):\n    return [-len(t) for t in completions]\n"
        "reward = Reward({'brief': brief, 'bare': lambda c, /, **_: [1.0] * len(c)})\n"
        "def make():\n    return reward\n"
        "class Kind: pass\nnumber = 7\n"
    )
    source = f"{path}:reward"
    verifier = RewardVerifier(load_reward(source), source=source)
    again = pickle.loads(pickle.dumps(verifier))  # the lambda alone could not be pickled
    assert again.verify("abc", None).evidence["reward"]["total"] == -2.0
    assert load_reward(f"{path}:make") is load_reward(source)
    assert list(load_reward(f"{path}:brief").components) == ["brief"]
    for name, said in (("none", "no object"), ("Kind", "no object"), ("number", "number")):
        with pytest.raises(ConfigError, match=said):
            load_reward(f"{path}:{name}")
    for wrong, said in (("reward", "file.py:name"), (f"{tmp_path}/no.py:x", "no such file"),
                        ("no_module_here:x", "PYTHONPATH")):  # fmt: skip
        with pytest.raises(ConfigError, match=said):
            load_reward(wrong)
    with pytest.raises(DataError):
        load_reward(str(tmp_path / "no.json"))
