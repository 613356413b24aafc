"""What the verifiers of proofs share: batches, dedupe, the cache."""

import os
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from typing import Any

from rewardkit.completion import Completion, completion_text
from rewardkit.errors import ConfigError
from rewardkit.verdict import Json, Verdict
from rewardkit.verifier import Verifier, check_batch
from rewardkit.verifiers.formal.cache import VerdictCache

__all__ = ["FormalVerifier"]


class FormalVerifier(Verifier):
    """Grades proofs. A subclass grades one text; equal texts of one statement are graded once."""

    cache: VerdictCache
    workers: int

    def _prepare(self, *, cache: int, workers: int | None) -> None:
        if workers is not None and workers < 1:
            raise ConfigError(f"workers is at least 1, not {workers!r}")
        self.cache = VerdictCache(cache)
        self.workers = workers or len(os.sched_getaffinity(0))

    def _key(self, text: str, reference: Json) -> tuple[str, ...]:
        """Returns what the verdict on a text depends on; raises on a bad reference."""
        raise NotImplementedError

    def _grade(self, text: str, reference: Json) -> Verdict:
        """Returns the verdict on a text; everything but the model's fault raises."""
        raise NotImplementedError

    def verify(self, completion: Completion, reference: Json, /, **context: Any) -> Verdict:
        """Returns the verdict on the proof in a completion; see docs/verifiers.

        `evidence["outcome"]` is one of `rewardkit.verifiers.formal.Outcome`.

        Args:
            completion: what the model wrote.
            reference: the statement; a text, or an object with `statement`.
            context: not read.

        Raises:
            InvalidReferenceError: the statement cannot be read, or its checker refuses it.
            EngineMissingError: no tier of isolation works on this machine.
        """
        return self._verify_text(completion_text(completion), reference)

    def verify_unscanned(self, completion: Completion, reference: Json, /) -> Verdict | None:
        """Returns the verdict without the scan of the text, as a test of what stands behind it.

        None where nothing stands behind it: the checker has no kernel replay.
        """
        return None

    def verify_batch(
        self,
        completions: Sequence[Completion],
        references: Sequence[Json],
        /,
        **columns: Sequence[Any],
    ) -> list[Verdict]:
        """Returns one verdict a completion, in order; equal pairs are checked once."""
        check_batch(completions, references, columns)
        texts = [completion_text(completion) for completion in completions]
        keys = [self._key(t, r) for t, r in zip(texts, references, strict=True)]
        first: dict[tuple[str, ...], int] = {}
        for index, key in enumerate(keys):
            first.setdefault(key, index)
        unique = list(first.values())
        with ThreadPoolExecutor(min(self.workers, max(1, len(unique)))) as pool:
            done = pool.map(lambda i: self._verify_text(texts[i], references[i]), unique)
            verdicts = dict(zip(unique, done, strict=True))
        return [verdicts[first[key]] for key in keys]

    def _verify_text(self, text: str, reference: Json) -> Verdict:
        began = time.monotonic()
        key = self._key(text, reference)
        known = self.cache.find(key)
        if known is None:
            known = self._grade(text, reference)
            self.cache.keep(key, known)
        return replace(known, seconds=time.monotonic() - began)
