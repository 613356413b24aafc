"""A session on pyswip: Prolog with its state kept between turns, for programs that are trusted.

In a child process, which can be killed; or in this one, which is quicker and has no defence at all:

- a query that does not end cannot be stopped: neither a signal nor a thread gets through;
- `halt` ends Python, without a trace; a crash of the engine takes Python along;
- there is one Prolog in a process: sessions share their clauses, flags and operators;
- a program can read and write whatever this process can.

The inference limit is an exception inside Prolog, which a program can catch.
"""

import json
import os
import select
import subprocess
import sys
import time
from types import TracebackType
from typing import Any, Self

from rewardkit._install import require_extra
from rewardkit.errors import ConfigError
from rewardkit.verifiers.prolog.session import Turn

__all__ = ["PyswipSession", "answer_in_process"]

_HELPER = r"""
:- module(rewardkit_pyswip, []).
consult_text(Text, Result) :-
    nb_setval(rewardkit_notes, []),
    gensym('/session', File),
    setup_call_cleanup(open_string(Text, S),
                       catch(load_files(user:File, [stream(S), silent(true)]), E, note(E)),
                       close(S)),
    nb_getval(rewardkit_notes, Notes),
    ( Notes == [] -> Result = '' ; Notes = [N|_], format(atom(Result), '~q', [N]) ).
note(E) :- nb_getval(rewardkit_notes, Ns), append(Ns, [E], Ns1), nb_setval(rewardkit_notes, Ns1).
:- multifile user:message_hook/3.
user:message_hook(error(syntax_error(What), _), error, _) :-
    nb_current(rewardkit_notes, _), rewardkit_pyswip:note(syntax_error(What)), fail.
ask(Text, Most, Limit, Result) :-
    catch(( term_string(Goal, Text, [variable_names(Named)]),
            findall(S, limit(Most, one(Goal, Named, Limit, S)), Result) ),
          E, ( format(atom(A), '~q', [E]), Result = error(A) )).
one(Goal, Named, Limit, Text) :-
    call_with_inference_limit(user:Goal, Limit, R),
    ( R == inference_limit_exceeded -> throw(limit) ; true ),
    copy_term(Named, Copy, Residual0),
    findall(G, ( member(G0, Residual0), ( G0 = _:G -> true ; G = G0 ) ), Residual),
    findall(T, ( member(N=V, Copy), nonvar(V), \+ sub_atom(N, 0, _, _, '_'),
                 format(atom(T), '~w = ~q', [N, V]) ), Bound),
    findall(T, ( member(G, Residual), format(atom(T), '~q', [G]) ), Left),
    append(Bound, Left, All),
    atomic_list_concat(All, ', ', Text).
"""
_CHILD = "import sys; from rewardkit.verifiers.prolog.pyswip_backend import _serve; _serve()"


class PyswipSession:
    """Consults and asks as `PrologSession` does; what a query asserts stays until `reset`.

    >>> with PyswipSession() as session:
    ...     session.query("X is 2 ** 100").text
    'X = 1267650600228229401496703205376'
    """

    def __init__(
        self, *, in_process: bool = False, timeout_s: float = 10.0, inferences: int = 20_000_000
    ) -> None:
        """Says how turns are run; starts nothing.

        Args:
            in_process: run in this process, see above; else in a child that a turn too long ends.
            timeout_s: seconds on the clock of a turn; without effect in this process.
            inferences: logical inferences of a query.

        Raises:
            ConfigError: a value outside its range.
            EngineMissingError: pyswip is not installed.
        """
        require_extra("prolog")
        if not 0 < timeout_s <= 3600:
            raise ConfigError(f"timeout_s is in (0, 3600], not {timeout_s!r}")
        if inferences < 1000:
            raise ConfigError(f"inferences is at least 1000, not {inferences!r}")
        self.in_process = in_process
        self.timeout_s = timeout_s
        self.inferences = inferences
        self._child: _Child | None = None

    def consult(self, text: str) -> Turn:
        """Adds clauses. What precedes an error is kept, as at Prolog's own toplevel."""
        return self._ask({"op": "consult", "text": text})

    def query(self, text: str, *, max_solutions: int = 10) -> Turn:
        """Returns the first solutions of a query."""
        goal = text.strip().removeprefix("?-").strip().removesuffix(".")
        return self._ask(
            {"op": "query", "text": goal, "most": max_solutions, "inferences": self.inferences}
        )

    def reset(self) -> None:
        """Forgets everything: the child ends, and the next turn starts another.

        Raises:
            ConfigError: the session is in this process, whose Prolog cannot be restarted.
        """
        if self.in_process:
            raise ConfigError("a Prolog in this process cannot be reset: use in_process=False")
        self.close()

    def close(self) -> None:
        """Ends the child."""
        if self._child is not None:
            self._child.close()
        self._child = None

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def _ask(self, request: dict[str, Any]) -> Turn:
        if "\0" in request["text"] or any("\ud800" <= c <= "\udfff" for c in request["text"]):
            return Turn(False, "syntax_error", message="the text has characters that none has")
        if self.in_process:
            return _to_turn(answer_in_process(request), request)
        if self._child is None:
            self._child = _Child()
        answer = self._child.ask(request, self.timeout_s)
        if answer is None:
            late = self._child.late
            self.close()
            outcome = "timeout" if late else "crash"
            return Turn(False, outcome, message=f"the session has ended ({outcome}) and is empty")
        return _to_turn(answer, request)


