"""What a model wrote: one string, or a chat message list, read in one way everywhere."""

import re
from collections.abc import Mapping, Sequence
from typing import Any, TypeAlias

__all__ = ["Completion", "Message", "completion_text", "split_reasoning"]

Message: TypeAlias = Mapping[str, Any]
"""A chat message: `role`, and `content` as a string, None, or a list of typed parts."""

Completion: TypeAlias = str | Sequence[Message] | None
"""A model's output. None is an output of nothing (a turn of tool calls only)."""


def _part_text(part: object) -> str:
    if isinstance(part, str):
        return part
    if isinstance(part, Mapping):
        text = part.get("text")
        return text if isinstance(text, str) else ""
    return ""


def _content_text(content: object) -> str:
    if isinstance(content, str):
        return content
    if isinstance(content, Sequence) and not isinstance(content, bytes | bytearray):
        return "".join(_part_text(part) for part in content)
    return ""


def completion_text(completion: Completion) -> str:
    """Returns the text that is graded: the string itself, or the last assistant message with text.

    A list that holds no assistant message has its last message with text read, so that a bare
    `[{"content": …}]` works. Anything else, including None, is the empty string; nothing raises.

    >>> completion_text([{"role": "assistant", "content": "4"}, {"role": "tool", "content": "log"}])
    '4'
    """
    if isinstance(completion, str):
        return completion
    if not isinstance(completion, Sequence) or isinstance(completion, bytes | bytearray):
        return ""
    messages = [m for m in completion if isinstance(m, Mapping)]
    spoken = [m for m in messages if m.get("role") == "assistant"]
    for message in reversed(spoken or messages):
        text = _content_text(message.get("content"))
        if text.strip():
            return text
    return ""


_TAGS = "think|thinking|thought|thoughts|reasoning|reflection|scratchpad|analysis"
_TAG_WORDS = ("think", "thought", "reasoning", "reflection", "scratchpad", "analysis", "channel")
"""One of these is in every tag: to look for them first is cheaper."""
_OPEN_OR_CLOSE = re.compile(
    # The first character is plain, so that a search runs at the speed of a scan for it.
    rf"[<\[◁](?i:(?P<close>/(?:{_TAGS})>|/THINK\]|/think▷|\|end_of_thought\|>"
    rf"|\|channel\|>final<\|message\|>)"
    rf"|(?:{_TAGS})>|THINK\]|think▷|\|begin_of_thought\|>|\|channel\|>analysis)"
)


def split_reasoning(text: str) -> tuple[int, bool]:
    """Returns where the final part of `text` begins, and whether the reasoning before it ended.

    The final part is what follows the last closing tag of a reasoning block (`</think>` and its
    kin); text without any tag is all final. An opening tag after the last closing one means that
    the reasoning never ended: then the final part is empty and the flag is False.

    >>> split_reasoning("<think>2+2</think> 4"), split_reasoning("<think>2+2")
    ((18, True), (10, False))
    """
    start, open_at = 0, -1
    folded = text.casefold()
    if not any(word in folded for word in _TAG_WORDS):
        return start, True
    for tag in _OPEN_OR_CLOSE.finditer(text):
        if tag["close"]:
            start, open_at = tag.end(), -1
        else:
            open_at = tag.start()
    if open_at >= 0:
        return len(text), False
    return start, True
