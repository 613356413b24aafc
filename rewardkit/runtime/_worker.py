"""The life of a worker process: load functions, run items, answer each.

A worker serves one pool and trusts it. It is not a sandbox: what runs here is the pool owner's code
on untrusted data. The worker's job is to be killable, bounded in memory, and never to answer
nonsense.
"""

import contextlib
import os
import pickle
import resource
import signal
import socket
import sys
import time
from collections.abc import Callable
from typing import Any

from rewardkit.runtime._frames import Kind, encode, read_frame
from rewardkit.runtime._settings import PoolSettings
from rewardkit.runtime._tasks import describe
from rewardkit.runtime._tree import adopt_orphans, die_with_parent

__all__ = ["live"]


def _limit(memory_mb: int | None) -> None:
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    if memory_mb is not None:
        # RLIMIT_DATA counts private writable memory: what a task allocates, and not the mapped
        # libraries, which would make an RLIMIT_AS mean something else on every machine.
        wanted = memory_mb * 2**20
        _, hard = resource.getrlimit(resource.RLIMIT_DATA)
        limit = wanted if hard == resource.RLIM_INFINITY else min(wanted, hard)
        resource.setrlimit(resource.RLIMIT_DATA, (limit, limit))


def _run_item(function: Callable[..., Any], item: bytes, max_result_bytes: int) -> bytes:
    started = time.perf_counter()
    kind, payload = Kind.VALUE, b""
    try:
        payload = pickle.dumps(function(*pickle.loads(item)), pickle.HIGHEST_PROTOCOL)
    except MemoryError:
        kind, payload = Kind.MEMORY, b""
    except BaseException as error:  # the boundary: whatever a task raises is its outcome
        kind, payload = Kind.ERROR, describe(error).encode(errors="replace")
    if len(payload) > max_result_bytes:
        text = f"the result has {len(payload):,} bytes, the limit is {max_result_bytes:,}"
        kind, payload = Kind.ERROR, text.encode()
    return encode(kind, payload, time.perf_counter() - started)


def _load(functions: dict[bytes, Callable[..., Any]], payload: bytes) -> bytes:
    try:
        key, path, function = pickle.loads(payload)
        sys.path[:] = path
        functions[key] = pickle.loads(function)
    except BaseException as error:
        return encode(Kind.REFUSED, describe(error).encode(errors="replace"))
    return encode(Kind.READY)


def _serve(connection: socket.socket, max_result_bytes: int) -> None:
    functions: dict[bytes, Callable[..., Any]] = {}
    try:
        while (frame := read_frame(connection)) is not None:
            if frame.kind is Kind.LOAD:
                connection.sendall(_load(functions, frame.payload))
                continue
            key, items = pickle.loads(frame.payload)
            for item in items:
                connection.sendall(_run_item(functions[key], item, max_result_bytes))
                # An alarm that a task left behind would kill the worker in the middle of a later
                # task.
                signal.setitimer(signal.ITIMER_REAL, 0)
    except MemoryError:  # the request itself, or the frame of the answer, does not fit
        connection.sendall(encode(Kind.MEMORY))


def live(connection: socket.socket, settings: PoolSettings, failure: str, parent: int) -> None:
    """Serves one pool over `connection` until it closes.

    Args:
        connection: the worker's end of the data channel.
        settings: limits and the initializer.
        failure: why this worker cannot work, or empty. It is told and the worker ends.
        parent: pid of the fork server.
    """
    os.setpgid(0, 0)
    adopt_orphans()
    die_with_parent(parent)
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    with contextlib.suppress(ConnectionError):
        try:
            _limit(settings.memory_mb)
            if not failure:
                initializer, arguments = pickle.loads(settings.initializer)
                if initializer is not None:
                    initializer(*arguments)
        except BaseException as error:
            failure = f"its initializer raised {describe(error)}"
        if failure:
            connection.sendall(encode(Kind.REFUSED, failure.encode(errors="replace")))
            return
        connection.sendall(encode(Kind.READY))
        _serve(connection, settings.max_result_bytes)
