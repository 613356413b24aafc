"""What is built, installed in a fresh environment, is the whole package and nothing else."""

import email
import json
import shutil
import tarfile
import zipfile

import pytest

import rewardkit
from rewardkit._install import EXTRAS
from tests._venvs import build, make_venv

SOURCE_ROOTS = ("rewardkit", "adapters")

# Prints each module of ours as it is imported, and what a private one lacks of an extra.
IMPORT_ALL = """
import importlib, json, pkgutil
report = {}
for root in ROOTS:
    package = importlib.import_module(root)
    for found in pkgutil.walk_packages(package.__path__, root + "."):
        if found.name.endswith(".__main__"):
            continue
        try:
            importlib.import_module(found.name)
            report[found.name] = None
        except ModuleNotFoundError as error:
            report[found.name] = error.name.partition(".")[0]
        except Exception as error:
            if type(error).__name__ != "EngineMissingError":
                raise
            report[found.name] = str(error).partition("here: ")[2].partition(".")[0]
print(json.dumps(report))
"""


def sources(root):
    """Returns each Python file's name as an import would find it."""
    files = set()
    for folder in SOURCE_ROOTS:
        base = root if folder == "rewardkit" else root / folder
        for path in (root / folder).rglob("*.py"):
            files.add(path.relative_to(base).as_posix())
    return files


def adapters(root):
    return sorted(path.parent.name for path in (root / "adapters").glob("*/__init__.py"))


@pytest.fixture(scope="module")
def installed(built, package_index, tmp_path_factory):
    """A fresh environment with the wheel and its core dependencies."""
    fresh = make_venv(tmp_path_factory.mktemp("wheel"))
    fresh.pip("install", built[1])
    return fresh


def test_the_wheel_holds_every_module_under_the_name_that_imports_it(built, root):
    names = zipfile.ZipFile(built[1]).namelist()
    modules = {name for name in names if name.endswith(".py")}
    assert modules == sources(root)
    assert {f"{package}/py.typed" for package in ["rewardkit", *adapters(root)]} <= set(names)


def test_the_wheel_holds_no_tests_docs_or_caches(built):
    tops = {name.split("/")[0] for name in zipfile.ZipFile(built[1]).namelist()}
    # The two that pytest and hypothesis load by entry point are modules of their own.
    plugins = {"_rewardkit_hypothesis.py", "_rewardkit_pytest.py"}
    assert not {t for t in tops - plugins if not t.startswith("rewardkit")}
    assert not [n for n in zipfile.ZipFile(built[1]).namelist() if "__pycache__" in n]


def test_the_metadata_states_version_license_and_python(built):
    wheel = zipfile.ZipFile(built[1])
    name = next(n for n in wheel.namelist() if n.endswith(".dist-info/METADATA"))
    metadata = email.message_from_bytes(wheel.read(name))
    assert metadata["Version"] == rewardkit.__version__
    assert metadata["License-Expression"] == "Apache-2.0"
    assert metadata["Requires-Python"] == ">=3.11"
    assert any(n.endswith("licenses/LICENSE") for n in wheel.namelist())


def test_the_core_needs_no_framework(built):
    wheel = zipfile.ZipFile(built[1])
    name = next(n for n in wheel.namelist() if n.endswith(".dist-info/METADATA"))
    needs = email.message_from_bytes(wheel.read(name)).get_all("Requires-Dist")
    core = " ".join(need for need in needs if "extra ==" not in need)
    for heavy in ("torch", "sympy", "pyarrow", "datasets", "transformers", "numpy"):
        assert heavy not in core


def test_the_sdist_holds_what_it_takes_to_test_and_to_build_again(built):
    with tarfile.open(built[0]) as archive:
        names = {name.partition("/")[2] for name in archive.getnames()}
    wanted = {"pyproject.toml", "README.md", "LICENSE", "Makefile", "mkdocs.yml", "CHANGELOG.md"}
    wanted |= {"fixtures/demo/math.jsonl", "tests/test_package.py", "docs/index.md"}
    assert wanted <= names
    assert not {name.split("/")[0] for name in names} & {".venv", "out", "dist", "site", ".git"}


