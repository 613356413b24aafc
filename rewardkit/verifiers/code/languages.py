"""The languages that programs may be written in: one table."""

import os
import shutil
import subprocess
from dataclasses import dataclass
from functools import lru_cache

__all__ = ["BOX", "CPP_OPTIONS", "LANGUAGES", "Language", "Toolchain", "find_toolchain"]

BOX = "/tmp/box"
CPP_OPTIONS = ("-O2", "-std=gnu++17")
"""Also those of the precompiled header: the compiler refuses one made with others."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Language:
    """How programs of a language are compiled and run. `{tool}` in a command is the tool's path."""

    name: str
    tags: tuple[str, ...]
    """Tags of its fenced blocks."""
    tool: str
    """The executable that must be installed."""
    source: str
    """File name of the program."""
    run: tuple[str, ...]
    """Command of one run."""
    build: str = ""
    """Shell command that writes `artifact` from `source`; empty for languages that run as they
    are."""
    artifact: str = ""
    """What the build leaves and a run starts with."""
    install: str = ""
    """What to install where it is missing."""
    memory_factor: int = 1
    """For run times that reserve much more than programs use."""
    environment: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True, slots=True)
class Toolchain:
    """A language as installed on this machine."""

    language: Language
    tool: str
    binds: tuple[str, ...]
    """Host directories that its programs must see."""


LANGUAGES: dict[str, Language] = {
    language.name: language
    for language in (
        Language(
            name="python",
            tags=("python", "py", "python3"),
            tool="",
            source="main.py",
            run=(),
        ),
        Language(
            name="javascript",
            tags=("javascript", "js", "node", "nodejs"),
            tool="node",
            source="main.js",
            run=("{tool}", "--max-old-space-size=384", "main.js"),
            install="apt-get install nodejs",
            memory_factor=2,
        ),
        Language(
            name="bash",
            tags=("bash", "sh", "shell"),
            tool="bash",
            source="main.sh",
            run=("{tool}", "main.sh"),
            install="apt-get install bash",
        ),
        Language(
            name="c",
            tags=("c",),
            tool="gcc",
            source="main.c",
            build="{tool} -O2 -std=gnu17 -o main main.c -lm",
            artifact="main",
            run=("./main",),
            install="apt-get install gcc libc6-dev",
        ),
        Language(
            name="cpp",
            tags=("cpp", "c++", "cc", "cxx"),
            tool="g++",
            source="main.cpp",
            build=f"{{tool}} {' '.join(CPP_OPTIONS)} {{headers}} -o main main.cpp",
            artifact="main",
            run=("./main",),
            install="apt-get install g++",
        ),
        Language(
            name="rust",
            tags=("rust", "rs"),
            tool="rustc",
            source="main.rs",
            build="{tool} -O --edition 2021 -o main main.rs",
            artifact="main",
            run=("./main",),
            install="apt-get install rustc",
            memory_factor=2,
        ),
        Language(
            name="go",
            tags=("go", "golang"),
            tool="go",
            source="main.go",
            build="{tool} build -o main main.go",
            artifact="main",
            run=("./main",),
            install="apt-get install golang-go",
            memory_factor=4,
            environment=(
                ("GOCACHE", BOX + "/.cache"),
                ("GOFLAGS", "-mod=mod"),
                ("GOTOOLCHAIN", "local"),
                ("GO111MODULE", "off"),
            ),
        ),
        Language(
            name="java",
            tags=("java",),
            tool="java",
            source="Main.java",
            build=(
                "{bin}/javac -J-XX:+UseSerialGC -J-Xmx256m -d out Main.java"
                " && tar -C out -cf main.tar ."
            ),
            artifact="main.tar",
            run=(
                "/bin/sh",
                "-c",
                "mkdir out && tar -C out -xf main.tar && exec {tool} -XX:+UseSerialGC "
                "-XX:TieredStopAtLevel=1 -Xmx256m -Xss64m -cp out Main",
            ),
            install="apt-get install default-jdk-headless",
            memory_factor=2,
        ),
    )
}


@lru_cache(maxsize=32)
def find_toolchain(name: str) -> Toolchain | None:
    """Returns a language as installed here, or None if its tool is missing."""
    language = LANGUAGES[name]
    if not language.tool:
        return Toolchain(language, "", ())
    found = shutil.which(language.tool)
    if found is None:
        return None
    if name == "rust":
        return _find_rust(language, found)
    real = os.path.realpath(found)
    binds = () if real.startswith("/usr/") else (os.path.dirname(os.path.dirname(real)),)
    if any(bind.count("/") < 2 for bind in binds):
        return None
    return Toolchain(language, real, binds)


def _find_rust(language: Language, found: str) -> Toolchain | None:
    # What is on the path may be rustup's proxy; the compiler itself stands in its own tree.
    answer = subprocess.run(
        [found, "--print", "sysroot"], capture_output=True, text=True, timeout=60, check=False
    )
    root = answer.stdout.strip()
    tool = os.path.join(root, "bin", "rustc")
    if answer.returncode or not os.path.exists(tool):
        return None
    return Toolchain(language, tool, () if root.startswith("/usr") else (root,))
