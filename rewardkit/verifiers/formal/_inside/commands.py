"""Runs a checker's commands one after the other, each in a process of its own.

Only the standard library is imported, because the sandbox's fork server loads this file by path.
"""

import json
import subprocess

from rewardkit.verifiers.formal._inside.frames import read_frame, write_frame

__all__ = ["serve"]


def serve() -> int:
    """Answers one request on descriptor 3: `commands`, lists of words, until one fails.

    The answer is a list with `code` (negative: a signal), `stdout` and `stderr` of each that ran.
    """
    request = json.loads(read_frame() or b"{}")
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
    write_frame(json.dumps(ran).encode())
    return 0
