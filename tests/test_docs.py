"""Every code block of the README and of docs/ runs, and shows what it really prints.

`python` blocks run as doctests where they have prompts, else as programs, each in a namespace of
its own. `console` blocks are typed into a shell in an empty folder that has the checkout's
`fixtures/`; the blocks of one page share it. In their output a line … stands for any lines, and …
within a line for any text. `bash` blocks name targets of the Makefile and extras of the package,
and those exist. `text` blocks are pictures.
"""

import contextlib
import doctest
import io
import os
import re
import subprocess
import sys
import textwrap
import tomllib
from dataclasses import dataclass
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").rglob("*.md"))]
_FENCE = re.compile(r"^( *)```(?P<kind>[\w-]*)[^\n]*\n(?P<text>.*?)^\1```", re.M | re.S)


@dataclass(frozen=True)
class Block:
    page: Path
    line: int
    kind: str
    text: str

    @property
    def name(self):
        return f"{self.page.relative_to(ROOT)}:{self.line}"


def blocks_of(page):
    source = page.read_text("utf-8")
    for found in _FENCE.finditer(source):
        line = source.count("\n", 0, found.start()) + 1
        yield Block(page, line, found["kind"], textwrap.dedent(found["text"]))


BLOCKS = [block for page in PAGES for block in blocks_of(page)]


def of_kind(kind):
    found = [block for block in BLOCKS if block.kind == kind]
    return pytest.mark.parametrize("block", found, ids=[block.name for block in found])


def run_doctest(block):
    examples = doctest.DocTestParser().get_doctest(block.text, {}, block.name, None, block.line)
    flags = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE
    said = io.StringIO()
    runner = doctest.DocTestRunner(optionflags=flags, verbose=False)
    runner.run(examples, out=said.write)
    return said.getvalue()


@of_kind("python")
def test_a_python_block_runs_and_shows_what_it_prints(block, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "fixtures").symlink_to(ROOT / "fixtures")
    if block.text.lstrip().startswith(">>>"):
        if said := run_doctest(block):
            pytest.fail(said, pytrace=False)
        return
    with contextlib.redirect_stdout(io.StringIO()):
        exec(compile(block.text, block.name, "exec"), {"__name__": "__docs__"})


def commands_of(block):
    """Returns each command of a console block with the lines that the page shows below it."""
    commands = []
    for line in block.text.splitlines():
        if line.startswith("$ "):
            commands.append((line[2:], []))
        elif commands and commands[-1][0].endswith("\\"):
            commands[-1] = (f"{commands[-1][0]}\n{line}", [])
        elif commands:
            commands[-1][1].append(line.rstrip())
    return commands


def shows(expected, printed):
    """Returns whether the lines of a page are what was printed, … standing for anything."""
    pattern = "\n".join(
        ".*?" if line == "…" else "[^\n]*".join(re.escape(part) for part in line.split("…"))
        for line in expected
    )
    text = "\n".join(line.rstrip() for line in printed.splitlines())
    return re.fullmatch(pattern, text.strip("\n"), re.S) is not None


_PAGES_WITH_CONSOLE = sorted({b.page for b in BLOCKS if b.kind == "console"})


@pytest.mark.parametrize(
    "page", _PAGES_WITH_CONSOLE, ids=[str(p.relative_to(ROOT)) for p in _PAGES_WITH_CONSOLE]
)
def test_the_commands_of_a_page_print_what_it_shows(page, tmp_path):
    (tmp_path / "fixtures").symlink_to(ROOT / "fixtures")
    path = f"{Path(sys.executable).parent}:{os.environ['PATH']}"
    environment = {**os.environ, "PATH": path, "COLUMNS": "100", "NO_COLOR": "1", "TERM": "dumb"}
    for block in (b for b in BLOCKS if b.page == page and b.kind == "console"):
        code = 0
        for command, expected in commands_of(block):
            if command == "echo $?":
                assert expected == [str(code)], block.name
                code = 0
                continue
            assert code == 0, f"{block.name}: a command ended with {code} and the page hides it"
            done = subprocess.run(
                ["bash", "-c", command],
                cwd=tmp_path,
                env=environment,
                capture_output=True,
                text=True,
            )
            code = done.returncode
            printed = done.stdout + (done.stderr if code else "")
            if expected:
                assert shows(expected, printed), f"{block.name}: $ {command}\n{printed}"
        assert code == 0, f"{block.name}: the last command ended with {code}"


@of_kind("bash")
def test_a_bash_block_names_targets_and_extras_that_exist(block):
    targets = set(re.findall(r"^([\w-]+):", (ROOT / "Makefile").read_text("utf-8"), re.M))
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    for line in block.text.splitlines():
        command = line.partition("#")[0].split()
        if command[:1] == ["make"]:
            assert set(command[1:]) <= targets, line
        for extras in re.findall(r"pip install .*\[([\w,]+)\]", line):
            assert set(extras.split(",")) <= set(project["optional-dependencies"]), line


def test_no_block_is_of_a_kind_that_nothing_checks():
    known = {"python", "console", "bash", "text"}
    assert {block.kind for block in BLOCKS} <= known, [
        b.name for b in BLOCKS if b.kind not in known
    ]


def _without_comments(page):
    return re.sub(r"(?m)^ *#.*$", "", page.read_text("utf-8"))


def test_every_page_is_in_the_navigation():
    listed = set(re.findall(r"[\w/-]+\.md", _without_comments(ROOT / "mkdocs.yml")))
    pages = {p.relative_to(ROOT / "docs").as_posix() for p in (ROOT / "docs").rglob("*.md")}
    assert pages == listed


@pytest.mark.parametrize(
    ("expected", "printed", "same"),
    [
        (["a 1.2 ms b"], "a 1.2 ms b\n", True),
        (["a … b"], "a 1.2 ms b\n", True),
        (["a … b"], "a\nb\n", False),
        (["a", "…", "c"], "a\nx\ny\nc\n", True),
        (["a"], "a\nb\n", False),
    ],
)
def test_an_ellipsis_stands_for_anything_within_its_line_or_for_lines(expected, printed, same):
    assert shows(expected, printed) == same
