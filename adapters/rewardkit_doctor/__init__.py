"""The command `rewardkit-doctor`: answers even where another `rewardkit` hides this one.

A package of its own, because code under `rewardkit/` cannot run when another distribution's
package of that name comes first on the path, and because no other distribution takes this name.
"""

import importlib.util
import re
import sys
from pathlib import Path

__all__ = ["main", "what_hides_rewardkit"]

_OURS = re.compile(r'^__distribution__ = "rewardkit"$', re.MULTILINE)

_REPAIR = (
    "Uninstall the other distribution (pip uninstall harbor-rewardkit) and install this one again"
    " (pip install --force-reinstall --no-deps, with the path or name it came from)."
)


def what_hides_rewardkit() -> str | None:
    """Returns why `import rewardkit` would not import this distribution's package, or None.

    Nothing of `rewardkit` is imported to find out: its `__init__.py` is read as a file.

    >>> what_hides_rewardkit() is None
    True
    """
    spec = importlib.util.find_spec("rewardkit")
    if spec is None:
        return f"No package rewardkit can be imported here. {_REPAIR}"
    if spec.origin is None:
        folders = ", ".join(spec.submodule_search_locations or ())
        return f"The file rewardkit/__init__.py is gone from {folders}. {_REPAIR}"
    if _OURS.search(Path(spec.origin).read_text("utf-8")):
        return None
    return f"`import rewardkit` imports another distribution's package: {spec.origin}. {_REPAIR}"


def main() -> None:
    """Says what hides rewardkit and exits with 1, or runs `rewardkit doctor`."""
    hidden = what_hides_rewardkit()
    if hidden is not None:
        sys.exit(hidden)
    from rewardkit.cli.doctor import main as doctor_main

    doctor_main()
