"""A Lean worker inside the sandbox: one process that is warm, and a fresh fork of it per proof.

Only the standard library is imported, because the sandbox's fork server loads this file by path.
"""

import ctypes
import json
import os
import select
import signal
import time
from typing import Any

from rewardkit.verifiers.lean._inside import elpi

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


def serve(program: str) -> int:
    """Answers requests on descriptor 3 until it is closed.

    A request is a frame of JSON: `files` (name -> text), `arguments`, `environment`, `returns`
    (name of a file to send back), `output_bytes`, `wall_s`, `header` (imports to keep loaded),
    `options` (those of Lean that a run for the header has, too). The answer is a frame: 4 bytes of
    length, JSON (`code`, `signal`, `stdout`, `stderr`, `full`, `late`, `rss`), and the bytes of
    the returned file.

    Args:
        program: path of a Lean binary; empty for the wheel's library.
    """
    if not program:
        rehearse_in_sandbox()
        elpi.start(_LIBRARY[0])
    number = 0
    headers: dict[str, str] = {}
    while (request := _receive()) is not None:
        number += 1
        saved = _saved_header(request, program, headers)
        if saved:
            request["arguments"] = [f"--incr-load={saved}", *request["arguments"]]
        _answer(_run(request, program, f"job{number}"))
    return 0


def _saved_header(request: dict[str, Any], program: str, headers: dict[str, str]) -> str:
    """Returns a file in which the state after the header's imports is kept, or nothing.

    It is made from the header alone, by a run of its own, and read by the runs that follow.
    """
    header = request.get("header")
    if program or header is None:
        return ""
    if header not in headers and len(headers) < _MAX_HEADERS:
        path = f"{os.getcwd()}/header{len(headers)}"
        saving = {
            **request,
            "files": {"Header.lean": header},
            "arguments": [*request["options"], f"--incr-header-save={path}", "Header.lean"],
            "returns": "",
        }
        report, _ = _run(saving, program, "saving")
        headers[header] = path if report["code"] == 0 and os.path.isfile(path) else ""
    return headers.get(header, "")


def _run(request: dict[str, Any], program: str, folder: str) -> tuple[dict[str, Any], bytes]:
    os.makedirs(folder)
    for name, text in request["files"].items():
        with open(f"{folder}/{name}", "w", encoding="utf-8", errors="replace") as file:
            file.write(text)
    out, err = os.pipe(), os.pipe()
    child = os.fork()
    if child == 0:
        try:
            _become(request, program, folder, out[1], err[1])
        finally:
            os._exit(126)
    os.close(out[1])
    os.close(err[1])
    report = _watch(child, out[0], err[0], request)
    returned = b""
    if request.get("returns"):
        try:
            with open(f"{folder}/{request['returns']}", "rb") as file:
                returned = file.read()
        except OSError:
            returned = b""
    _remove(folder)
    return report, returned


def _become(request: dict[str, Any], program: str, folder: str, out: int, err: int) -> None:
    os.setsid()
    os.dup2(out, 1)
    os.dup2(err, 2)
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    os.closerange(3, 256)
    os.chdir(folder)
    os.environ.update(request["environment"])
    if program:
        os.execv(program, [program, *request["arguments"]])
    code = elpi.call_main(_LIBRARY[0], request["arguments"])
    os._exit(code)


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
    view = memoryview(len(frame).to_bytes(4, "little") + frame)
    while view:
        view = view[os.write(_WRITE, view) :]
