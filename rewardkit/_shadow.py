"""Notices that another distribution's `rewardkit` stands where this one should.

`harbor-rewardkit` installs an import package of the same name. Whichever of the two is installed
last overwrites `rewardkit/__init__.py` and leaves the other's remaining modules around it.
Uninstalling either one then deletes that file for both.

Code of ours runs in that state only when a module that the other package lacks is imported:
`rewardkit.verdict`, `rewardkit.verifiers.math`, an adapter. All of them import `rewardkit.errors`,
which asks `foreign_package` once. `rewardkit-doctor` answers where not even that is reachable.
"""

import sys
from pathlib import Path
from types import ModuleType

__all__ = ["FOREIGN_DISTRIBUTION", "REPAIR", "foreign_distributions", "foreign_package"]

FOREIGN_DISTRIBUTION = "harbor-rewardkit"
"""The distribution on the package index that is known to install an import package `rewardkit`."""

REPAIR = (
    f"uninstall {FOREIGN_DISTRIBUTION} (pip uninstall {FOREIGN_DISTRIBUTION}) and then install this"
    " package again (pip install --force-reinstall --no-deps, with the path or name it came from);"
    " the two cannot share one environment"
)


def foreign_package(package: ModuleType | None = None) -> str | None:
    """Returns one sentence on what is wrong if `package` is not this distribution's, else None.

    Args:
        package: the imported module `rewardkit`; by default the one in `sys.modules`.

    >>> foreign_package() is None
    True
    """
    package = package or sys.modules["rewardkit"]
    if package.__dict__.get("__distribution__") == "rewardkit":
        return None
    file = package.__dict__.get("__file__")
    if file is None:
        where = ", ".join(getattr(package, "__path__", ())) or "its folder"
        return f"The file rewardkit/__init__.py is gone from {where}: {REPAIR}."
    return f"{file} belongs to another distribution, not to this rewardkit: {REPAIR}."


def foreign_distributions() -> list[str]:
    """Returns one sentence for each installed distribution that also brings a package `rewardkit`.

    They are found by what the installer recorded, so one that was unpacked by hand is not seen.
    """
    # Not at the top: it brings an e-mail parser, half of what `import rewardkit` costs.
    from importlib.metadata import distributions

    ours = Path(__file__).resolve().parent
    sentences = []
    for found in distributions():
        files = {str(file): file for file in found.files or ()}
        if found.name == "rewardkit" or "rewardkit/__init__.py" not in files:
            continue
        theirs = Path(str(files["rewardkit/__init__.py"].locate())).resolve().parent
        if theirs == ours:
            what = f"shares the folder {ours} with this package and is broken by it"
        else:
            what = f"is in {theirs}: which of the two is imported depends on the path"
        sentences.append(f"{found.name} {found.version} {what}; {REPAIR}.")
    return sentences