@pytest.mark.network
def test_every_public_module_imports_without_any_extra(installed, root):
    done = installed.python(f"ROOTS = {['rewardkit', *adapters(root)]}{IMPORT_ALL}")
    assert done.returncode == 0, done.stderr
    lacking = {name: lacks for name, lacks in json.loads(done.stdout).items() if lacks}
    # The included trainer is a package for torch: it imports by its name, and its modules need it.
    trainer = {name for name in lacking if name.startswith("rewardkit_grpo.")}
    assert {lacking.pop(name) for name in trainer} <= set(EXTRAS["grpo"])
    # So are the two packages of property tests, whose strategies are hypothesis's.
    tested = {name for name in lacking if name.startswith(("rewardkit.audit", "rewardkit.testing"))}
    assert {lacking.pop(name) for name in tested} <= set(EXTRAS["audit"])
    assert not {n: lacks for n, lacks in lacking.items() if "._" not in n}
    brought = {name for names in EXTRAS.values() for name in names}
    assert set(lacking.values()) <= brought


@pytest.mark.network
def test_the_installed_package_is_typed_and_states_its_version(installed):
    done = installed.python(
        "import rewardkit, importlib.resources as r, importlib.metadata as m\n"
        "assert (r.files('rewardkit') / 'py.typed').is_file()\n"
        "assert m.version('rewardkit') == rewardkit.__version__\n"
        "print(rewardkit.__version__)"
    )
    assert done.stdout.strip() == rewardkit.__version__, done.stderr


@pytest.mark.network
@pytest.mark.parametrize("program", ["rewardkit", "rewardkit-doctor"])
def test_the_commands_answer(installed, program):
    done = installed.run(program, "--help")
    assert done.returncode == 0, done.stderr
    assert "Usage" in done.stdout


@pytest.mark.network
def test_the_doctor_of_a_light_install_says_how_to_add_the_extras(installed, built):
    done = installed.run("rewardkit-doctor", "--json")
    assert done.returncode == 0, done.stderr
    engines = {engine["name"]: engine for engine in json.loads(done.stdout)["engines"]}
    assert not engines["sympy"]["works"]
    # It was installed from a file, so that is where the extra is to come from.
    assert engines["sympy"]["install"] == f"pip install 'rewardkit[math] @ file://{built[1]}'"


@pytest.fixture
def tree_with_an_adapter(root, tmp_path):
    """A copy of the tree with one more package in adapters/, which nothing else mentions."""
    tree = tmp_path / "tree"
    leave = shutil.ignore_patterns("__pycache__")
    for folder in SOURCE_ROOTS:
        shutil.copytree(root / folder, tree / folder, ignore=leave)
    for file in ("pyproject.toml", "README.md", "LICENSE"):
        shutil.copy(root / file, tree)
    inner = tree / "adapters" / "rewardkit_newtrainer" / "inner"
    inner.mkdir(parents=True)
    (inner.parent / "__init__.py").write_text("from rewardkit.verdict import Verdict\n")
    (inner / "__init__.py").write_text("")
    (inner / "leaf.py").write_text("NAME = 'leaf'\n")
    return tree


USE_ADAPTER = (
    "import rewardkit_newtrainer.inner.leaf as leaf, rewardkit_newtrainer as top\n"
    "print(leaf.NAME, top.Verdict.__module__, leaf.__file__)"
)


def test_a_package_put_into_adapters_ships_in_the_wheel(tree_with_an_adapter, tmp_path):
    _, wheel = build(tree_with_an_adapter, tmp_path / "dist")
    fresh = make_venv(tmp_path / "venv")
    fresh.pip("install", "--no-deps", "--no-index", wheel)
    done = fresh.python(USE_ADAPTER)
    assert done.stdout.split() == [
        "leaf",
        "rewardkit.verdict",
        str(fresh.site / "rewardkit_newtrainer/inner/leaf.py"),
    ], done.stderr


@pytest.mark.network
def test_a_package_put_into_adapters_is_there_in_an_editable_install(
    tree_with_an_adapter, tmp_path, package_index
):
    fresh = make_venv(tmp_path / "venv")
    fresh.pip("install", "--no-deps", "--editable", tree_with_an_adapter)
    edited = tree_with_an_adapter / "adapters/rewardkit_newtrainer/inner/leaf.py"
    edited.write_text("NAME = 'edited'\n")
    done = fresh.python(USE_ADAPTER)
    assert done.stdout.split() == ["edited", "rewardkit.verdict", str(edited)], done.stderr
