"""Is a completion laid out as it was told to be?"""

from collections.abc import Mapping
from copy import deepcopy
from dataclasses import dataclass, field
from typing import Any, Literal

from rewardkit.completion import split_reasoning
from rewardkit.errors import ConfigError
from rewardkit.fences import fenced_blocks
from rewardkit.shaping._checks import check_between, check_count
from rewardkit.shaping._json import JsonSchema, read_json
from rewardkit.shaping.base import CompletionShaper, Range, Row

__all__ = ["JsonFormat", "TagFormat", "ThinkFormat"]


@dataclass(frozen=True, slots=True, kw_only=True)
class ThinkFormat(CompletionShaper):
    """1 if reasoning between two marks comes first and an answer follows, else 0.

    White space before the first mark is allowed. With `min_reasoning_chars=0`,
    `min_answer_chars=0` and `single_close=False` it is TRL's `think_format_reward` on text without
    such space; those defaults are not zero, because `<think></think>a` would be paid.

    >>> ThinkFormat()(["<think>2+2</think>4", "4", "<think></think>4"])
    [1.0, 0.0, 0.0]
    """

    opening: str = "<think>"
    closing: str = "</think>"
    prefilled: bool = False
    """The chat template has written the opening mark already: the completion must not repeat it."""
    min_reasoning_chars: int = 1
    """Characters, without those of white space at the ends."""
    min_answer_chars: int = 1
    single_close: bool = True
    """A second closing mark is a fault."""

    def __post_init__(self) -> None:
        if not self.opening or not self.closing or self.opening == self.closing:
            raise ConfigError("opening and closing are two different texts, not empty")
        check_count(
            0, min_reasoning_chars=self.min_reasoning_chars, min_answer_chars=self.min_answer_chars
        )

    @property
    def range(self) -> Range:
        """0 or 1."""
        return Range(0.0, 1.0)

    def shape(self, row: Row) -> float:
        """Returns 1.0 or 0.0."""
        text = row.text
        if not self.prefilled:
            text = text.lstrip()
            if not text.startswith(self.opening):
                return 0.0
            text = text[len(self.opening) :]
        if self.opening in text:
            return 0.0
        reasoning, close, answer = text.partition(self.closing)
        if not close or (self.single_close and self.closing in answer):
            return 0.0
        long_enough = (
            len(reasoning.strip()) >= self.min_reasoning_chars
            and len(answer.strip()) >= self.min_answer_chars
        )
        return float(long_enough)


@dataclass(frozen=True, slots=True, kw_only=True)
class TagFormat(CompletionShaper):
    """Blocks in tags: each once, in this order, with nothing but white space around them.

    With `credit="share"` the value is the share of the 2n opening and closing tags that stand in
    the text exactly once, whatever their order: a slope for a model that has yet to learn them.

    >>> shaper = TagFormat(tags=("think", "answer"))
    >>> shaper(["<think>2+2</think><answer>4</answer>", "<answer>4</answer>"])
    [1.0, 0.0]
    >>> TagFormat(tags=("think", "answer"), credit="share")(["<answer>4</answer>"])
    [0.5]
    """

    tags: tuple[str, ...]
    """Names, as in `<name>…</name>`."""
    credit: Literal["all", "share"] = "all"
    min_chars: int = 1
    """With `credit="all"`, the least in each block, without white space at the ends."""

    def __post_init__(self) -> None:
        if not self.tags or len(set(self.tags)) < len(self.tags) or not all(self.tags):
            raise ConfigError(f"tags are different names, at least one, not {self.tags!r}")
        if self.credit not in ("all", "share"):
            raise ConfigError(f"credit is 'all' or 'share', not {self.credit!r}")
        check_count(0, min_chars=self.min_chars)

    @property
    def range(self) -> Range:
        """0 to 1."""
        return Range(0.0, 1.0)

    def shape(self, row: Row) -> float:
        """Returns 1.0 or 0.0, or the share."""
        text = row.text
        marks = [mark for tag in self.tags for mark in (f"<{tag}>", f"</{tag}>")]
        once = [text.count(mark) == 1 for mark in marks]
        if self.credit == "share":
            return sum(once) / len(once)
        return float(all(once) and self._in_order(text, marks))

    def _in_order(self, text: str, marks: list[str]) -> bool:
        for place, mark in enumerate(marks):
            before, found, text = text.partition(mark)
            size = len(before.strip())
            # Before an opening tag there is nothing, before a closing one there is the block.
            if not found or (size < self.min_chars if place % 2 else size):
                return False
        return not text.strip()


@dataclass(frozen=True, slots=True, kw_only=True)
class JsonFormat(CompletionShaper):
    """1 for JSON that fits a schema, `parsed` for JSON that does not, else 0.

    Strict JSON: no `NaN`, no repeated keys. What is larger or deeper than the limits is 0.

    >>> shaper = JsonFormat(schema={"type": "object", "required": ["answer"]}, parsed=0.25)
    >>> shaper(['{"answer": 4}', '{"result": 4}', "4}"])
    [1.0, 0.25, 0.0]

    Raises:
        ConfigError: the schema uses a keyword that is not among those of `JsonSchema`.
    """

    schema: Mapping[str, Any] = field(default_factory=dict)
    """A JSON schema of the keywords that `JsonSchema` lists; empty: any JSON."""
    where: Literal["text", "final", "fence"] = "text"
    """The whole text, what follows the reasoning, or the last fenced block of that."""
    parsed: float = 0.0
    """In [0, 1]."""
    max_chars: int = 1_000_000
    """Of the text, or of what follows the reasoning."""
    max_depth: int = 64
    _checker: JsonSchema = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "_checker", JsonSchema(deepcopy(self.schema)))
        if self.where not in ("text", "final", "fence"):
            raise ConfigError(f"where is 'text', 'final' or 'fence', not {self.where!r}")
        check_between(0, 1, parsed=self.parsed)
        check_count(1, max_chars=self.max_chars, max_depth=self.max_depth)

    @property
    def range(self) -> Range:
        """0 to 1."""
        return Range(0.0, 1.0)

    def shape(self, row: Row) -> float:
        """Returns 1.0, `parsed`, or 0.0."""
        source = self._source(row.text)
        if source is None:
            return 0.0
        read = read_json(source, max_depth=self.max_depth)
        if read is None:
            return 0.0
        return 1.0 if self._checker.fits(read.value) else self.parsed

    def _source(self, text: str) -> str | None:
        start, ended = (0, True) if self.where == "text" else split_reasoning(text)
        if not ended or len(text) - start > self.max_chars:
            return None
        if self.where != "fence":
            return text[start:]
        blocks = [block for block in fenced_blocks(text[start:]) if block.closed]
        return blocks[-1].text if blocks else None
