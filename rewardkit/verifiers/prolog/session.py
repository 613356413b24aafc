"""Prolog as a tool: a session that a model consults programs in and asks, turn by turn."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import TracebackType
from typing import Any, Self

from rewardkit.errors import ConfigError
from rewardkit.verdict import Json
from rewardkit.verifiers.prolog.engine import Engine, LostError, RunLimits
from rewardkit.verifiers.prolog.outcome import failure
from rewardkit.verifiers.prolog.reading import find, read_answers
from rewardkit.verifiers.prolog.terms import Text

__all__ = ["TOOL_SCHEMA", "PrologSession", "Turn"]

_SHOWN_CHARS = 4000
_OUTPUT_BYTES = 64 << 10
_ATTEMPTS = 3
_MESSAGES = {
    "limit": "did not end within the inference limit",
    "cpu": "did not end within the time limit",
    "wall": "did not end within the time limit",
    "memory": "used more memory than allowed",
    "output": "printed more than allowed",
    "lost": "the tool is not available now",
}

TOOL_SCHEMA: Json = {
    "type": "function",
    "function": {
        "name": "prolog",
        "description": "Runs SWI-Prolog. Clauses are added to the session's program; a query is "
        "answered from it. clpfd, clpq and clpr are installed; files and network are not there.",
        "parameters": {
            "type": "object",
            "properties": {
                "program": {"type": "string", "description": "clauses to add; may be empty"},
                "query": {"type": "string", "description": "a goal such as solve(X)"},
                "reset": {"type": "boolean", "description": "forget the earlier clauses first"},
            },
        },
    },
}
"""The tool as chat templates and trainers describe functions; `PrologSession.call` runs it."""


@dataclass(frozen=True, slots=True)
class Turn:
    """What one turn came to."""

    ok: bool
    """True if it ran to its end; a query that fails has run to its end."""
    outcome: str
    """"ok", "no" (the query fails), or why it did not run, as a verdict's outcome."""
    solutions: tuple[str, ...] = ()
    """Each solution as a toplevel shows it: `X = 49`, and constraints that are left."""
    more: bool = False
    """True if there are more solutions than were asked for."""
    output: str = ""
    """What the program printed."""
    message: str = ""
    """What went wrong, for the model to read."""

    @property
    def text(self) -> str:
        """What a model is shown."""
        lines = [self.output.rstrip()] if self.output.strip() else []
        lines += [solution or "true" for solution in self.solutions]
        lines += ["…"] if self.more else []
        if self.outcome == "no":
            lines.append("false")
        if self.message:
            lines.append(self.message)
        text = "\n".join(lines) or "ok"
        return text if len(text) <= _SHOWN_CHARS else text[:_SHOWN_CHARS] + "…"


