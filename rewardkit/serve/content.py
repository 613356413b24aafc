"""What the labelling page shows of a scored row, as markup that is safe whatever a model wrote."""

import heapq
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from hashlib import blake2b
from pathlib import Path
from typing import Any

from rewardkit.completion import completion_text
from rewardkit.datasets.rows import look_up
from rewardkit.errors import DataError
from rewardkit.report.excerpt import Excerpt, Segment, cut_excerpt, find_span
from rewardkit.report.markup import escape, excerpt_markup
from rewardkit.scoring.scored import ScoredColumns, find_scored_columns, read_scored

__all__ = ["RowContent", "draw_rank", "read_contents"]

_PROMPT_COLUMNS = ("prompt", "question", "problem")
_WHOLE_CHARS = 60_000
_MOST_ROWS = 5_000


@dataclass(frozen=True, slots=True)
class RowContent:
    """A row as the page shows it; every text is markup."""

    row_id: str
    accepted: bool
    prompt: str
    completion: str
    """With the graded span marked."""
    reference: str
    answer: str
    """The span that was graded; empty where the verdict names none."""
    verdict: str
    """Score, reason and detail: shown after the label is given."""


def draw_rank(row_id: str, seed: int) -> int:
    """Returns a row's place in the random order of drawing; the same at every start."""
    digest = blake2b(f"{seed}:{row_id}".encode("utf-8", "surrogatepass"), digest_size=8).digest()
    return int.from_bytes(digest, "big")


def read_contents(
    path: Path | str,
    *,
    completion_column: str = "completion",
    reference_column: str = "reference",
    accept_at: float = 1.0,
    seed: int = 0,
) -> dict[bool, list[RowContent]]:
    """Returns the rows to label, accepted ones and rejected ones, each in random order.

    At most 5,000 of each are kept, which are a random sample; more than anybody labels.

    Args:
        path: a file that `rewardkit score` wrote.
        completion_column: as at scoring.
        reference_column: as at scoring.
        accept_at: the smallest score that counts as accepted.
        seed: of the order.

    Raises:
        DataError: the file cannot be read, or lacks a column.
    """
    heaps: dict[bool, list[tuple[int, int, RowContent]]] = {True: [], False: []}
    for number, (row, added) in enumerate(_decided(Path(path))):
        for name in (completion_column, reference_column):
            if look_up(row, name, _decided) is _decided:
                raise DataError(f"{path}: no column {name!r}; name it with an option.")
        accepted = row[added.score] >= accept_at
        rank = -draw_rank(row[added.row_id], seed)
        heap = heaps[accepted]
        if len(heap) == _MOST_ROWS and rank <= heap[0][0]:
            continue
        content = _content(row, added, accepted, completion_column, reference_column)
        if len(heap) < _MOST_ROWS:
            heapq.heappush(heap, (rank, number, content))
        else:
            heapq.heapreplace(heap, (rank, number, content))
    return {
        accepted: [content for _, _, content in sorted(heap, key=lambda kept: -kept[0])]
        for accepted, heap in heaps.items()
    }


def _decided(path: Path) -> Iterator[tuple[dict[str, Any], ScoredColumns]]:
    added: ScoredColumns | None = None
    for row in read_scored(path):
        added = added or find_scored_columns(row, path)
        if row[added.score] is not None:
            yield row, added


def _content(
    row: Mapping[str, Any],
    added: ScoredColumns,
    accepted: bool,
    completion_column: str,
    reference_column: str,
) -> RowContent:
    verdict = row[added.verdict]
    text = completion_text(look_up(row, completion_column))
    answer = verdict.get("answer")
    span = find_span(text, answer, (verdict.get("evidence") or {}).get("span"))
    prompts = [value for name in _PROMPT_COLUMNS if (value := look_up(row, name)) is not None]
    said = f"score {row[added.score]:g}, {verdict['reason']}"
    detail = str(verdict.get("detail") or "")[:1000]
    return RowContent(
        row_id=row[added.row_id],
        accepted=accepted,
        prompt=_markup(_text(prompts[0])) if prompts else "",
        completion=_markup(text, span),
        reference=_markup(_text(look_up(row, reference_column))),
        answer=_markup(str(answer)) if answer is not None else "",
        verdict=escape(f"{said}: {detail}" if detail else said),
    )


def _text(value: object) -> str:
    if isinstance(value, str):
        return value
    if isinstance(value, list) and value and all(isinstance(one, dict) for one in value):
        return "\n\n".join(f"{one.get('role', '')}: {one.get('content', '')}" for one in value)
    return str(value)


def _markup(text: str, span: tuple[int, int] | None = None) -> str:
    """Returns a text whole, unless it is huge: who labels it must see all that counts."""
    if len(text) > _WHOLE_CHARS:
        return excerpt_markup(cut_excerpt(text, span, keep_start=True))
    start, end = span or (len(text), len(text))
    pieces = (
        Segment("text", text[:start]),
        Segment("graded", text[start:end]),
        Segment("text", text[end:]),
    )
    return excerpt_markup(Excerpt(tuple(piece for piece in pieces if piece.text), len(text)))
