"""A Lean worker inside the sandbox: one process that is warm, and a fresh fork of it per file.

The fork for the next file is made ahead, while nobody waits, and waits for its orders on a pipe.

Only the standard library is imported, because the sandbox's fork server loads this file by path.
"""

import base64
import ctypes
import json
import os
import select
import signal
import time
from dataclasses import dataclass
from typing import Any

from rewardkit.verifiers.lean._inside import elpi, replay

__all__ = ["rehearse_in_sandbox", "serve"]

_READ, _WRITE = 3, 4
_MAX_REQUEST_BYTES = 64 << 20
_CHUNK = 1 << 16
_MAX_HEADERS = 8
_FOLDER = elpi.find_elpi()
_LIBRARY: list[ctypes.CDLL] = []


def rehearse_in_sandbox() -> None:
    """Maps the library into a sandbox that waits for its job."""
    if _FOLDER and not _LIBRARY:
        _LIBRARY.append(elpi.load(_FOLDER))


@dataclass(slots=True)
class _Child:
    """A fork that waits for its orders."""

    process: int
    orders: int
    """Where it reads them."""
    out: int
    err: int


def serve(program: str) -> int:
    """Answers requests on descriptor 3 until it is closed.

    A request is a frame of JSON: `files` (name -> text), `blobs` (name -> base64), `arguments`,
    `environment` (`{folder}` in it is the run's own), `returns` (name of a file to send back),
    `output_bytes`, `wall_s`, `header` (imports to keep loaded), `options` (those of Lean that a run
    for the header has, too), `replay` (a compiled file to replay, instead of a run). The answer is
    a frame: 4 bytes of length, JSON (`code`, `signal`, `stdout`, `stderr`, `full`, `late`, `rss`),
    and the bytes of the returned file.

    Args:
        program: path of a binary to run; empty for the wheel's library.
    """
    if not program:
        rehearse_in_sandbox()
        elpi.start(_LIBRARY[0])
    number = 0
    headers: dict[str, str] = {}
    child = _fork(program)
    while (request := _receive()) is not None:
        number += 1
        folder = f"job{number}"
        if _lacks_header(request, program, headers):
            _save_header(request, child, headers)
            child = _fork(program)
        saved = headers.get(request.get("header") or "", "")
        if saved and not program:
            request["arguments"] = [f"--incr-load={saved}", *request["arguments"]]
        _answer(_run(request, child, folder))
        child = _fork(program)
        _remove(folder)
    os.kill(child.process, signal.SIGKILL)
    return 0


def _lacks_header(request: dict[str, Any], program: str, headers: dict[str, str]) -> bool:
    header = request.get("header")
    return not program and bool(header) and header not in headers and len(headers) < _MAX_HEADERS


def _save_header(request: dict[str, Any], child: _Child, headers: dict[str, str]) -> None:
    """Keeps the state after the header's imports in a file, for the runs that follow.

    It is made from the header alone, by a run of its own.
    """
    path = f"{os.getcwd()}/header{len(headers)}"
    saving = {
        **request,
        "files": {"Header.lean": request["header"]},
        "arguments": [*request["options"], f"--incr-header-save={path}", "Header.lean"],
        "returns": "",
    }
    report, _ = _run(saving, child, "saving")
    _remove("saving")
    headers[request["header"]] = path if report["code"] == 0 and os.path.isfile(path) else ""


def _run(request: dict[str, Any], child: _Child, folder: str) -> tuple[dict[str, Any], bytes]:
    os.makedirs(folder)
    for name, text in request["files"].items():
        with open(f"{folder}/{name}", "w", encoding="utf-8", errors="replace") as file:
            file.write(text)
    for name, blob in request.get("blobs", {}).items():
        with open(f"{folder}/{name}", "wb") as file:
            file.write(base64.b64decode(blob))
    orders = {key: request.get(key) for key in ("arguments", "environment", "replay")}
    _write_all(child.orders, json.dumps({**orders, "folder": folder}).encode())
    os.close(child.orders)
    report = _watch(child.process, child.out, child.err, request)
    returned = b""
    if request.get("returns"):
        try:
            with open(f"{folder}/{request['returns']}", "rb") as file:
                returned = file.read()
        except OSError:
            returned = b""
    return report, returned


