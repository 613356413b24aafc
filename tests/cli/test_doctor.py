"""`rewardkit doctor` tells what works here, as a table and as JSON."""

import json
import sys

import pytest
import typer
from typer.testing import CliRunner

from rewardkit._probes import ProgramProbe
from rewardkit.cli.doctor import doctor
from rewardkit.engines import Engine


def sh(command):
    return ProgramProbe("sh", ["-c", "echo sh 1.2.3"], [["sh", "-c", command]])


@pytest.fixture
def run(monkeypatch):
    """Runs the command on three small engines: one works, one is broken, one is absent."""
    table = (
        Engine("sound", "math", "[math]", sh("echo 42")),
        Engine("rusty", "code", "apt-get install rusty", sh("echo [no] toolchain; exit 1")),
        Engine(
            "gone", "lean", "see https://example.org", ProgramProbe("no-such", (), [["no-such"]])
        ),
    )
    monkeypatch.setattr("rewardkit.engines.ENGINES", table)
    app = typer.Typer()
    app.command()(doctor)
    return lambda *arguments: CliRunner().invoke(app, arguments, env={"COLUMNS": "60"})


def test_the_table_tells_working_broken_and_absent_apart(run):
    result = run()
    assert result.exit_code == 0
    rows = {line.split()[1]: line.split() for line in result.stdout.splitlines() if "│" in line}
    assert rows["sound"][3:6:2] == ["yes", "1.2.3"]
    assert rows["rusty"][3] == "broken"
    assert rows["gone"][3] == "no"


def test_commands_for_the_missing_ones_stand_whole_on_one_line(run):
    lines = run().stdout.splitlines()
    assert "gone: see https://example.org" in lines
    assert "rusty: apt-get install rusty  ([no] toolchain)" in lines
    assert not any(line.startswith("sound:") for line in lines)


def test_json_holds_the_machine_and_every_engine(run):
    report = json.loads(run("--json").stdout)
    assert report["machine"]["cpus"] >= 1
    assert report["machine"]["memory_gib"] > 0
    assert report["foreign"] == []
    assert [(e["name"], e["works"], e["version"]) for e in report["engines"]] == [
        ("sound", True, "1.2.3"),
        ("rusty", False, "1.2.3"),
        ("gone", False, ""),
    ]


@pytest.mark.parametrize("arguments", [(), ("--json",)])
def test_another_rewardkit_beside_ours_is_reported_and_ends_with_one(run, monkeypatch, arguments):
    # By name: the package's attribute `doctor` is the command, which hides the module.
    module = sys.modules["rewardkit.cli.doctor"]
    monkeypatch.setattr(module, "foreign_distributions", lambda: ["harbor-rewardkit [0] is here."])
    result = run(*arguments)
    assert result.exit_code == 1
    assert "harbor-rewardkit [0] is here." in result.stdout
