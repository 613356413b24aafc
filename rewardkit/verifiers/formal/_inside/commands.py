"""Runs a checker's commands one after the other, each in a process of its own.

Only the standard library is imported, because the sandbox's fork server loads this file by path.
"""

import json
import os
import subprocess

__all__ = ["serve"]

_READ, _WRITE = 3, 4


def serve() -> int:
    """Answers one request on descriptor 3: `commands`, lists of words, until one fails.

    The answer is a list with `code` (negative: a signal), `stdout` and `stderr` of each that ran.
    """
    size = int.from_bytes(_read(4), "little")
    request = json.loads(_read(size))
    limit = int(request["output_bytes"])
    ran = []
    for number, words in enumerate(request["commands"]):
        names = [f".out{number}", f".err{number}"]
        with open(names[0], "wb") as out, open(names[1], "wb") as err:
            done = subprocess.run(
                words, stdin=subprocess.DEVNULL, stdout=out, stderr=err, check=False
            )
        texts = []
        for name in names:
            with open(name, "rb") as file:
                texts.append(file.read(limit).decode("utf-8", "replace"))
        ran.append({"code": done.returncode, "stdout": texts[0], "stderr": texts[1]})
        if done.returncode != 0:
            break
    frame = json.dumps(ran).encode()
    view = memoryview(len(frame).to_bytes(4, "little") + frame)
    while view:
        view = view[os.write(_WRITE, view) :]
    return 0


def _read(count: int) -> bytes:
    data = bytearray()
    while len(data) < count:
        piece = os.read(_READ, count - len(data))
        if not piece:
            break
        data += piece
    return bytes(data)
