"""Which part of a completion is the query."""

import bisect
import re
from collections.abc import Sequence
from dataclasses import replace

from rewardkit.completion import split_reasoning
from rewardkit.fences import Block, Extraction, FencePolicy, extract, fenced_blocks
from rewardkit.verdict import Reason, StepVerdict

__all__ = ["extract_sql", "place_steps"]

_TAGS = ("sql", "sqlite", "sqlite3", "postgresql", "postgres", "psql", "mysql", "duckdb", "tsql")
_POLICY = FencePolicy(tags=_TAGS)
_INLINE = re.compile(r"```[ \t]*(?:(?:sql\w*|postgres\w*|mysql|duckdb)\b)?(.*?)```", re.S | re.I)
_LINE_FENCE = re.compile(r"^[ \t>]*```[^`\n]*$", re.M)
_ANSWER = re.compile(r"<(/?)(?:answer|sql)>", re.I)


def extract_sql(text: str, *, max_chars: int) -> Extraction:
    r"""Returns the query that a completion commits to.

    Of what follows the reasoning: the last `<answer>` (or `<sql>`) element, in it or else in all of
    it the last block fenced as SQL, else the last fence without a language, else everything.

    >>> extract_sql("<answer>```sql\nSELECT 1\n```</answer>", max_chars=99).program
    'SELECT 1'
    """
    start, closed = split_reasoning(text)
    if not closed:
        return Extraction(None, Reason.TRUNCATED, "the reasoning never ends")
    final = text[start:]
    inner, problem = _answer_element(final)
    if problem is not None:
        return problem
    found = _from_fences(final if inner is None else inner)
    if found.program is None:
        return found
    program = found.program.strip().rstrip("; \t\n")
    if not program:
        return Extraction(None, Reason.NO_ANSWER, "the answer is empty")
    if len(program) > max_chars:
        return Extraction(None, Reason.SIZE_LIMIT, f"a query of {len(program):,} characters")
    return Extraction(program)


def _answer_element(final: str) -> tuple[str | None, Extraction | None]:
    tags = list(_ANSWER.finditer(final))
    if not tags:
        return None, None
    blocks = [block for block in fenced_blocks(final) if block.closed]
    starts = [block.start for block in blocks]
    tags = [tag for tag in tags if not _inside(tag.start(), blocks, starts)]
    # The text of an answer may itself begin with a fence on the line of the tag, which the search
    # for blocks does not see; so tags are paired from the last one backwards.
    opening = next((i for i in range(len(tags) - 1, -1, -1) if not tags[i][1]), None)
    if opening is None:
        return None, None
    if opening + 1 == len(tags):
        return None, Extraction(None, Reason.TRUNCATED, "the answer element never ends")
    return final[tags[opening].end() : tags[opening + 1].start()], None


def _inside(place: int, blocks: list[Block], starts: list[int]) -> bool:
    before = bisect.bisect_right(starts, place) - 1
    return before >= 0 and place < blocks[before].end


def _from_fences(text: str) -> Extraction:
    # A fence may stand right behind a tag or a blank; to be one it has to begin a line.
    found = extract(text.lstrip(), _POLICY)
    if "```" not in text or _LINE_FENCE.search(text.lstrip()):
        return found
    inline = _INLINE.findall(text)
    return Extraction(inline[-1]) if inline else found


def place_steps(steps: Sequence[StepVerdict], sql: str, text: str) -> tuple[StepVerdict, ...]:
    """Returns steps of a query as steps of the completion that holds it.

    There are none where the completion does not hold the query as it stands, as in a quotation with
    a mark before each line.

    Args:
        steps: with spans in the query.
        sql: the query, as `extract_sql` gave it.
        text: the completion.
    """
    offset = text.rfind(sql) if steps else -1
    if offset < 0:
        return ()
    return tuple(replace(s, start=s.start + offset, end=s.end + offset) for s in steps)
