"""Fresh virtual environments, for tests of what an installed rewardkit does."""

import subprocess
import sys
import sysconfig
import venv
from dataclasses import dataclass
from pathlib import Path

__all__ = ["Venv", "build", "index_answers", "make_venv"]


@dataclass(frozen=True)
class Venv:
    """A virtual environment without pip; the pip that runs the tests installs into it."""

    folder: Path

    @property
    def bin(self):
        return self.folder / "bin"

    @property
    def site(self):
        return next(self.folder.glob("lib/python*/site-packages"))

    def pip(self, *arguments):
        """Runs pip on this environment; a failure shows what pip said."""
        quiet = ("--disable-pip-version-check", "--quiet")
        command = (sys.executable, "-m", "pip", "--python", self.bin / "python")
        done = subprocess.run([*command, *arguments, *quiet], capture_output=True, text=True)
        assert done.returncode == 0, done.stdout + done.stderr

    def run(self, program, *arguments, cwd=None):
        """Returns the finished process of a program here, run away from the checkout."""
        return subprocess.run(
            [self.bin / program, *arguments],
            cwd=cwd or self.folder,
            capture_output=True,
            text=True,
            env={"PATH": f"{self.bin}:/usr/bin:/bin", "HOME": str(self.folder), "LANG": "C.UTF-8"},
        )

    def python(self, code, cwd=None):
        return self.run("python", "-c", code, cwd=cwd)


def make_venv(folder, *, lend=False):
    """Returns a new environment in `folder`.

    With `lend` it also finds what the tests' own environment holds, behind what is installed into
    it. Path files are not followed there, so an editable rewardkit is not among it.
    """
    venv.create(folder, symlinks=True, with_pip=False)
    fresh = Venv(folder)
    if lend:
        (fresh.site / "lent.pth").write_text(sysconfig.get_path("purelib") + "\n")
    return fresh


def build(source, out):
    """Builds the tree `source` into `out`; returns the paths of the sdist and of the wheel."""
    subprocess.run(
        [sys.executable, "-m", "hatchling", "build", "-d", out],
        cwd=source,
        check=True,
        capture_output=True,
    )
    return next(out.glob("*.tar.gz")), next(out.glob("*.whl"))


def index_answers():
    """Returns whether pip reaches a package index."""
    ask = [sys.executable, "-m", "pip", "install", "--dry-run", "--no-deps", "--ignore-installed"]
    return subprocess.run([*ask, "mdurl"], capture_output=True).returncode == 0
