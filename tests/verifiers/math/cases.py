"""The labelled cases as the tests read them."""

import json
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[3]
FIXTURES = ROOT / "fixtures" / "math" / "accepted_rejected.jsonl"
KINDS_OF_BOMBS = ("resource_bomb", "long_output", "bad_unicode_bytes", "code_injection")


@dataclass(frozen=True, slots=True)
class Case:
    id: str
    kind: str
    reference: str
    completion: str
    accepted: bool
    why: str


def expand(repeat: dict) -> str:
    """Returns the long text that a `repeat` object stands for."""
    unit, close, count = repeat["unit"], repeat.get("close", ""), repeat["count"]
    middle = repeat.get("middle", "")
    return repeat["before"] + unit * count + middle + close * count + repeat["after"]


def read_cases(path: Path) -> Iterator[Case]:
    with path.open(encoding="utf-8") as lines:
        for line in lines:
            row = json.loads(line)
            text = (
                expand(row["repeat"])
                if "repeat" in row
                else row.get("completion", row.get("response"))
            )
            reference = row.get("reference", row.get("gold"))
            yield Case(row["id"], row["kind"], reference, text, row["label"], row["why"])


def by_kind(path: Path = FIXTURES) -> dict[str, list[Case]]:
    """Returns the cases of a file under their kinds, in the order of the file."""
    kinds = defaultdict(list)
    for case in read_cases(path):
        kinds[case.kind].append(case)
    return dict(kinds)
