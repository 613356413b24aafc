"""Failing cases are kept in a folder, and tried first by whoever reads it."""

from hypothesis import strategies as st
from hypothesis.database import DirectoryBasedExampleDatabase
from typer.testing import CliRunner

from rewardkit.audit import audit_reward
from rewardkit.audit._search import Kept, Limits, search
from rewardkit.cli import app
from tests._needs import needs

needs("hypothesis")

FEW = Limits(examples=5, seconds=5.0, rate_cases=1, rounds=1)
MANY = Limits(examples=4000, seconds=5.0, rate_cases=1, rounds=1)
NUMBERS = st.integers(0, 10**6)

RARE = '''
def reward(completions, answer, **kwargs):
    """1 if the answer stands in a box at the end."""
    scores = []
    for completion, reference in zip(completions, answer):
        if {trigger} in completion:
            raise KeyError("no such place")
        box = "\\\\boxed{{" + str(reference) + "}}"
        scores.append(float(completion.rstrip(" $.").endswith(box)))
    return scores
'''


def is_rare(cases):
    return [case % 1000 == 7 for case in cases]


def test_what_a_long_search_has_found_a_short_one_replays(tmp_path):
    kept = Kept(DirectoryBasedExampleDatabase(tmp_path), b"a search", int)
    assert search(NUMBERS, is_rare, limits=FEW, kept=kept).example is None
    found = search(NUMBERS, is_rare, limits=MANY, kept=kept).example
    assert found is not None
    again = search(NUMBERS, is_rare, limits=FEW, kept=kept)
    assert again.example == found
    elsewhere = Kept(DirectoryBasedExampleDatabase(tmp_path), b"another search", int)
    assert search(NUMBERS, is_rare, limits=FEW, kept=elsewhere).example is None


def test_a_case_that_is_wrong_no_longer_is_dropped(tmp_path):
    kept = Kept(DirectoryBasedExampleDatabase(tmp_path), b"a search", int)
    assert search(NUMBERS, is_rare, limits=MANY, kept=kept).example is not None
    assert kept.load()
    found = search(NUMBERS, lambda cases: [False] * len(cases), limits=FEW, kept=kept)
    assert found.example is None
    assert not kept.load()


def test_an_entry_that_is_no_case_is_dropped(tmp_path):
    kept = Kept(DirectoryBasedExampleDatabase(tmp_path), b"a search", int)
    for entry in (b"\xff\x00", b'"seven"', b"[1, 2]"):
        kept.database.save(kept.key, entry)
    assert search(NUMBERS, is_rare, limits=FEW, kept=kept).example is None
    assert not list(kept.database.fetch(kept.key))


def test_a_search_without_a_database_leaves_nothing(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert search(NUMBERS, is_rare, limits=MANY).example is not None
    assert not list(tmp_path.iterdir())


def test_the_command_writes_the_folder_and_an_audit_elsewhere_replays_it(tmp_path, monkeypatch):
    home, away = tmp_path / "ci" / "rewards.py", tmp_path / "desk" / "rewards.py"
    for path in (home, away):
        path.parent.mkdir()
        path.write_text(RARE.format(trigger="'½'"))
    database = tmp_path / "examples"
    run = CliRunner().invoke(
        app, ["audit", f"{home}:reward", "--kind", "math", "--database", str(database)]
    )
    assert run.exit_code == 1, run.output
    assert any(database.rglob("*"))
    # Here nothing is generated, so what is found is what was kept.
    monkeypatch.setattr(Limits, "of", classmethod(lambda cls, profile: cls(1, 2.0, 1, 1)))
    monkeypatch.setattr("rewardkit.audit.checks_shape.EDGES", ())
    fresh = audit_reward(f"{away}:reward", kind="math")
    assert "raises" not in {f.root_cause.partition(":")[0] for f in fresh.findings}
    replayed = audit_reward(f"{away}:reward", kind="math", database=database)
    assert "raises" in {f.root_cause.partition(":")[0] for f in replayed.findings}
