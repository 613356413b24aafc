"""The process that meets a program: a fork of the warm engine, in a sandbox of its own.

It has no way to open a file or a socket (its limit of descriptors is used up), and its answers are
taken from the engine by this code: no Prolog predicate can write one.
"""

import gc
import json
import os
import resource
import select
import time
from typing import Any

from rewardkit.verifiers.prolog._inside.location import find_library
from rewardkit.verifiers.prolog._inside.swipl import Atom, Prolog

__all__ = ["rehearse_in_sandbox", "serve", "serve_many"]

_READ, _WRITE = 3, 4
_STACK_BYTES = 64 << 20
_MAX_REQUEST_BYTES = 64 << 20
_FILE, _USER = Atom("/program.pl"), Atom("user")
_LIMIT = '{"how":"error","error":{"class":"limit","text":"the inference limit"}}'
_MAX_NOTES = 20
_MAX_NOTE_CHARS = 300
# Started when the fork server imports this module: every sandbox is forked from it.
_PROLOG = Prolog(
    find_library(), os.path.join(os.path.dirname(__file__), "engine.pl"), stack_bytes=_STACK_BYTES
)


def serve() -> int:
    """Answers the requests on descriptor 3 until it is closed.

    The first request is of one program: `program`; `queries`, each with `text`, `wanted` (-1, a
    count, or names), `max_rows` and `max_distinct`; `inferences`. One with `variants`, lists of
    edits `[from, to, text]`, may follow: each edited program is run. The answers are events, as
    frames of JSON; `{"k": "end"}` is the last of each request.
    """
    gc.disable()
    runner: _Runner | None = None
    while (request := _receive()) is not None:
        if runner is None:
            runner = _Runner(_PROLOG, request)
            runner.prepare()
        runner.answer(request)
    return 0


def serve_many(cpu_s: int, memory_bytes: int) -> int:
    """Serves one program after another, each in a fork of this process with limits of its own.

    A program's requests end with a frame without content. The event `gone` says that its process
    is no more, and how it ended.
    """
    gc.disable()
    gc.freeze()
    while True:
        pid = os.fork()
        if pid == 0:
            if not select.select([_READ], [], [], 0)[0]:
                rehearse_in_sandbox()  # nobody waits yet
            resource.setrlimit(resource.RLIMIT_CPU, (cpu_s, cpu_s + 1))
            resource.setrlimit(resource.RLIMIT_DATA, (memory_bytes, memory_bytes))
            os._exit(serve())
        _pid, status, usage = os.wait4(pid, 0)
        number = os.WTERMSIG(status) if os.WIFSIGNALED(status) else None
        gone = {
            "k": "gone",
            "signal": number,
            "cpu_s": usage.ru_utime + usage.ru_stime,
            "rss": usage.ru_maxrss * 1024,
        }
        _write(json.dumps(gone))


def rehearse_in_sandbox() -> None:
    """Touches the memory that a small program will, before the program is here."""
    _PROLOG.rehearse(("clpq",))


def _receive() -> dict[str, Any] | None:
    head = _read_exactly(4)
    size = int.from_bytes(head, "little")
    if len(head) < 4 or not 0 < size <= _MAX_REQUEST_BYTES:
        return None
    request: dict[str, Any] = json.loads(_read_exactly(size))
    return request


def _read_exactly(count: int) -> bytes:
    data = bytearray()
    while len(data) < count:
        piece = os.read(_READ, min(count - len(data), 1 << 20))
        if not piece:
            break
        data += piece
    return bytes(data)


