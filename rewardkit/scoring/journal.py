"""The file that a scoring run appends to: what makes a killed run resumable.

Beside `scored.jsonl` stands `scored.jsonl.run.json`: what is scored, with which verifier and
options. A run resumes only where all of that is the same. An output that cannot be appended to
(Parquet, gzip) is collected in `<out>.journal.jsonl` and written at the end.
"""

import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from types import TracebackType
from typing import Any, BinaryIO, Self

from rewardkit.datasets._json import decode_object
from rewardkit.datasets.writers import check_writable_name
from rewardkit.errors import DataError
from rewardkit.scoring._manifest import (
    check_same,
    lock_file,
    manifest_path,
    read_manifest,
    write_manifest,
    writing,
)
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
        self.manifest_path = manifest_path(out)
        self.in_place = out.suffix.lower() in (".jsonl", ".ndjson")
        self.path = out if self.in_place else out.with_name(f"{out.name}.journal.jsonl")
        self._config = dict(config)
        self._notes = dict(notes)
        with writing(out):
            self._file = self.path.open("a+b", buffering=0)
        try:
            lock_file(self._file, out)
            with writing(out):
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
            check_same(self.out, manifest["config"], self._config)
            return
        # The old rows go before the new manifest comes: a kill between the two leaves no rows,
        # never old rows under a new configuration.
        self._file.truncate(0)
        if not self.in_place:
            self.out.unlink(missing_ok=True)
        self._write_manifest(finished=False)

    def _read_manifest(self) -> dict[str, Any]:
        return read_manifest(self.manifest_path)

    def _write_manifest(self, *, finished: bool) -> None:
        manifest: dict[str, Json] = {"config": self._config, "notes": self._notes}
        write_manifest(self.manifest_path, {**manifest, "finished": finished})

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
        with writing(self.out):
            view = memoryview(lines)
            while view:
                view = view[self._file.write(view) :]

    def finish(self) -> None:
        """Marks the run as finished: what was only a journal is removed when this is closed."""
        with writing(self.out):
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
