"""A module imports only from its own layer and from those below it (docs/design.md)."""

import ast
from pathlib import Path

import pytest

import rewardkit

ROOT = Path(rewardkit.__file__).parent

LAYERS = [
    {"_version", "_install", "_shadow", "errors"},
    {"verdict", "completion", "_active", "_braces", "_spaces"},
    {
        "verifier",
        "answer",
        "_answer_hedges",
        "_answer_marks",
        "fences",
        "runtime",
        "sandbox",
        "noise",
    },
    {"verifiers"},
    {
        "reward",
        "_reward_result",
        "_reward_terms",
        "datasets",
        "_probes",
        "engines",
        "advantages",
        "shaping",
    },
    {"scoring", "shapes", "process", "client", "reward_file"},
    {"labels"},
    {"report"},
    {"audit", "testing", "monitor"},
    {"serve"},
    {"cli"},
    {"__main__"},
]
LEVEL = {name: level for level, names in enumerate(LAYERS) for name in names}


def top_level_name(path: Path) -> str:
    return path.relative_to(ROOT).parts[0].removesuffix(".py")


def imported_names(path: Path) -> set[str]:
    tree = ast.parse(path.read_text(encoding="utf-8"))
    names = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("rewardkit."):
            names.add(node.module.split(".")[1])
        elif isinstance(node, ast.ImportFrom) and node.module == "rewardkit":
            names.update(alias.name for alias in node.names)
        elif isinstance(node, ast.Import):
            names.update(
                a.name.split(".")[1] for a in node.names if a.name.startswith("rewardkit.")
            )
    return names


MODULES = sorted(p for p in ROOT.rglob("*.py") if p != ROOT / "__init__.py")


@pytest.mark.parametrize("path", MODULES, ids=lambda p: str(p.relative_to(ROOT)))
def test_a_module_imports_only_downwards(path):
    own = top_level_name(path)
    assert own in LEVEL, f"give {own} a layer here and in docs/design.md"
    above = {n for n in imported_names(path) if LEVEL.get(n, -1) > LEVEL[own]}
    assert not above