class _Runner:
    def __init__(self, prolog: Prolog, request: dict[str, Any]) -> None:
        self.prolog = prolog
        self.request = request
        self.limit = int(request["inferences"])
        self.phase = "load"
        self.notes = 0
        self.unread = False

    def prepare(self) -> None:
        """Loads the libraries that are named, then gives up what the program must not have."""
        request = self.request
        queries = " ".join(query["text"] for query in request["queries"])
        self.prolog.load_for(f"{request['program']}\n{queries}")
        self.prolog.note, self.prolog.stop = self.note, self.stop
        os.closerange(_WRITE + 1, 4096)
        # Every descriptor that is left is taken: nothing can be opened from here on.
        resource.setrlimit(resource.RLIMIT_NOFILE, (_WRITE + 1, _WRITE + 1))

    def answer(self, request: dict[str, Any]) -> None:
        """Carries out one request and says that it is done."""
        self.limit = int(request["inferences"])
        try:
            if "variants" in request:
                self.run_variants(request)
            else:
                self.run_program(request)
        except Exception as error:
            # The engine's fault and not the program's: the host abstains.
            self.emit("broken", ("", _quoted(f"{type(error).__name__}: {error}")))
        self.prolog.flush()
        self.write(f'{{"k":"end","how":"done","cpu_s":{time.process_time():.4f}}}')

    def run_program(self, request: dict[str, Any]) -> None:
        """Loads the program, asks every query in order, then looks at its structure."""
        program, prolog = request["program"], self.prolog
        if request.get("shape"):
            self.emit("shape", prolog.once("try_shape", program))
        before = self.inferences()
        kind, text = prolog.once("try_load", program, _USER, _FILE, self.limit)
        if kind == "row" and self.inferences() - before >= self.limit:
            # A directive's exception ends the directive only, and the limit is an exception.
            kind, text = "error", '{"class":"limit","text":"a directive without end"}'
        module = Atom(prolog.once("query_module", _USER, _FILE)[1] or "user")
        self.emit("load", (kind, text))
        if kind != "row" or (self.unread and not request.get("keep_going")):
            return
        ran = True
        for index, query in enumerate(request["queries"]):
            self.phase = f"query {index}"
            before = self.inferences()
            how = self.ask(query, module, index)
            used = self.inferences() - before
            if used >= self.limit:
                how = _LIMIT  # the program may have caught it
            ran &= '"error"' not in how
            self.emit("asked", ("end", f'{how[:-1]},"inferences":{used}}}'), index)
            if request.get("hidden"):
                self.emit("hidden", prolog.once("try_hidden", query["text"], module), index)
        self.phase = "after"
        query = request["queries"][0]["text"]
        if request.get("structure") and ran:
            self.emit("structure", prolog.once("try_structure", query, module))
        if request.get("literals") and ran:
            self.emit("literals", prolog.once("try_literals", program, module))
        if request.get("sandbox"):
            self.emit("sandbox", prolog.once("try_sandbox", query, module))

    def ask(self, query: dict[str, Any], module: Atom, index: int) -> str:
        """Emits each solution of a query; returns why no more was asked for, as JSON."""
        distinct = set()
        answers = self.prolog.solutions(
            "answer", query["text"], module, query["wanted"], self.limit
        )
        for rows, (kind, text) in enumerate(answers, start=1):
            if kind != "row":
                return f'{{"how":"error","error":{text}}}'
            distinct.add(text)
            self.emit("row", (kind, text), index)
            if len(distinct) >= query["max_distinct"]:
                return '{"how":"distinct"}'
            if rows >= query["max_rows"]:
                return '{"how":"capped"}'
        return '{"how":"exhausted"}'

    def run_variants(self, request: dict[str, Any]) -> None:
        """Runs edited programs, each in a module of its own."""
        self.phase = "variant"
        program, query = request["program"], request["queries"][0]
        quick = request.get("quick", False)
        for number, edits in enumerate(request["variants"]):
            module = Atom(f"variant{number}")
            how, error = self.define_variant(program, edits, module, quick=quick)
            rows: list[str] = []
            if how == "row":
                how, error = "exhausted", ""
                for kind, answer in self.prolog.solutions(
                    "answer", query["text"], module, query["wanted"], self.limit
                ):
                    if kind != "row":
                        how, error = kind, answer
                        break
                    rows.append(answer)
                    if len(rows) >= query["max_rows"]:
                        break
            self.write(
                f'{{"k":"variant","n":{number},"how":"{how}","error":{error or "null"},'
                f'"rows":[{",".join(rows)}]}}'
            )

    def define_variant(
        self, program: str, edits: list[Any], module: Atom, *, quick: bool
    ) -> tuple[str, str]:
        """Defines an edited program in a module: from its clauses as they were read, or by loading.

        The first takes a tenth of the time, and does not know every directive.
        """
        if quick:
            changes = ",".join(
                f"edit({start},{end},{json.dumps(text)})" for start, end, text in edits
            )
            return self.prolog.once("try_variant", program, _USER, module, f"[{changes}]")
        text, file = _edited(program, edits), Atom(f"/{module}.pl")
        return self.prolog.once("try_load", text, module, file, self.limit)

    def inferences(self) -> int:
        """Returns how many inferences this process has made."""
        return int(self.prolog.once("inferences")[1] or 0)

    def emit(self, event: str, answer: tuple[str, str], index: int = 0) -> None:
        """Writes one event: the kind of an answer of the engine's, and its JSON, or nothing."""
        kind, text = answer
        self.write(f'{{"k":"{event}","q":{index},"kind":"{kind}","v":{text or "null"}}}')

    def note(self, kind: str, text: str) -> None:
        """Passes on a message of the engine's: errors while the program is loaded."""
        if self.phase == "load" and kind == "syntax":
            self.unread = True
        if self.phase == "load" and self.notes < _MAX_NOTES:
            self.notes += 1
            self.emit("note", ("syntax" if kind == "syntax" else "load", _quoted(text)))

    def stop(self, what: str) -> None:
        """Ends the run because of what the program tried. Nothing in it can catch this."""
        self.emit("refused", (self.phase.split()[0], _quoted(what)))
        os._exit(0)

    def write(self, text: str) -> None:
        """Writes one frame."""
        _write(text)


def _write(text: str) -> None:
    data = text.encode("ascii", "backslashreplace")
    view = memoryview(len(data).to_bytes(4, "little") + data)
    while view:
        view = view[os.write(_WRITE, view) :]


def _edited(program: str, edits: list[Any]) -> str:
    for start, end, text in sorted(edits, reverse=True):
        program = program[:start] + text + program[end:]
    return program


def _quoted(text: str) -> str:
    return json.dumps(text[:_MAX_NOTE_CHARS])
