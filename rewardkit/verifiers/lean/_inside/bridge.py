"""Keeps a REPL process in the sandbox and passes its JSON on, one answer a request.

Only the standard library is imported, because the sandbox's fork server loads this file by path.
"""

import subprocess

from rewardkit.verifiers.formal._inside.frames import read_frame, write_frame

__all__ = ["serve"]

_MAX_ANSWER_BYTES = 64 << 20


def serve(folder: str, *words: str) -> int:
    """Answers requests on descriptor 3, each a frame that holds one JSON command.

    The REPL reads a command up to an empty line and answers JSON up to an empty line.

    Args:
        folder: where the REPL runs; empty for the working directory.
        words: the REPL's command.
    """
    process = subprocess.Popen(
        list(words),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        cwd=folder or None,
    )
    if process.stdin is None or process.stdout is None:
        return 1
    while (request := read_frame()) is not None:
        process.stdin.write(request + b"\n\n")
        process.stdin.flush()
        answer = bytearray()
        for line in process.stdout:
            if not line.strip() and answer.strip():
                break
            answer += line
            if len(answer) > _MAX_ANSWER_BYTES:
                return 1
        if not answer.strip():
            return 1
        write_frame(bytes(answer))
    process.kill()
    return 0
