"""A Lean worker inside the sandbox: one process that is warm, and a fresh fork of it per file.

The fork for the next file is made while the last one is checked: it starts Lean with the options
that the last file had, and waits where Lean reads the file from its standard input.

Only the standard library is imported, because the sandbox's fork server loads this file by path.
"""

import base64
import ctypes
import gc
import json
import os
from typing import Any

from rewardkit.verifiers.formal._inside.frames import read_frame, write_frame
from rewardkit.verifiers.lean._inside import elpi, frontend, replay
from rewardkit.verifiers.lean._inside.child import Child, feed, reap, say_end, watch

__all__ = ["rehearse_in_sandbox", "serve"]

_CHUNK = 1 << 16
_MAX_HEADERS = 8
_FOLDER = elpi.find_elpi()
_LIBRARY: list[ctypes.CDLL] = []


def rehearse_in_sandbox() -> None:
    """Maps the library into a sandbox that waits for its job."""
    if _FOLDER and not _LIBRARY:
        _LIBRARY.append(elpi.load(_FOLDER))


def serve(program: str) -> int:
    """Answers requests on descriptor 3 until it is closed.

    A request is a frame of JSON:

    - `input`: the text that the program reads; `blobs` (name -> base64): files beside it
    - `arguments` of the program, and its `environment`, where `{folder}` is the run's own
    - `returns`: the name of a file to send back
    - `output_bytes`, `wall_s`: limits; `last`: no other request follows
    - `header`: imports to keep loaded, `body`: the input with them blank, `settings`: the limits
      of `_inside/frontend.py`
    - `replay`: a compiled file to replay, instead of a run

    The answer is a frame: 4 bytes of length, JSON (`code`, `signal`, `stdout`, `stderr`, `full`,
    `late`, `rss`), and the returned file's bytes.

    Args:
        program: path of a binary to run; empty for the wheel's library.
    """
    if not program:
        rehearse_in_sandbox()
        elpi.start(_LIBRARY[0])
    # A collection in a fork would copy every page that Python has.
    gc.disable()
    gc.freeze()
    runs = _Runs(program)
    while (request := read_frame()) is not None:
        runs.answer(json.loads(request))
    runs.discard()
    return 0


class _Runs:
    """The files of one worker, one after the other."""

    def __init__(self, program: str) -> None:
        self.program = program
        self.number = 0
        self.headers: dict[str, frontend.Loaded | None] = {}
        self.spare: Child | None = None
        self.ended: Child | None = None
        """The fork for the last file, which may still be taking itself apart."""

    def answer(self, request: dict[str, Any]) -> None:
        if self._has_loaded(request):
            request["input"] = request["body"]
        else:
            request["header"] = None
        child, report = self._run(request)
        head = json.dumps(report).encode()
        write_frame(len(head).to_bytes(4, "little"), head, _returned(child, request))
        self.ended = child

    def _forget(self) -> None:
        ended, self.ended = self.ended, None
        if ended is not None:
            reap(ended)
            _remove(ended.folder)

    def _has_loaded(self, request: dict[str, Any]) -> bool:
        """Returns whether the imports of a request are loaded in this process."""
        header = request.get("header")
        if self.program or header is None:
            return False
        if header not in self.headers:
            if len(self.headers) >= _MAX_HEADERS:
                return False
            path = request["environment"]["LEAN_PATH"]
            self.headers[header] = frontend.load_header(_LIBRARY[0], header, path)
            self.discard()  # it was forked before
        return self.headers[header] is not None

    def discard(self) -> None:
        """Ends the fork that waits."""
        spare, self.spare = self.spare, None
        if spare is not None:
            self._drop(spare)

    def _drop(self, child: Child) -> None:
        reap(child)
        for descriptor in (child.text, child.out, child.err):
            os.close(descriptor)
        _remove(child.folder)

    def _run(self, request: dict[str, Any]) -> tuple[Child, dict[str, Any]]:
        blobs = request.get("blobs") or {}
        orders = {
            "arguments": request["arguments"],
            "environment": request["environment"],
            "header": request.get("header"),
            "returns": request.get("returns") or "",
            "settings": request.get("settings"),
            "replay": request.get("replay") or "",
            "hold": bool(blobs),
        }
        child = self._take(orders)
        for name, blob in blobs.items():
            with open(f"{child.folder}/{name}", "wb") as file:
                file.write(base64.b64decode(blob))
        text = request.get("input", "").encode("utf-8", "replace")
        os.set_blocking(child.text, False)
        rest = feed(child.text, text)
        if not rest:
            os.close(child.text)  # it begins before the next one is made
        if not request.get("last"):
            self.spare = self._fork(orders)
        self._forget()
        return child, watch(child, rest, request)

    def _take(self, orders: dict[str, Any]) -> Child:
        if self.spare is not None:
            child, self.spare = self.spare, None
            if os.waitpid(child.process, os.WNOHANG)[0]:
                child.process = 0
            elif child.orders == orders:
                return child
            self._drop(child)
        return self._fork(orders)

    def _fork(self, orders: dict[str, Any]) -> Child:
        self.number += 1
        folder = f"job{self.number}"
        os.makedirs(folder)
        text, out, err, end = os.pipe(), os.pipe(), os.pipe(), os.pipe()
        process = os.fork()
        if process == 0:
            try:
                os.setsid()
                for kept, descriptor in enumerate((text[0], out[1], err[1], end[1])):
                    os.dup2(descriptor, kept, inheritable=kept < 3)
                os.closerange(4, 256)
                self._become(folder, orders)
            finally:
                os._exit(126)
        for descriptor in (text[0], out[1], err[1], end[1]):
            os.close(descriptor)
        return Child(process, folder, orders, text[1], out[0], err[0], end[0])

    def _become(self, folder: str, orders: dict[str, Any]) -> None:
        os.chdir(folder)
        here = os.getcwd()
        for name, value in orders["environment"].items():
            os.environ[name] = value.replace("{folder}", here)
        while orders["hold"] and os.read(0, _CHUNK):
            continue  # until its files are there
        if self.program:
            os.execv(self.program, [self.program, *orders["arguments"]])
        if orders["replay"]:
            os._exit(replay.replay_file(_LIBRARY[0], orders["replay"]))
        loaded = self.headers[orders["header"]] if orders["header"] is not None else None
        if loaded is None:
            os._exit(elpi.call_main(_LIBRARY[0], orders["arguments"]))
        settings, olean = orders["settings"], orders["returns"]
        code = frontend.elaborate(_LIBRARY[0], loaded, _read_text, olean, settings)
        say_end(code)
        os._exit(code)


def _read_text() -> str:
    text = bytearray()
    while piece := os.read(0, _CHUNK):
        text += piece
    return text.decode("utf-8", "replace")


def _returned(child: Child, request: dict[str, Any]) -> bytes:
    if not request.get("returns"):
        return b""
    try:
        with open(f"{child.folder}/{request['returns']}", "rb") as file:
            return file.read()
    except OSError:
        return b""


def _remove(folder: str) -> None:
    for place, folders, names in os.walk(folder, topdown=False):
        for name in names:
            os.unlink(f"{place}/{name}")
        for name in folders:
            path = f"{place}/{name}"
            os.unlink(path) if os.path.islink(path) else os.rmdir(path)
    os.rmdir(folder)