class _Child:
    def __init__(self) -> None:
        theirs_in, self.write_end = os.pipe()
        self.read_end, theirs_out = os.pipe()
        self.late = False
        self.process = subprocess.Popen(
            [sys.executable, "-c", _CHILD, str(theirs_in), str(theirs_out)],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            pass_fds=(theirs_in, theirs_out),
            start_new_session=True,
        )
        os.close(theirs_in)
        os.close(theirs_out)
        self.pending = b""
        # Starting Python and Prolog is not the first turn's time.
        self._line(time.monotonic() + 60)

    def ask(self, request: dict[str, Any], timeout_s: float) -> Any:  # noqa: ANN401 - JSON
        """Returns the child's answer; None if it died or was late."""
        deadline = time.monotonic() + timeout_s
        data = memoryview(json.dumps(request).encode() + b"\n")
        try:
            while data:
                data = data[os.write(self.write_end, data) :]
        except BrokenPipeError:
            return None
        line = self._line(deadline)
        return None if line is None else json.loads(line)

    def close(self) -> None:
        os.close(self.write_end)
        os.close(self.read_end)
        self.process.kill()
        self.process.wait()

    def _line(self, deadline: float) -> bytes | None:
        while b"\n" not in self.pending:
            left = deadline - time.monotonic()
            ready = select.select([self.read_end], [], [], max(0.0, left))[0]
            if not ready:
                self.late = True
                return None
            piece = os.read(self.read_end, 1 << 16)
            if not piece:
                return None
            self.pending += piece
        line, _, self.pending = self.pending.partition(b"\n")
        return line


def answer_in_process(request: dict[str, Any]) -> dict[str, Any]:
    """Carries out one turn in this process's own Prolog, see the limits above."""
    from pyswip import Prolog

    if not list(Prolog.query("current_module(rewardkit_pyswip)")):
        goal = f"open_string({_quoted(_HELPER)}, S), load_files(rewardkit_helper, [stream(S)])"
        list(Prolog.query(goal))
    text = _quoted(request["text"])
    if request["op"] == "consult":
        found = list(Prolog.query(f"rewardkit_pyswip:consult_text({text}, R)"))
        return {"error": str(found[0]["R"]) if found else "failed"}
    limits = f"{int(request['most']) + 1}, {int(request['inferences'])}"
    found = list(Prolog.query(f"rewardkit_pyswip:ask({text}, {limits}, R)"))
    result = found[0]["R"] if found else []
    if isinstance(result, list):
        return {"solutions": [_plain(item) for item in result]}
    return {"error": str(result)}


def _plain(item: object) -> str:
    return item.decode("utf-8", "replace") if isinstance(item, bytes) else str(item)


def _quoted(text: str) -> str:
    escaped = "".join(
        c if c.isascii() and c.isprintable() and c not in '\\"' else f"\\x{ord(c):x}\\"
        for c in text
    )
    return f'"{escaped}"'


def _to_turn(answer: dict[str, Any], request: dict[str, Any]) -> Turn:
    error = str(answer.get("error", ""))
    if error:
        outcome = "syntax_error" if "syntax_error" in error else "error"
        outcome = "undefined" if "existence_error(procedure" in error else outcome
        outcome = "timeout" if error in ("error(limit)", "limit") else outcome
        return Turn(False, outcome, message=error[:1000])
    if request["op"] == "consult":
        return Turn(True, "ok")
    solutions = [str(one) for one in answer.get("solutions", [])]
    most = int(request["most"])
    more = len(solutions) > most
    return Turn(True, "ok" if solutions else "no", tuple(solutions[:most]), more)


def _serve() -> None:
    read_end, write_end = int(sys.argv[1]), int(sys.argv[2])
    answer_in_process({"op": "consult", "text": ""})
    with os.fdopen(read_end, "rb") as requests, os.fdopen(write_end, "wb") as answers:
        answers.write(b"\n")
        answers.flush()
        for line in requests:
            answers.write(json.dumps(answer_in_process(json.loads(line))).encode() + b"\n")
            answers.flush()
