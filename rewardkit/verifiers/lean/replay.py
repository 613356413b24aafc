"""Checks compiled files with the kernel once more, with what this machine has for it."""

import base64
import json
import os
from typing import Any

from rewardkit.verifiers.lean.backends import LostError, Replay
from rewardkit.verifiers.lean.pool import limit_of
from rewardkit.verifiers.lean.toolchain import Toolchain

__all__ = ["COMPARE", "KERNEL", "read_replay", "replay_files", "replay_name", "replay_tools"]

KERNEL, COMPARE = "kernel", "compare"
"""Kinds of workers: one replays through the kernel, one runs SafeVerify. Neither ever sees a
submission's source."""
_MODULE = "RewardkitSubmission"
_STATEMENT = "RewardkitStatement"


def replay_name(toolchain: Toolchain) -> str:
    """Returns the name of what replays a compiled file; empty where there is nothing."""
    if not toolchain.program:
        return "Lean.Environment.replay"
    return os.path.basename(toolchain.replay or toolchain.compare)


def replay_tools(toolchain: Toolchain, hostile: bool) -> list[str]:
    """Returns the kinds of workers that a file has to pass, in order.

    SafeVerify is stricter than our own comparison (every declaration of the file may use the three
    axioms only), so that it runs where that is asked for, and where there is nothing else.
    """
    kernel = [KERNEL] if not toolchain.program or toolchain.replay else []
    compare = [COMPARE] if toolchain.compare and (hostile or not kernel) else []
    return kernel + compare


def replay_files(toolchain: Toolchain, kind: str, olean: bytes, statement: bytes) -> dict[str, Any]:
    """Returns a worker's orders for a replay; see `_inside/worker.py`."""
    blobs = {f"{_MODULE}.olean": olean}
    path = ":".join(toolchain.path)
    if kind == COMPARE:
        blobs[f"{_STATEMENT}.olean"] = statement
        arguments = [f"{_STATEMENT}.olean", f"{_MODULE}.olean"]
    else:
        arguments = ["-v", _MODULE]
        path = "{folder}:" + path if toolchain.program else path
    environment = {"LEAN_PATH": path}
    if toolchain.program:
        environment["LEAN_SYSROOT"] = os.path.dirname(os.path.dirname(toolchain.program))
    return {
        "blobs": {name: base64.b64encode(blob).decode() for name, blob in blobs.items()},
        "arguments": arguments,
        "environment": environment,
        "replay": "" if toolchain.program else f"{_MODULE}.olean",
    }


def read_replay(
    toolchain: Toolchain, kind: str, report: dict[str, Any], memory_bytes: int
) -> Replay:
    """Returns what a replay came to. It counts as accepted only if the tool says so in words.

    Raises:
        LostError: the tool could not do its work.
    """
    limit = limit_of(report, memory_bytes)
    if limit is not None:
        return Replay(limit.ended, limit.detail)
    said = f"{report['stdout']}\n{report['stderr']}".strip()
    if not toolchain.program:
        return _read_answer(said)
    done, problem = {
        KERNEL: (f"replaying {_MODULE}", "found a problem in"),
        COMPARE: ("Finished.", "Found a problem in"),
    }[kind]
    if report["code"] == 0 and done in said and problem not in said:
        return Replay("accepted")
    refused = problem in said or (kind == COMPARE and "uncaught exception" in said)
    if refused:
        return Replay("refused", said[-500:])
    raise LostError(f"the replay says: {said[-300:]} (exit {report['code']})")


def _read_answer(said: str) -> Replay:
    try:
        answer = json.loads(said.split("\n")[0])
    except ValueError:
        answer = None
    if not isinstance(answer, dict) or not answer.keys() & {"replayed", "refused"}:
        raise LostError(f"this Lean does not replay: {said[:300]}")
    if "refused" in answer:
        return Replay("refused", str(answer["refused"])[:500])
    return Replay("accepted")
