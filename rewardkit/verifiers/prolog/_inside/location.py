"""Where SWI-Prolog is installed. Only the standard library: the fork server loads this by path."""

import os
import shutil
import subprocess

__all__ = ["find_library"]

# The fork server has no environment of the caller's, so both look in the same places.
_PATH = "/usr/local/bin:/usr/bin:/bin"


def find_library() -> str:
    """Returns the path of the shared library of the installed SWI-Prolog; empty without one."""
    program = shutil.which("swipl", path=_PATH)
    if program is None:
        return ""
    asked = subprocess.run(
        [program, "--dump-runtime-variables"],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        timeout=60,
        check=False,
    )
    for line in asked.stdout.decode("utf-8", "replace").splitlines():
        name, _, value = line.partition("=")
        if name == "PLLIBSWIPL":
            path = value.strip().strip(";").strip('"')
            return path if os.path.exists(path) else ""
    return ""