def _fork(program: str) -> _Child:
    orders, out, err = os.pipe(), os.pipe(), os.pipe()
    process = os.fork()
    if process == 0:
        try:
            _become(program, orders[0], out[1], err[1])
        finally:
            os._exit(126)
    for descriptor in (orders[0], out[1], err[1]):
        os.close(descriptor)
    return _Child(process, orders[1], out[0], err[0])


def _become(program: str, orders: int, out: int, err: int) -> None:
    os.setsid()
    os.dup2(orders, 0)
    os.dup2(out, 1)
    os.dup2(err, 2)
    os.closerange(3, 256)
    data = bytearray()
    while piece := os.read(0, _CHUNK):
        data += piece
    if not data:
        os._exit(0)
    order = json.loads(data)
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    os.closerange(3, 256)
    os.chdir(order["folder"])
    here = os.getcwd()
    for name, value in order["environment"].items():
        os.environ[name] = value.replace("{folder}", here)
    if program:
        os.execv(program, [program, *order["arguments"]])
    if order["replay"]:
        os._exit(replay.replay_file(_LIBRARY[0], order["replay"]))
    os._exit(elpi.call_main(_LIBRARY[0], order["arguments"]))


def _watch(child: int, out: int, err: int, request: dict[str, Any]) -> dict[str, Any]:
    deadline = time.monotonic() + float(request["wall_s"])
    poller = select.poll()
    captured: dict[int, bytearray] = {out: bytearray(), err: bytearray()}
    for descriptor in captured:
        poller.register(descriptor, select.POLLIN)
    waiting = set(captured)
    full = late = False
    while waiting and not (full or late):
        left = deadline - time.monotonic()
        late = left <= 0
        for descriptor, _event in poller.poll(max(0, int(left * 1000) + 1)) if not late else ():
            data = os.read(descriptor, _CHUNK)
            captured[descriptor] += data
            full = full or sum(map(len, captured.values())) > request["output_bytes"]
            if not data:
                waiting.discard(descriptor)
                poller.unregister(descriptor)
    if full or late:
        os.killpg(child, signal.SIGKILL)
    _, status, usage = os.wait4(child, 0)
    os.close(out)
    os.close(err)
    limit = int(request["output_bytes"])
    return {
        "code": os.WEXITSTATUS(status) if os.WIFEXITED(status) else None,
        "signal": os.WTERMSIG(status) if os.WIFSIGNALED(status) else None,
        "stdout": bytes(captured[out][:limit]).decode("utf-8", "replace"),
        "stderr": bytes(captured[err][:limit]).decode("utf-8", "replace"),
        "full": full,
        "late": late,
        "rss": usage.ru_maxrss << 10,
        "cpu_s": usage.ru_utime + usage.ru_stime,
    }


def _remove(folder: str) -> None:
    for place, folders, names in os.walk(folder, topdown=False):
        for name in names:
            os.unlink(f"{place}/{name}")
        for name in folders:
            path = f"{place}/{name}"
            os.unlink(path) if os.path.islink(path) else os.rmdir(path)
    os.rmdir(folder)


def _receive() -> dict[str, Any] | None:
    head = _read_exactly(4)
    size = int.from_bytes(head, "little")
    if len(head) < 4 or size > _MAX_REQUEST_BYTES:
        return None
    request: dict[str, Any] = json.loads(_read_exactly(size))
    return request


def _read_exactly(count: int) -> bytes:
    data = bytearray()
    while len(data) < count:
        piece = os.read(_READ, count - len(data))
        if not piece:
            break
        data += piece
    return bytes(data)


def _answer(answer: tuple[dict[str, Any], bytes]) -> None:
    head = json.dumps(answer[0]).encode()
    frame = len(head).to_bytes(4, "little") + head + answer[1]
    _write_all(_WRITE, len(frame).to_bytes(4, "little") + frame)


def _write_all(descriptor: int, data: bytes) -> None:
    view = memoryview(data)
    while view:
        view = view[os.write(descriptor, view) :]
