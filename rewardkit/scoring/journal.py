"""The file that a scoring run appends to: what makes a killed run resumable.

Beside `scored.jsonl` stands `scored.jsonl.run.json`: what is scored, with which verifier and
options. A run resumes only where all of that is the same. An output that cannot be appended to
(Parquet, gzip) is collected in `<out>.journal.jsonl` and written at the end.
"""

import contextlib
import json
import os
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from types import TracebackType
from typing import Any, BinaryIO, Self

from rewardkit.datasets._json import decode_object
from rewardkit.datasets.writers import check_writable_name
from rewardkit.errors import ConfigError, DataError
from rewardkit.verdict import Json

__all__ = ["Journal"]

_TAIL_BYTES = 1 << 16


class Journal:
    """An open scoring run: its journal, its manifest, and the lock that keeps other runs away.

    Args:
        out: the scored file.
        config: everything that must be the same for a run to resume.
        notes: what a reader may want to know of the run besides.
        overwrite: start anew whatever is there.

    Raises:
        ConfigError: another run is writing here, or the run there has another configuration.
        DataError: the file there was not written by a scoring run, or cannot be written.
    """

    def __init__(
        self,
        out: Path,
        *,
        config: Mapping[str, Json],
        notes: Mapping[str, Json],
        overwrite: bool = False,
    ) -> None:
        check_writable_name(out)
        self.out = out
        self.manifest_path = out.with_name(f"{out.name}.run.json")
        self.in_place = out.suffix.lower() in (".jsonl", ".ndjson")
        self.path = out if self.in_place else out.with_name(f"{out.name}.journal.jsonl")
        self._config = dict(config)
        self._notes = dict(notes)
        with _writing(out):
            self._file = self.path.open("a+b", buffering=0)
        try:
            _lock_file(self._file, out)
            with _writing(out):
                self._begin(overwrite=overwrite)
                _cut_torn_line(self._file)
        except BaseException:
            self._file.close()
            raise

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self.is_finished:
            self.path.unlink(missing_ok=True)
        self._file.close()

    @property
    def is_finished(self) -> bool:
        """True if an earlier run wrote the output, and there is no journal to append to."""
        finished = bool(self._read_manifest().get("finished"))
        return finished and not self.in_place and self.out.exists()

    def _begin(self, *, overwrite: bool) -> None:
        manifest = {} if overwrite else self._read_manifest()
        has_rows = any(p.exists() and p.stat().st_size > 0 for p in (self.path, self.out))
        if has_rows and not overwrite:
            if not manifest:
                raise DataError(
                    f"{self.out} exists, and no scoring run left it there. Choose another --out, "
                    "or replace it with --overwrite."
                )
            _check_same(self.out, manifest["config"], self._config)
            return
        # The old rows go before the new manifest comes: a kill between the two leaves no rows,
        # never old rows under a new configuration.
        self._file.truncate(0)
        if not self.in_place:
            self.out.unlink(missing_ok=True)
        self._write_manifest(finished=False)

    def _read_manifest(self) -> dict[str, Any]:
        if not self.manifest_path.exists():
            return {}
        try:
            manifest = decode_object(self.manifest_path.read_bytes(), self.manifest_path.name)
            return {**manifest, "config": dict(manifest["config"])}  # type: ignore[call-overload]
        except (DataError, KeyError, TypeError, ValueError) as error:
            raise DataError(
                f"{self.manifest_path}: damaged ({error}), so it cannot be seen what the run was "
                "begun with. Start anew with --overwrite."
            ) from None

    def _write_manifest(self, *, finished: bool) -> None:
        part = self.manifest_path.with_name(f"{self.manifest_path.name}.part")
        manifest = {"config": self._config, "notes": self._notes, "finished": finished}
        part.write_text(json.dumps(manifest, indent=2) + "\n")
        os.replace(part, self.manifest_path)

    def rows(self) -> Iterator[dict[str, Any]]:
        """Yields the rows that are in the journal.

        Raises:
            DataError: a line is damaged.
        """
        with self.path.open("rb") as file:
            for number, line in enumerate(file, 1):
                try:
                    yield decode_object(line, f"{self.path.name}:{number}")
                except DataError as error:
                    raise DataError(
                        f"{error}. The file was damaged after it was written; start anew with "
                        "--overwrite."
                    ) from None

    def append(self, lines: bytes) -> None:
        """Appends whole lines.

        Raises:
            DataError: the disk is full, or the file cannot be written for another reason.
        """
        with _writing(self.out):
            view = memoryview(lines)
            while view:
                view = view[self._file.write(view) :]

    def finish(self) -> None:
        """Marks the run as finished: what was only a journal is removed when this is closed."""
        with _writing(self.out):
            os.fsync(self._file.fileno())
            self._write_manifest(finished=True)


def _cut_torn_line(file: BinaryIO) -> None:
    """Cuts off what follows the last newline: a row that a kill left half written."""
    end = file.seek(0, os.SEEK_END)
    at = end
    while at > 0:
        start = max(at - _TAIL_BYTES, 0)
        file.seek(start)
        newline = file.read(at - start).rfind(b"\n")
        if newline >= 0:
            at = start + newline + 1
            break
        at = start
    if at != end:
        file.truncate(at)


def _check_same(out: Path, before: Mapping[str, Json], now: Mapping[str, Json]) -> None:
    for key in (*now, *(key for key in before if key not in now)):
        if before.get(key) != now.get(key):
            raise ConfigError(
                f"{out} was begun with {key} = {json.dumps(before.get(key))}, and this run has "
                f"{json.dumps(now.get(key))}. Use the same, or another --out, or start anew with "
                "--overwrite."
            )


def _lock_file(file: BinaryIO, out: Path) -> None:
    """Takes a lock that the system drops when the process ends, however it ends."""
    if sys.platform == "win32":
        return
    import fcntl

    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        raise ConfigError(f"{out}: another run is writing this file now; wait for it.") from None


@contextlib.contextmanager
def _writing(out: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise DataError(
            f"{out}: cannot be written: {error.strerror or error}. What is there stays; the same "
            "command resumes."
        ) from None
