"""Runs a command as user 65534, with the interpreter and this repository where they are.

Usage, as root: `python -m tests.sandbox.unprivileged COMMAND …`. Directories that only root may
enter, such as `/root`, are covered, in a mount namespace of this process's own, by ones that show
just what is needed.
"""

import os
import stat
import sys
import tempfile
from pathlib import Path

from rewardkit.sandbox._server import linux

NOBODY = 65534


def main(command: list[str]) -> None:
    needed = {sys.base_prefix, sys.prefix, str(Path(__file__).resolve().parents[2])}
    linux.unshare(linux.CLONE_NEWNS)
    linux.mount(None, "/", None, linux.MS_REC | linux.MS_PRIVATE)
    for path in sorted(map(os.path.realpath, needed)):
        closed = closed_ancestor(Path(path))
        if closed is not None:
            show_through(path, str(closed))
    os.setgroups([])
    os.setresgid(NOBODY, NOBODY, NOBODY)
    os.setresuid(NOBODY, NOBODY, NOBODY)
    environment = {**os.environ, "HOME": "/tmp", "PYTHONDONTWRITEBYTECODE": "1"}
    os.execvpe(command[0], command, environment)


def closed_ancestor(path: Path) -> Path | None:
    for parent in reversed(path.parents):
        if not parent.stat().st_mode & stat.S_IXOTH:
            return parent
    return None


def show_through(path: str, closed: str) -> None:
    aside = tempfile.mkdtemp()
    linux.mount(path, aside, None, linux.MS_BIND | linux.MS_REC)
    linux.mount("tmpfs", closed, "tmpfs", 0, "mode=755,size=1m")
    os.makedirs(path)
    linux.mount(aside, path, None, linux.MS_BIND | linux.MS_REC)


if __name__ == "__main__":
    main(sys.argv[1:])
