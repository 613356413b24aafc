"""`harbor-rewardkit` brings a package of our name: installed for real, in every order."""

import importlib
import importlib.util
import sys
import types
from importlib.machinery import ModuleSpec

import pytest

import rewardkit_doctor
from rewardkit._shadow import foreign_distributions, foreign_package
from tests._venvs import make_venv

# The newest release that this Python can import; pip itself offers none to Python 3.11.
HARBOR = "0.2.3" if sys.version_info >= (3, 12) else "0.1.0"
USE_OURS = "from rewardkit.verdict import Verdict; print(Verdict.__module__)"
RAISED = "rewardkit.errors.ShadowedPackageError: "


def install_harbor(fresh):
    fresh.pip("install", "--no-deps", "--ignore-requires-python", f"harbor-rewardkit=={HARBOR}")
    # Harbor's own import needs two packages. The environment may lend the first; the second is
    # 300 MB that play no part here, so an empty module takes its place.
    if not importlib.util.find_spec("pydantic"):
        fresh.pip("install", "pydantic")
    (fresh.site / "litellm.py").write_text("")


@pytest.fixture
def fresh(tmp_path, package_index):
    return make_venv(tmp_path / "venv", lend=True)


def install_ours(fresh, built):
    fresh.pip("install", "--no-deps", "--ignore-installed", built[1])


@pytest.mark.network
@pytest.mark.slow
def test_harbor_installed_after_ours_is_refused_by_every_module_of_ours(fresh, built):
    install_ours(fresh, built)
    install_harbor(fresh)
    assert "run_multi" in fresh.python("import rewardkit; print(dir(rewardkit))").stdout
    for module in ("verdict", "verifier", "engines", "cli.doctor"):
        done = fresh.python(f"import rewardkit.{module}")
        last = done.stderr.strip().splitlines()[-1]
        assert last.startswith(RAISED), (module, done.stderr)
        assert "belongs to another distribution" in last
        assert "pip uninstall harbor-rewardkit" in last
    doctor = fresh.run("rewardkit-doctor")
    assert doctor.returncode == 1
    assert "imports another distribution's package" in doctor.stderr


@pytest.mark.network
@pytest.mark.slow
def test_the_advice_repairs_the_installation(fresh, built):
    install_ours(fresh, built)
    install_harbor(fresh)
    fresh.pip("uninstall", "--yes", "harbor-rewardkit")
    # Uninstalling takes our __init__.py along, since both distributions claim that file.
    done = fresh.python(USE_OURS)
    assert done.stderr.strip().splitlines()[-1].startswith(RAISED), done.stderr
    assert "rewardkit/__init__.py is gone" in done.stderr
    assert "rewardkit/__init__.py is gone" in fresh.run("rewardkit-doctor").stderr
    fresh.pip("install", "--force-reinstall", "--no-deps", built[1])
    assert fresh.python(USE_OURS).stdout.strip() == "rewardkit.verdict"
    assert fresh.run("rewardkit-doctor", "--json").returncode == 0


@pytest.mark.network
@pytest.mark.slow
def test_harbor_installed_before_ours_leaves_ours_working_and_the_doctor_says_so(fresh, built):
    install_harbor(fresh)
    install_ours(fresh, built)
    assert fresh.python(USE_OURS).stdout.strip() == "rewardkit.verdict"
    doctor = fresh.run("rewardkit-doctor")
    assert doctor.returncode == 1
    assert f"harbor-rewardkit {HARBOR} shares the folder" in doctor.stdout, doctor.stderr


@pytest.mark.network
@pytest.mark.slow
def test_harbor_in_front_of_an_editable_install_is_seen_by_the_doctor(fresh, root):
    fresh.pip("install", "--no-deps", "--ignore-installed", "--no-build-isolation", "-e", root)
    install_harbor(fresh)
    hidden = fresh.run("rewardkit-doctor")
    assert hidden.returncode == 1
    assert "imports another distribution's package" in hidden.stderr
    # In the checkout the current folder comes first, and the conflict is still worth a word.
    inside = fresh.run("python", "-m", "rewardkit_doctor", cwd=root)
    assert inside.returncode == 1
    assert "which of the two is imported depends on the path" in inside.stdout, inside.stderr


def test_our_own_package_is_not_foreign():
    assert foreign_package() is None
    assert foreign_distributions() == []


def test_a_package_without_our_mark_is_named_by_its_file():
    theirs = types.ModuleType("rewardkit")
    theirs.__file__ = "/site/rewardkit/__init__.py"
    theirs.__getattr__ = lambda name: pytest.fail("nothing of a foreign module is run")
    sentence = foreign_package(theirs)
    assert sentence.startswith("/site/rewardkit/__init__.py belongs to another distribution")
    assert sentence.count(". ") == 0


def test_a_folder_without_an_init_file_is_named():
    left = types.ModuleType("rewardkit")
    left.__path__ = ["/site/rewardkit"]
    assert "rewardkit/__init__.py is gone from /site/rewardkit" in foreign_package(left)


def test_a_recorded_distribution_in_another_folder_is_listed(tmp_path, monkeypatch):
    info = tmp_path / "other_kit-3.1.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.4\nName: other-kit\nVersion: 3.1\n")
    (info / "RECORD").write_text("rewardkit/__init__.py,,\nother_kit-3.1.dist-info/RECORD,,\n")
    monkeypatch.syspath_prepend(tmp_path)
    (sentence,) = foreign_distributions()
    assert sentence.startswith(f"other-kit 3.1 is in {tmp_path}/rewardkit: which of the two")


def spec_of(file):
    return ModuleSpec("rewardkit", None, origin=None if file is None else str(file))


def test_the_separate_doctor_reads_whose_package_it_is_without_importing_it(tmp_path, monkeypatch):
    theirs = tmp_path / "__init__.py"
    theirs.write_text("raise SystemExit('nothing of a foreign module is run')")
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: spec_of(theirs))
    assert f"another distribution's package: {theirs}" in rewardkit_doctor.what_hides_rewardkit()
    with pytest.raises(SystemExit, match="another distribution's package"):
        rewardkit_doctor.main()


@pytest.mark.parametrize(
    ("spec", "sentence"),
    [
        (None, "No package rewardkit can be imported here."),
        (spec_of(None), "The file rewardkit/__init__.py is gone from"),
    ],
)
def test_the_separate_doctor_tells_what_is_missing(monkeypatch, spec, sentence):
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: spec)
    assert rewardkit_doctor.what_hides_rewardkit().startswith(sentence)


def test_the_separate_doctor_is_the_doctor_where_nothing_hides_it(monkeypatch):
    called = []
    module = importlib.import_module("rewardkit.cli.doctor")
    monkeypatch.setattr(module, "main", lambda: called.append(True))
    rewardkit_doctor.main()
    assert called == [True]
