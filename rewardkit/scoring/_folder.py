"""The folder of scored shards: its manifest, its lock, and the place of its pieces."""

import shutil
import uuid
from collections.abc import Mapping
from pathlib import Path
from types import TracebackType
from typing import Self

from rewardkit.errors import ConfigError, DataError
from rewardkit.scoring._manifest import (
    check_same,
    lock_file,
    manifest_path,
    read_manifest,
    write_manifest,
    writing,
)
from rewardkit.scoring._shards import Shard
from rewardkit.verdict import Json

__all__ = ["ScoredFolder"]


class ScoredFolder:
    """The folder of the scored files, which one run at a time writes."""

    def __init__(
        self,
        out: Path,
        shards: list[Shard],
        *,
        config: Mapping[str, Json],
        notes: Mapping[str, Json],
        overwrite: bool,
    ) -> None:
        if not out.parent.is_dir():
            raise DataError(f"{out}: the folder {out.parent} does not exist; create it first.")
        if out.exists() and not out.is_dir():
            raise DataError(f"{out} is a file: many files are scored into a folder.")
        if any(shard.path.parent == out.absolute() for shard in shards):
            raise ConfigError(f"{out} is the input itself; choose another --out.")
        self._out = out
        self._config, self._notes = dict(config), dict(notes)
        self._manifest_path = manifest_path(out)
        with writing(out):
            out.mkdir(exist_ok=True)
            self._lock = (out / "_run.lock").open("a+b", buffering=0)
        try:
            lock_file(self._lock, out)
            with writing(out):
                run = self._begin(shards, overwrite=overwrite)
                self.pieces = out.absolute() / f"_run-{run}"
                self.pieces.mkdir(exist_ok=True)
                for mark in (*self.pieces.glob("*.tries"), *self.pieces.glob("*.part")):
                    mark.unlink(missing_ok=True)
        except BaseException:
            self._lock.close()
            raise

    def _begin(self, shards: list[Shard], *, overwrite: bool) -> str:
        """Returns the name of the run that goes on, or of a new one."""
        manifest = {} if overwrite else read_manifest(self._manifest_path)
        there = [path for path in sorted(self._out.iterdir()) if path.name[0] not in "._"]
        if there and not manifest and not overwrite:
            raise DataError(
                f"{there[0]} exists, and no scoring run left it there. Choose another --out, or "
                "replace it with --overwrite."
            )
        names = {shard.out.name for shard in shards}
        for path in there:
            if path.name not in names:
                raise DataError(f"{path}: no shard of the input has this name. Move it away.")
        if manifest:
            check_same(self._out, manifest["config"], self._config)
            return str(manifest.get("run"))
        # The old rows go before the new manifest comes, and a new run has a new folder: what an
        # actor of an old one still writes finds its way nowhere.
        for path in there:
            path.unlink()
        for path in self._out.glob("_run-*"):
            shutil.rmtree(path)
        run = uuid.uuid4().hex[:12]
        self._write_manifest(run, finished=False)
        return run

    def _write_manifest(self, run: str, *, finished: bool) -> None:
        manifest: dict[str, Json] = {"config": self._config, "notes": self._notes, "run": run}
        write_manifest(self._manifest_path, {**manifest, "finished": finished})

    def finish(self) -> None:
        """Marks the run as finished, and removes what is left of its pieces."""
        with writing(self._out):
            self._write_manifest(self.pieces.name.removeprefix("_run-"), finished=True)
            shutil.rmtree(self.pieces, ignore_errors=True)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._lock.close()
