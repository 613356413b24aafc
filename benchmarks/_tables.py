"""Markdown tables, and their place in the documentation."""

import importlib.metadata
import os
import platform
import re
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

__all__ = [
    "Section",
    "Table",
    "describe_machine",
    "format_number",
    "format_share",
    "write_sections",
]

ROOT = Path(__file__).resolve().parents[1]


@dataclass(frozen=True, slots=True)
class Table:
    """One table of text cells; unless `prose`, all but the first column are right-aligned."""

    title: str
    columns: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    note: str = ""
    prose: bool = False

    def to_markdown(self) -> str:
        """Returns the table as GitHub-flavoured Markdown, its title in bold above it."""
        head = f"| {' | '.join(self.columns)} |"
        rule = (
            "|"
            + "|".join(["---"] + ["---" if self.prose else "---:"] * (len(self.columns) - 1))
            + "|"
        )
        body = [f"| {' | '.join(row)} |" for row in self.rows]
        parts = [f"**{self.title}**", "", head, rule, *body]
        return "\n".join(parts + (["", self.note] if self.note else []))


@dataclass(frozen=True, slots=True)
class Section:
    """What stands between `<!-- benchmark:NAME:begin -->` and its end in a page."""

    name: str
    text: str

    def place_in(self, page: str) -> str:
        """Returns the page with the text between its markers replaced, if it has such markers."""
        begin, end = (f"<!-- benchmark:{self.name}:{edge} -->" for edge in ("begin", "end"))
        pattern = re.compile(rf"(?<={re.escape(begin)}).*?(?={re.escape(end)})", re.DOTALL)
        return pattern.sub(lambda _: f"\n{self.text.strip()}\n", page)


def write_sections(sections: Sequence[Section], folder: Path = ROOT / "docs") -> list[Path]:
    """Places the sections in all pages of a folder that have their markers.

    Returns:
        The pages that changed.
    """
    changed = []
    for path in sorted(folder.rglob("*.md")):
        page = old = path.read_text("utf-8")
        for section in sections:
            page = section.place_in(page)
        if page != old:
            path.write_text(page, "utf-8")
            changed.append(path)
    return changed


def format_number(value: float) -> str:
    """Returns a number with about three significant digits.

    >>> [format_number(x) for x in (0.01234, 1.25, 37.46, 2345.6)]
    ['0.0123', '1.25', '37.5', '2,346']
    """
    if value == 0:
        return "0"
    if abs(value) >= 100:
        return f"{value:,.0f}"
    return f"{value:#.3g}".rstrip(".")


def format_share(part: int, whole: int) -> str:
    """Returns a share in per cent with one decimal; an empty whole gives a dash.

    >>> format_share(1, 3), format_share(2, 2), format_share(1, 2000), format_share(0, 0)
    ('33.3', '100', '0.05', '–')
    """
    if not whole:
        return "–"
    if part in (0, whole):
        return "100" if part else "0"
    percent = 100 * part / whole
    return f"{percent:.1f}" if 0.1 <= percent <= 99.9 else f"{percent:.2f}"


def describe_machine(packages: Sequence[str] = ()) -> str:
    """Returns one line: date, system, processor, load, versions."""
    versions = [f"{name} {_version(name)}" for name in packages if _version(name)]
    return (
        f"{datetime.now(UTC):%Y-%m-%d}; {_system()}, {len(os.sched_getaffinity(0))} cores of "
        f"{_processor()}, load {os.getloadavg()[0]:.1f} at the end; "
        + ", ".join([f"Python {platform.python_version()}", *versions])
        + "."
    )


def _version(package: str) -> str:
    try:
        return importlib.metadata.version(package)
    except importlib.metadata.PackageNotFoundError:
        return ""


def _system() -> str:
    try:
        return platform.freedesktop_os_release()["PRETTY_NAME"]
    except (OSError, KeyError):
        return f"{sys.platform} {platform.release()}"


def _processor() -> str:
    try:
        text = Path("/proc/cpuinfo").read_text()
    except OSError:
        return platform.machine()
    found = re.search(r"model name\s*:\s*(.+)", text)
    return found[1].strip() if found else platform.machine()
