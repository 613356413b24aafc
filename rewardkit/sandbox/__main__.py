"""`python -m rewardkit.sandbox` prints the tier of isolation that works here, after a run in it."""

import sys

from rewardkit.errors import EngineMissingError
from rewardkit.sandbox import Job, Sandbox

__all__ = ["main"]


def main() -> int:
    """Prints the tier and what a program printed in it; returns 1 if no tier works."""
    with Sandbox() as sandbox:
        try:
            result = sandbox.run(Job(files={"main.py": b"print(6 * 7)"}))
        except EngineMissingError as error:
            sys.stdout.write(f"{error}\n")
            return 1
    sys.stdout.write(f"{result.isolation}: {result.stdout.decode().strip()}\n")
    return 0 if result.succeeded else 1


if __name__ == "__main__":
    sys.exit(main())
