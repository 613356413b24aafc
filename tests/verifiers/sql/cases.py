"""The labelled cases as the tests read them."""

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[3]
FIXTURES = ROOT / "fixtures" / "sql" / "cases.jsonl"
_POLICIES = ("order_matters", "column_order", "extra_columns", "duplicates", "ties", "tie_key")


@dataclass(frozen=True)
class Case:
    id: str
    kind: str
    completion: str
    reference: dict[str, Any]
    label: bool
    why: str


def read_cases(path: Path = FIXTURES) -> list[Case]:
    """Returns the cases of a file, in its order."""
    cases = []
    for line in path.read_text(encoding="utf-8").splitlines():
        row = json.loads(line)
        reference = {key: row[key] for key in ("schema", "rows", "dialect")}
        reference["sql"] = row["sql"] if "sql" in row else row["gold"]
        reference |= {key: row[key] for key in _POLICIES if row.get(key) is not None}
        reference |= row.get("opts") or {}
        completion = row["completion"] if "completion" in row else row["pred"]
        cases.append(Case(row["id"], row["kind"], completion, reference, row["label"], row["why"]))
    return cases
