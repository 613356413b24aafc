"""Reads the rollouts of a training run into what their page shows."""

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import partial
from itertools import groupby
from pathlib import Path
from typing import Any

from rewardkit.datasets.readers import open_records, raise_bad_row
from rewardkit.datasets.rows import Record
from rewardkit.errors import ConfigError, DataError
from rewardkit.report.examples import prompt_text, value_text
from rewardkit.report.excerpt import Excerpt, Segment, cut_excerpt, find_span
from rewardkit.report.sample import Sample
from rewardkit.report.visible import split_visible, visible_text
from rewardkit.verdict import Json

__all__ = ["RolloutData", "StepFigures", "collect_rollouts"]

_OWN = frozenset(
    "prompt completion step prompt_index group reward components verdicts advantage tokens".split()
) | {"truncated"}
"""What the trainer writes; all other columns are the data set's."""
_LINE_CHARS = 1000


@dataclass(slots=True)
class StepFigures:
    """One step, over all of its completions."""

    step: int
    rows: int = 0
    rewards: list[float] = field(default_factory=list)
    """Of those that were decided."""
    truncated: int = 0

    @property
    def mean(self) -> float | None:
        """The mean reward; None if nothing was decided."""
        return math.fsum(self.rewards) / len(self.rewards) if self.rewards else None


@dataclass(frozen=True, slots=True)
class RolloutData:
    """Everything that the page shows."""

    name: str
    steps: list[StepFigures]
    groups: list[Json]
    """A fair sample of the groups, as the page's script reads them."""
    group_count: int
    """Of the whole run."""


def collect_rollouts(
    run: Path | str, *, groups: int = 500, reference: str = "reference"
) -> RolloutData:
    """Returns what the page of a run's rollouts shows.

    The figures are of all completions. Of the groups a fair sample is kept, each of them whole.

    Args:
        run: the folder that the trainer wrote into, or its `rollouts.jsonl`.
        groups: how many are kept.
        reference: the column with the references; rows without it show none.

    Raises:
        DataError: there are no rollouts, or a line is none that the trainer writes.
        ConfigError: `groups` is below 1.
    """
    if groups < 1:
        raise ConfigError(f"groups is at least 1, not {groups}")
    path = Path(run)
    path = path / "rollouts.jsonl" if path.is_dir() else path
    steps: list[StepFigures] = []
    sample, count = Sample[Json](groups), 0
    rows = (_checked(record) for record in open_records(path).records(raise_bad_row))
    for step, lines in groupby(rows, key=lambda row: row["step"]):
        figures, by_group = StepFigures(step), dict[int, list[Mapping[str, Any]]]()
        for row in lines:
            figures.rows += 1
            figures.truncated += row["truncated"]
            if row["reward"] is not None:
                figures.rewards.append(row["reward"])
            by_group.setdefault(row["group"], []).append(row)
        steps.append(figures)
        count += len(by_group)
        for group, own in by_group.items():
            sample.offer(f"{step}/{group}", partial(_group, own, reference))
    if not steps:
        raise DataError(f"{path}: there are no rollouts in it")
    name = path.resolve().parent.name if Path(run).is_dir() else path.name
    return RolloutData(name, steps, sample.items(), count)


def _checked(record: Record) -> Mapping[str, Any]:
    row = {"verdicts": {}, **record.data}  # runs from before verdicts were written have none
    number = int | float | None
    for name, kinds in (
        ("completion", str),
        ("step", int),
        ("group", int),
        ("reward", number),
        ("advantage", number),
        ("truncated", bool),
        ("tokens", int),
        ("components", dict),
        ("verdicts", dict),
    ):
        if name not in row or not isinstance(row[name], kinds):
            raise DataError(
                f"{record.place}: no usable {name!r}: give a rollouts.jsonl of the included "
                "trainer (save_rollouts = true)"
            )
    if not all(isinstance(verdict, dict) for verdict in row["verdicts"].values()):
        raise DataError(f"{record.place}: a damaged verdict")
    return row


def _group(rows: list[Mapping[str, Any]], reference: str) -> Json:
    first = rows[0]
    shown = [name for name in first if name not in _OWN and name != reference]
    return {
        "step": first["step"],
        "group": first["group"],
        "prompt": _pieces(cut_excerpt(prompt_text(first.get("prompt", "")), keep_start=True)),
        "reference": (
            _pieces(cut_excerpt(value_text(first[reference]), keep_start=True))
            if reference in first
            else []
        ),
        "columns": [[visible_text(name), _line(first[name])] for name in shown],
        "rows": [_row(row) for row in rows],
    }


def _row(row: Mapping[str, Any]) -> Json:
    verdicts = row["verdicts"]
    answers = (verdict.get("answer") for verdict in verdicts.values())
    text = row["completion"]
    spans = (find_span(text, answer) for answer in answers if isinstance(answer, str))
    names = dict.fromkeys([*row["components"], *verdicts])
    return {
        "reward": row["reward"],
        "advantage": row["advantage"],
        "truncated": row["truncated"],
        "tokens": row["tokens"],
        "completion": _pieces(cut_excerpt(text, next((s for s in spans if s), None))),
        "components": [_component(name, row["components"], verdicts.get(name)) for name in names],
    }


def _component(name: str, values: Mapping[str, Any], verdict: Mapping[str, Any] | None) -> Json:
    found: dict[str, Json] = {"name": visible_text(name), "value": _line(values.get(name))}
    for key in ("reason", "answer", "detail"):
        if verdict is not None and verdict.get(key) is not None:
            found[key] = _line(verdict[key])
    return found


def _line(value: object) -> str:
    text = visible_text(value_text(value))
    return text if len(text) <= _LINE_CHARS else f"{text[:_LINE_CHARS]}…"


def _pieces(excerpt: Excerpt) -> list[Json]:
    """Text as it is, and an object for what is no plain text."""
    return [piece for segment in excerpt.segments for piece in _of_segment(segment)]


def _of_segment(segment: Segment) -> Iterator[Json]:
    if segment.kind == "gap":
        yield {"gap": segment.left_out}
        return
    for piece in split_visible(segment.text):
        if piece.name:
            yield {"hidden": piece.code, "name": piece.name}
        elif segment.kind == "graded":
            yield {"graded": piece.text}
        else:
            yield piece.text