class PrologSession:
    """A program that grows by `consult` and is asked by `query`, with limits for each turn.

    Every turn runs the whole program in a sandbox of its own: what a query asserts is gone after
    it, and a turn that does not end or dies takes nothing along.

    >>> with PrologSession() as session:
    ...     _ = session.consult("rolls(6, 24). left(L) :- rolls(T, R), L is T*R-95.")
    ...     session.query("left(X)").text
    'X = 49'
    """

    def __init__(
        self,
        *,
        limits: RunLimits | None = None,
        engine: Engine | None = None,
        max_turns: int = 50,
        max_chars: int = 200_000,
        isolation: str = "auto",
    ) -> None:
        """Says how turns are run; starts nothing.

        Args:
            limits: of each turn.
            engine: shared by many sessions; by default one of this session's own.
            max_turns: turns of the session, resets included; later ones are refused.
            max_chars: length of the program.
            isolation: the sandbox's tier.

        Raises:
            ConfigError: a value outside its range.
            EngineMissingError: SWI-Prolog is not installed.
        """
        if max_turns < 1 or max_chars < 1:
            raise ConfigError("max_turns and max_chars are at least 1")
        self.engine = engine or Engine(limits=limits, isolation=isolation)
        self._owns = engine is None
        self.max_turns = max_turns
        self.max_chars = max_chars
        self.turns = 0
        self.program = ""

    def consult(self, text: str) -> Turn:
        """Adds clauses, if the program with them can be loaded; else it stays as it was."""
        refusal = self._refusal(text)
        if refusal is not None:
            return refusal
        program = f"{self.program}\n{text}" if self.program else text
        turn = self._run(program, "true", 1)
        if turn.ok:
            self.program = program
        return Turn(turn.ok, turn.outcome, (), False, turn.output, turn.message)

    def query(self, text: str, *, max_solutions: int = 10) -> Turn:
        """Returns the first solutions of a query.

        Raises:
            ConfigError: `max_solutions` is not in [1, 1000].
        """
        if not 1 <= max_solutions <= 1000:
            raise ConfigError(f"max_solutions is in [1, 1000], not {max_solutions!r}")
        refusal = self._refusal(text)
        if refusal is not None:
            return refusal
        goal = text.strip().removeprefix("?-").strip().removesuffix(".")
        return self._run(self.program, goal or "true", max_solutions)

    def reset(self) -> None:
        """Forgets the program. The turns that were used stay used."""
        self.program = ""

    def call(self, arguments: Mapping[str, Any]) -> str:
        """Carries out a call of `TOOL_SCHEMA` and returns what the model is shown. Never raises."""
        if not isinstance(arguments, Mapping):
            return "the arguments are an object with `program` and `query`"
        program, query = arguments.get("program"), arguments.get("query")
        if arguments.get("reset") is True:
            self.reset()
        shown = []
        if isinstance(program, str) and program.strip():
            turn = self.consult(program)
            shown.append(turn.text)
            if not turn.ok:
                return turn.text
        if isinstance(query, str) and query.strip():
            return self.query(query).text
        return "\n".join(shown) or "nothing to do: give `program` or `query` as a text"

    def close(self) -> None:
        """Ends the engine, unless it was given."""
        if self._owns:
            self.engine.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def _refusal(self, text: str) -> Turn | None:
        self.turns += 1
        if self.turns > self.max_turns:
            return Turn(False, "turns", message=f"no more than {self.max_turns} turns")
        if len(self.program) + len(text) > self.max_chars:
            return Turn(False, "size", message=f"more than {self.max_chars} characters")
        if "\0" in text or any("\ud800" <= c <= "\udfff" for c in text):
            return Turn(False, "syntax_error", message="the text has characters that none has")
        return None

    def _run(self, program: str, goal: str, most: int) -> Turn:
        query = {"text": goal, "wanted": -2, "max_rows": most + 1, "max_distinct": most + 2}
        for _ in range(_ATTEMPTS):
            try:
                with self.engine.talk(output_bytes=_OUTPUT_BYTES) as talk:
                    events = talk.request(program=program, queries=[query])
                    output = talk.output()
                return _read_turn(events, output, most)
            except LostError:
                continue
        return Turn(False, "lost", message=_MESSAGES["lost"])


def _read_turn(events: Sequence[dict[str, Any]], output: str, most: int) -> Turn:
    refused = find(events, "refused")
    if refused is not None:
        return Turn(False, "unsafe", output=output, message=f"not allowed: {refused.get('v')}")
    for event in events:
        if event.get("k") == "note" and event.get("kind") == "syntax":
            return Turn(
                False, "syntax_error", output=output, message=f"syntax error: {event.get('v')}"
            )
    answers = read_answers(events, 1)[0]
    shown = tuple(_shown(row) for row in answers.rows[:most])
    if answers.how in ("exhausted", "capped", "distinct"):
        more = len(answers.rows) > most
        return Turn(True, "ok" if shown else "no", shown, more, output)
    kind = answers.error if answers.how == "error" else answers.how
    message = _MESSAGES.get(kind) or answers.text or f"the process ended: {kind}"
    return Turn(False, failure(answers).outcome, shown, False, output, message)


def _shown(row: Sequence[Any]) -> str:
    return ", ".join(cell.value for cell in row if isinstance(cell, Text))
