"""The report as JSON, as text and as a page; and the command around it."""

import json
import re

import pytest
from typer.testing import CliRunner

from rewardkit.audit import Finding, Level, audit_reward, render_text
from rewardkit.audit.page import render_page
from rewardkit.cli import app
from rewardkit.errors import ConfigError

REWARD = '''
def reward(completions, answer, **kwargs):
    """1 if the answer stands in the text."""
    return [float(a in c) for c, a in zip(completions, answer)]


def form(completions, **kwargs):
    return [1.0 if c.startswith("<think>") else 0.0 for c in completions]
'''


@pytest.fixture(scope="module")
def audited(tmp_path_factory):
    """One run of the command on a reward with a hole."""
    folder = tmp_path_factory.mktemp("audit")
    (folder / "holey_rewards.py").write_text(REWARD)
    result = CliRunner().invoke(
        app,
        [
            "audit", f"{folder}/holey_rewards.py:reward", "--kind", "math",
            "--json", f"{folder}/out.json", "--html", f"{folder}/out.html",
        ],
    )  # fmt: skip
    return folder, result


def test_a_finding_of_the_level_exits_with_1(audited):
    _, result = audited
    assert result.exit_code == 1
    assert "substring" in result.stdout


def test_findings_are_json_with_the_agreed_keys(audited):
    folder, _ = audited
    data = json.loads((folder / "out.json").read_text())
    (finding,) = data["findings"]
    assert {"property", "level", "root_cause", "example", "test"} <= set(finding)
    assert finding["level"] == "contract"
    assert finding["root_cause"].startswith("substring:")


def test_the_test_of_a_finding_fails_on_the_hole_and_passes_without_it(audited, monkeypatch):
    folder, _ = audited
    monkeypatch.syspath_prepend(str(folder))
    finding = json.loads((folder / "out.json").read_text())["findings"][0]
    space = {}
    exec(finding["test"], space)
    test = next(value for name, value in space.items() if name.startswith("test_"))
    with pytest.raises(AssertionError):
        test()
    import holey_rewards

    monkeypatch.setattr(holey_rewards, "reward", lambda completions, answer: [0.0])
    test()


def test_the_page_is_one_file_that_escapes_all_text(audited):
    folder, _ = audited
    page = (folder / "out.html").read_text()
    assert "Content-Security-Policy" in page
    assert "<script" not in page
    assert not re.search(r'(src|href)="http', page)


def test_a_page_shows_hostile_text_as_text(audited):
    folder, _ = audited
    report = audit_reward(f"{folder}/holey_rewards.py:form", kind="format")
    evil = Finding("x", Level.CONTRACT, "a: <script>", "<script>alert(1)</script>", "")
    shown = render_page(report.__class__(**{**_fields(report), "findings": (evil,)}))
    assert "<script" not in shown
    assert "&lt;script&gt;" in shown


def _fields(report):
    return {name: getattr(report, name) for name in report.__dataclass_fields__}


@pytest.mark.parametrize(
    "arguments",
    [
        ["audit", "no_colon"],
        ["audit", "missing.py:reward"],
        ["audit", "no_such_module_here:reward"],
        ["audit", "rewardkit.verdict:Reason", "--kind", "nonsense"],
    ],
)
def test_a_mistake_of_the_caller_exits_with_2(arguments):
    result = CliRunner().invoke(app, arguments)
    assert result.exit_code == 2


def test_an_attribute_that_is_not_there_is_named(audited):
    folder, _ = audited
    with pytest.raises(ConfigError, match="nothing_here"):
        audit_reward(f"{folder}/holey_rewards.py:nothing_here")


def test_the_text_lists_what_was_found(audited):
    folder, _ = audited
    text = render_text(audit_reward(f"{folder}/holey_rewards.py:form", kind="format"))
    assert "grade" in text
