"""The monitor over rollouts that a trainer wrote down."""

from collections.abc import Mapping
from itertools import groupby
from pathlib import Path
from typing import Any

from rewardkit.datasets.readers import open_records, raise_bad_row
from rewardkit.datasets.rows import Record
from rewardkit.errors import DataError
from rewardkit.monitor.hacking import HackMonitor
from rewardkit.monitor.report import HackReport

__all__ = ["monitor_rollouts"]


def monitor_rollouts(
    path: Path | str, monitor: HackMonitor, *, confidence: float = 0.95
) -> HackReport:
    """Returns what a `rollouts.jsonl` of the included trainer says, read step by step.

    A line holds `completion`, `step`, `reward`, `components`, and maybe `tokens`; its other fields
    are the columns for a truth that has to be asked. Lines of one step stand together.

    Args:
        path: of the file.
        monitor: counts; one of its own for each file.
        confidence: of the intervals.

    Raises:
        DataError: the file cannot be read, is empty, or a line lacks one of these fields.
        ConfigError: the monitor names a component that is not there.
    """
    rows = (_checked(record) for record in open_records(path).records(raise_bad_row))
    for step, lines in groupby(rows, key=lambda row: row["step"]):
        _observe(monitor, int(step), list(lines))
    if not monitor.steps:
        raise DataError(f"{path}: there are no rollouts in it")
    return monitor.report(confidence=confidence)


def _observe(monitor: HackMonitor, step: int, lines: list[Mapping[str, Any]]) -> None:
    names = dict.fromkeys(name for line in lines for name in line["components"])
    common = set(lines[0]).intersection(*lines) - {"completion", "components"}
    tokens = [line.get("tokens") for line in lines]
    monitor.observe(
        [line["completion"] for line in lines],
        [line["reward"] for line in lines],
        step=step,
        components={name: [line["components"].get(name) for line in lines] for name in names},
        lengths=[n for n in tokens if isinstance(n, int)] if None not in tokens else None,
        columns={name: [line[name] for line in lines] for name in sorted(common)},
    )


def _checked(record: Record) -> Mapping[str, Any]:
    for name, kinds in (
        ("completion", (str, list)),
        ("step", (int,)),
        ("reward", (int, float, type(None))),
        ("components", (dict,)),
    ):
        if name not in record.data or not isinstance(record.data[name], kinds):
            raise DataError(
                f"{record.place}: no usable {name!r}: give a rollouts.jsonl of the "
                "included trainer (save_rollouts = true)"
            )
    return record.data
