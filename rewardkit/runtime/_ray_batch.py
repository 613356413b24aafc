"""One batch on its way through the actors of a Ray cluster."""

import math
import pickle
import time
from collections import Counter, deque
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

from rewardkit.errors import ConfigError
from rewardkit.runtime._cancel import CALL_OFF
from rewardkit.runtime._ray_actor import Grader
from rewardkit.runtime._tasks import describe
from rewardkit.runtime.batch import GradedRow, UngradedRow, abstention, grade_rows_here
from rewardkit.verdict import Reason
from rewardkit.verifier import Verifier

if TYPE_CHECKING:
    from ray import ObjectRef
    from ray.actor import ActorHandle

__all__ = ["RayActor", "RayBatch"]

_CHUNK_S = 0.1
"""Work that is worth a trip to an actor: a trip takes about a hundredth of it."""
_MAX_CHUNK = 512
_MAX_CHUNK_BYTES = 4 * 2**20
_GRACE_S = 5.0
"""Past the deadline, at which an actor ends its rows itself."""
_LOOK_S = 1.0


@dataclass(frozen=True, slots=True, eq=False)
class RayActor:
    """An actor, and the node that it was made for."""

    handle: "ActorHandle[Grader]"
    node: str


class Actors(Protocol):
    """Who has the actors."""

    def take(self, *, wait_s: float) -> RayActor | None:
        """Returns an actor that has nothing to do, or None if there is none in this time."""

    def give(self, actor: RayActor) -> None:
        """Takes it back."""

    def drop(self, actor: RayActor) -> None:
        """Ends it with what it does; another takes its place."""

    @property
    def shares(self) -> int:
        """The number of actors."""


