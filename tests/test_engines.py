"""Engines are probed by a real job, and a missing one says how to get it."""

import re
from importlib import metadata

import pytest

from rewardkit import _install, engines
from rewardkit._probes import ProgramProbe, PythonProbe
from rewardkit.errors import ConfigError, EngineMissingError


def program(*steps, program="sh", **options):
    return ProgramProbe(program, (), steps, **options)()


def test_a_program_that_answers_works():
    assert program(["sh", "-c", "echo $((6 * 7))"]).works


def test_a_program_that_is_not_here_is_not_broken_but_absent():
    finding = program(["no-such-program"], program="no-such-program")
    assert finding == engines.Finding(False, detail="not on PATH", found=False)


@pytest.mark.parametrize(
    ("steps", "detail"),
    [
        ([["sh", "-c", "echo 41"]], "answered '41'"),
        ([["sh", "-c", "echo no toolchain >&2; exit 3"], ["sh", "-c", "echo 42"]], "no toolchain"),
        ([["sh", "-c", "exit 3"]], "sh ended with 3"),
        ([["./never-built"]], "./never-built: No such file or directory"),
    ],
)
def test_a_program_that_fails_its_job_says_why(steps, detail):
    finding = program(*steps)
    assert (finding.works, finding.detail, finding.found) == (False, detail, True)


def test_a_program_that_hangs_is_given_up():
    finding = program(["sh", "-c", "sleep 600"], timeout_s=0.2)
    assert (finding.works, finding.detail) == (False, "no answer within 0.2 s")


def test_a_job_runs_on_its_own_files_in_its_own_folder():
    assert program(["sh", "-c", "cat answer; ls | wc -l"], files={"answer": "42\n"}).works


def test_a_version_is_read_wherever_the_program_puts_it():
    probe = ProgramProbe(
        "sh", ["-c", "echo 'java version \"17.0.15\" 2025' >&2"], [["sh", "-c", "echo 42"]]
    )
    assert probe().version == "17.0.15"


def test_a_python_package_that_computes_works_and_states_its_version():
    finding = PythonProbe("mpmath", "import mpmath; assert mpmath.mpf(2) ** 3 == 8")()
    assert finding.works
    assert re.match(r"\d+\.\d+", finding.version)


def test_a_python_package_that_is_not_installed_is_absent():
    finding = PythonProbe("no-such-distribution-here", "pass")()
    assert finding == engines.Finding(False, detail="not installed", found=False)


@pytest.mark.parametrize(
    ("code", "detail"),
    [
        ("raise RuntimeError('wrong ABI')", "RuntimeError: wrong ABI"),
        ("import os; os.abort()", "was killed by SIGABRT"),
    ],
)
def test_a_python_package_that_breaks_is_broken_and_does_not_take_us_along(code, detail):
    finding = PythonProbe("mpmath", code)()
    assert not finding.works
    assert finding.version
    assert detail in finding.detail


def test_probes_come_back_in_the_order_of_the_engines():
    slow = engines.Engine(
        "slow", "", "", ProgramProbe("sh", (), [["sh", "-c", "sleep .2; echo 42"]])
    )
    fast = engines.Engine("fast", "", "", ProgramProbe("sh", (), [["sh", "-c", "echo 41"]]))
    statuses = engines.probe_engines([slow, fast], parallel=2)
    assert [(s.engine.name, s.finding.works) for s in statuses] == [("slow", True), ("fast", False)]


def test_no_parallel_probe_at_all_is_refused():
    with pytest.raises(ConfigError, match="at least 1, not 0"):
        engines.probe_engines([], parallel=0)


def test_every_engine_has_its_own_name_and_says_how_to_get_it():
    names = [engine.name for engine in engines.ENGINES]
    assert len(set(names)) == len(names)
    for engine in engines.ENGINES:
        assert engine.used_by
        assert re.match(r"pip|apt-get|see https://|sysctl|dotnet", engine.install), engine


def test_a_present_extra_is_accepted(monkeypatch):
    monkeypatch.setitem(_install.EXTRAS, "fake", ("json", "mpmath"))
    engines.require_extra("fake")


def test_a_missing_extra_names_the_packages_and_the_command(monkeypatch):
    monkeypatch.setitem(_install.EXTRAS, "fake", ("json", "no_such_package", "nor_this"))
    with pytest.raises(
        EngineMissingError, match="not installed here: no_such_package, nor_this"
    ) as e:
        engines.require_extra("fake")
    assert e.value.engine == "no_such_package, nor_this"
    assert e.value.install.startswith("pip install ")
    assert "[fake]" in e.value.install
    assert isinstance(e.value, ImportError)


@pytest.mark.parametrize(
    ("origin", "command"),
    [
        (None, "pip install 'rewardkit[math]'"),
        (
            '{"url": "file:///home/a%20b/rewardkit", "dir_info": {"editable": true}}',
            "pip install -e '/home/a b/rewardkit[math]'",
        ),
        ('{"url": "file:///srv/rewardkit", "dir_info": {}}', "pip install '/srv/rewardkit[math]'"),
        (
            '{"url": "file:///srv/rewardkit-1.whl", "archive_info": {}}',
            "pip install 'rewardkit[math] @ file:///srv/rewardkit-1.whl'",
        ),
    ],
)
def test_the_install_command_fits_how_rewardkit_was_installed(monkeypatch, origin, command):
    class Installed:
        def read_text(self, name):
            return origin if name == "direct_url.json" else pytest.fail(name)

    monkeypatch.setattr(metadata, "distribution", lambda name: Installed())
    assert engines.install_command("math") == command


def test_a_checkout_on_the_path_without_an_install_gets_a_command_too(monkeypatch):
    def not_installed(name):
        raise metadata.PackageNotFoundError(name)

    monkeypatch.setattr(metadata, "distribution", not_installed)
    assert engines.install_command("data") == "pip install 'rewardkit[data]'"


def test_an_extra_is_extended_here_and_a_system_package_by_its_own_command():
    probe = ProgramProbe("sh", (), [["true"]])
    assert engines.Engine("a", "", "[math]", probe).install == engines.install_command("math")
    assert engines.Engine("b", "", "apt-get install b", probe).install == "apt-get install b"


def test_the_extras_of_the_package_are_the_ones_the_doctor_knows(root):
    import tomllib

    project = tomllib.loads((root / "pyproject.toml").read_text("utf-8"))["project"]
    extras = set(project["optional-dependencies"]) - {"all", "dev", "docs", "test"}
    with_packages = {e for e in extras if project["optional-dependencies"][e]}
    assert with_packages == set(engines.EXTRAS)
