"""Lean's messages (`lean --json`), and the outcome that they amount to."""

import json
import re
from dataclasses import dataclass

from rewardkit.verifiers.formal.outcome import Outcome

__all__ = ["Message", "classify", "message_of", "read_messages", "unknown_name"]

_UNKNOWN = re.compile(
    r"^(?:unknown (?:identifier|constant|tactic|free variable|module|namespace|package|attribute)|"
    r"unknown id|object file .* does not exist|no such file|invalid field(?! notation)|"
    r"The identifier .* is unknown)",
    re.IGNORECASE,
)
_SYNTAX = re.compile(
    r"^(?:unexpected |expected |unterminated |missing end|invalid .*, expected|"
    r"elaboration function for .* has not been implemented|<input>)"
)
_SORRY = re.compile(r"declaration uses [`']sorry[`']")
_MEMORY = re.compile(
    r"excessive memory consumption|deep recursion detected|stack overflow|out of memory"
    r"|memory allocation",
    re.IGNORECASE,
)
_TIME = re.compile(r"deterministic\)? timeout|maximum number of heartbeats|interrupted")


@dataclass(frozen=True, slots=True)
class Message:
    """One message of Lean."""

    severity: str
    """`error`, `warning` or `information`."""
    kind: str
    """Lean's own tag, such as `hasSorry` or `Tactic.unsolvedGoals`; may be empty."""
    line: int
    """From 1."""
    column: int
    """From 0, in characters."""
    end_line: int
    end_column: int
    text: str

    @property
    def says_sorry(self) -> bool:
        """True for the warning about a hole; both spellings of the quotes are known."""
        return self.kind == "hasSorry" or _SORRY.search(self.text) is not None


def read_messages(output: str) -> list[Message]:
    """Returns the messages in the output of `lean --json`; lines of another form are left out."""
    found = []
    for line in output.split("\n"):
        if not line.startswith("{"):
            continue
        try:
            data = json.loads(line)
            found.append(_message(data))
        except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
            continue
    return found


def message_of(data: dict[str, object]) -> Message:
    """Returns a message from a JSON object in any of the spellings of Lean, the REPL, Kimina."""
    return _message(data)


def _message(data: dict[str, object]) -> Message:
    start = data.get("pos") or {}
    end = data.get("endPos") or start
    if not isinstance(start, dict) or not isinstance(end, dict):
        raise TypeError("a position is an object")
    severity = str(data["severity"])
    return Message(
        "information" if severity == "info" else severity,
        str(data.get("kind", "")),
        int(start.get("line", 1)),
        int(start.get("column", 0)),
        int(end.get("line") or start.get("line") or 1),
        int(end.get("column") or start.get("column") or 0),
        str(data.get("data", "")),
    )


_NO_ELABORATOR = re.compile(r"elaboration function for [`'](.+?)[`'] has not been implemented")
_MISSING = re.compile(r"does not contain [`']([^`']+)[`']")
_MODULE = re.compile(r"^(?:unknown module|unknown package|object file|no such file)", re.IGNORECASE)
_QUOTED = re.compile(r"[`'«]([^`'»\n]+)[`'»]")


def unknown_name(message: Message) -> str:
    """Returns what a message says that this Lean does not have: a name, or a syntax.

    Empty for any other message; modules are not meant, because a submission is to prove the
    statement with those that the statement has.

    >>> unknown_name(Message("error", "", 1, 0, 1, 0, "Unknown identifier `Nat.odd`"))
    'Nat.odd'
    """
    found = _NO_ELABORATOR.search(message.text)
    named = "unknownIdentifier" in message.kind or _UNKNOWN.match(message.text)
    if found is None and named and not _MODULE.match(message.text):
        found = _MISSING.search(message.text) or _QUOTED.search(message.text)
    return found[1] if found else ""


def classify(messages: list[Message]) -> tuple[Outcome, Message] | None:
    """Returns what the first decisive error means; None without an error."""
    errors = [message for message in messages if message.severity == "error"]
    if not errors:
        return None
    for outcome, pattern in ((Outcome.MEMORY, _MEMORY), (Outcome.TIMEOUT, _TIME)):
        for error in errors:
            if pattern.search(error.text):
                return outcome, error
    first = errors[0]
    for error in errors:
        if _SYNTAX.match(error.text):
            return Outcome.SYNTAX, error
    if "unknownIdentifier" in first.kind or _UNKNOWN.match(first.text):
        return Outcome.UNKNOWN_IDENTIFIER, first
    if "unsolvedGoals" in first.kind or first.text.startswith("unsolved goals"):
        return Outcome.UNSOLVED_GOALS, first
    return Outcome.WRONG_PROOF, first