class RayBatch:
    """The rows of one call: which wait, which are with an actor, what became of the others.

    Args:
        actors: shared with other batches.
        verifier: what grades, for the name in abstentions.
        packed: the same, as it travels.
        rows: completion, reference and context of each.
        until: when all of it ends, on the monotonic clock.
        row_s: what a row takes, as far as known; 0 for unknown.
        retries: how often a row is sent again whose chunk was lost.
    """

    def __init__(
        self,
        actors: Actors,
        verifier: Verifier,
        packed: bytes,
        rows: Sequence[UngradedRow],
        until: float,
        row_s: float,
        retries: int,
    ) -> None:
        self._actors = actors
        self._verifier = verifier
        self._packed = packed
        self._rows = rows
        self._until = until
        self._retries = retries
        self.row_s = row_s
        """Seconds that a row takes."""
        self.rows_by_node: Counter[str] = Counter()
        """Rows that each node has graded."""
        self._waiting = deque(range(len(rows)))
        self._alone: deque[int] = deque()
        self._losses: Counter[int] = Counter()
        self._results: dict[int, GradedRow] = {}
        self._flying: dict[ObjectRef[dict[str, Any]], tuple[RayActor, list[int]]] = {}

    def run(self) -> list[GradedRow]:
        """Returns what became of each row, in order."""
        import ray

        call_off = CALL_OFF.get()
        try:
            while len(self._results) < len(self._rows):
                if time.monotonic() >= self._until + (_GRACE_S if self._flying else 0):
                    self._give_up()
                    break
                if call_off is not None:
                    call_off.check()
                self._send()
                if self._flying:
                    ready, _ = ray.wait(list(self._flying), timeout=_LOOK_S)
                    for ref in ready:
                        self._take_in(ref)
        finally:
            # Interrupted, or too late: what an actor still does is of no use.
            for actor, _ in self._flying.values():
                self._actors.drop(actor)
        return [self._results[place] for place in range(len(self._rows))]

    def _send(self) -> None:
        while (self._waiting or self._alone) and time.monotonic() < self._until:
            wait_s = 0.0 if self._flying else min(_LOOK_S, self._until - time.monotonic())
            actor = self._actors.take(wait_s=wait_s)
            if actor is None:
                return
            chunk, packed = self._next_chunk()
            if not chunk:
                self._actors.give(actor)
                continue
            left_s = None if self._until == math.inf else max(0.0, self._until - time.monotonic())
            ref: ObjectRef[dict[str, Any]] = actor.handle.grade.remote(self._packed, packed, left_s)
            self._flying[ref] = (actor, chunk)

    def _next_chunk(self) -> tuple[list[int], bytes]:
        """Returns the next rows that travel together, and their bytes."""
        if self._alone:
            chunk = [self._alone.popleft()]
        else:
            chunk = [self._waiting.popleft() for _ in range(self._fitting_chunk())]
        while True:
            try:
                columns = tuple(zip(*(self._rows[place] for place in chunk), strict=True))
                packed = pickle.dumps(columns, pickle.HIGHEST_PROTOCOL)
            except Exception:  # nested too deep, a column of live objects: graded here
                if len(chunk) == 1:
                    return self._grade_here(chunk[0])
            else:
                if len(packed) <= _MAX_CHUNK_BYTES or len(chunk) == 1:
                    return chunk, packed
            half = len(chunk) // 2
            self._waiting.extendleft(reversed(chunk[half:]))
            chunk = chunk[:half]

    def _grade_here(self, place: int) -> tuple[list[int], bytes]:
        rows = [self._rows[place]]
        self._results[place] = grade_rows_here(self._verifier, rows, self._until)[0]
        return [], b""

    def _fitting_chunk(self) -> int:
        if not self.row_s:
            return 1
        fair = math.ceil(len(self._waiting) / (2 * self._actors.shares))
        return max(1, min(fair, int(_CHUNK_S / self.row_s), _MAX_CHUNK, len(self._waiting)))

    def _take_in(self, ref: "ObjectRef[dict[str, Any]]") -> None:
        import ray
        from ray.exceptions import ActorDiedError, RayError, RayTaskError

        actor, chunk = self._flying.pop(ref)
        try:
            told: dict[str, Any] = ray.get(ref)
        except RayTaskError as error:
            self._actors.give(actor)
            self._abstain(chunk, describe(error.cause or error))
            return
        except ActorDiedError as error:
            if error.actor_init_failed:
                raise ConfigError(f"no actor can start on the nodes: {describe(error)}") from error
            self._lose(actor, chunk, error)
            return
        except RayError as error:  # its process or node has died, more often than Ray tries
            self._lose(actor, chunk, error)
            return
        self._actors.give(actor)
        if "refused" in told:
            raise ConfigError(
                f"the nodes cannot use the verifier {self._verifier.name!r}: {told['refused']}. "
                "Its module must be installed or on PYTHONPATH there"
            )
        self._results.update(zip(chunk, pickle.loads(told["results"]), strict=True))
        self.rows_by_node[told["node"]] += len(chunk)
        seconds = told["seconds"] / len(chunk)
        # By the newest chunks: a batch may be sorted by length.
        self.row_s = seconds if not self.row_s else 0.7 * self.row_s + 0.3 * seconds

    def _lose(self, actor: RayActor, chunk: list[int], error: Exception) -> None:
        """Sends the rows of a lost chunk again, each alone; one that is lost too often abstains."""
        self._actors.drop(actor)
        self._losses.update(chunk)
        lost = [place for place in chunk if self._losses[place] > self._retries]
        self._alone.extend(place for place in chunk if self._losses[place] <= self._retries)
        self._abstain(lost, f"its actor was lost {self._retries + 1} times: {describe(error)}")

    def _abstain(
        self, places: Sequence[int], detail: str, reason: Reason = Reason.ENGINE_FAILURE
    ) -> None:
        for place in places:
            self._results[place] = abstention(self._verifier, detail, reason)

    def _give_up(self) -> None:
        for _, chunk in self._flying.values():
            self._abstain(chunk, "not done in time", Reason.TIMEOUT)
        self._abstain([*self._waiting, *self._alone], "not begun in time", Reason.TIMEOUT)
