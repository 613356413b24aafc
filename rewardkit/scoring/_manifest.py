"""What a scoring run was begun with, beside its output: a run resumes only with the same."""

import contextlib
import json
import os
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, BinaryIO

from rewardkit.datasets._json import decode_object
from rewardkit.errors import ConfigError, DataError
from rewardkit.verdict import Json

__all__ = ["check_same", "lock_file", "manifest_path", "read_manifest", "write_manifest", "writing"]


def manifest_path(out: Path) -> Path:
    """Returns where the manifest of an output stands: beside it."""
    return out.with_name(f"{out.name}.run.json")


def read_manifest(path: Path) -> dict[str, Any]:
    """Returns a manifest, `{}` where there is none.

    Raises:
        DataError: it is damaged.
    """
    if not path.exists():
        return {}
    try:
        manifest = decode_object(path.read_bytes(), path.name)
        return {**manifest, "config": dict(manifest["config"])}  # type: ignore[call-overload]
    except (DataError, KeyError, TypeError, ValueError) as error:
        raise DataError(
            f"{path}: damaged ({error}), so it cannot be seen what the run was begun with. Start "
            "anew with --overwrite."
        ) from None


def write_manifest(path: Path, manifest: Mapping[str, Json]) -> None:
    """Writes a manifest in one step."""
    part = path.with_name(f"{path.name}.part")
    part.write_text(json.dumps(manifest, indent=2) + "\n")
    os.replace(part, path)


def check_same(out: Path, before: Mapping[str, Json], now: Mapping[str, Json]) -> None:
    """Checks that a run goes on with what it was begun with.

    Raises:
        ConfigError: something differs; it is named.
    """
    for key in (*now, *(key for key in before if key not in now)):
        if before.get(key) != now.get(key):
            raise ConfigError(
                f"{out} was begun with {key} = {json.dumps(before.get(key))}, and this run has "
                f"{json.dumps(now.get(key))}. Use the same, or another --out, or start anew with "
                "--overwrite."
            )


def lock_file(file: BinaryIO, out: Path) -> None:
    """Takes a lock that the system drops when the process ends, however it ends.

    Raises:
        ConfigError: another run has it.
    """
    if sys.platform == "win32":
        return
    import fcntl

    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        raise ConfigError(f"{out}: another run is writing this file now; wait for it.") from None


@contextlib.contextmanager
def writing(out: Path) -> Iterator[None]:
    """Turns what a full disk or a missing right does inside into a sentence.

    Raises:
        DataError: something could not be written.
    """
    try:
        yield
    except OSError as error:
        raise DataError(
            f"{out}: cannot be written: {error.strerror or error}. What is there stays; the same "
            "command resumes."
        ) from None
