"""The environment of a process that is to be as fast and as small as a user's."""

import os
from pathlib import Path

__all__ = ["unmeasured"]


def unmeasured(root: Path) -> dict[str, str]:
    """Returns this process's environment, for `root`, and without coverage's part."""
    bare = {name: value for name, value in os.environ.items() if not name.startswith("COV")}
    return {**bare, "PYTHONPATH": str(root)}
