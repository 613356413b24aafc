"""What a test needs and a machine lacks is a skip at home and a failure where CI is set."""

import json
import os

import pytest

from tests._needs import missing, needs, needs_program

LACKING = [
    lambda: missing("no such thing"),
    lambda: needs("no_such_package_at_all.inner"),
    lambda: needs_program("no-such-program", get="apt-get install it"),
]


@pytest.mark.parametrize("ask", LACKING)
def test_what_is_missing_is_skipped_at_home_with_its_reason(monkeypatch, ask):
    monkeypatch.delenv("CI", raising=False)
    with pytest.raises(pytest.skip.Exception, match=r"no.such"):
        ask()


@pytest.mark.parametrize("ask", LACKING)
def test_what_is_missing_fails_where_ci_is_set(monkeypatch, ask):
    monkeypatch.setenv("CI", "true")
    with pytest.raises(pytest.fail.Exception, match=r"no.such"):
        ask()


def test_what_is_here_is_given():
    assert needs("json") is json
    assert needs("os.path") is os.path
    assert needs_program("no-such-program", "sh", get="").endswith("/sh")


def test_a_package_that_is_here_and_broken_is_not_skipped(tmp_path, monkeypatch):
    (tmp_path / "broken_package_here.py").write_text("import no_such_dependency\n")
    monkeypatch.syspath_prepend(tmp_path)
    with pytest.raises(ModuleNotFoundError, match="no_such_dependency"):
        needs("broken_package_here")
