"""A runner that spreads rows over a Ray cluster."""

import logging
import math
import threading
import time
from collections import Counter, deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Self

from rewardkit._install import require_extra
from rewardkit.errors import ConfigError
from rewardkit.runtime._link import import_path
from rewardkit.runtime._ray_actor import Grader
from rewardkit.runtime._ray_batch import RayActor, RayBatch
from rewardkit.runtime._tasks import pack
from rewardkit.runtime.batch import GradedRow, UngradedRow
from rewardkit.runtime.runner import Runner
from rewardkit.verifier import Verifier

__all__ = ["RayRunner", "RaySettings"]

_LOOK_S = 5.0
"""How often new nodes are looked for."""


@dataclass(frozen=True, slots=True)
class RaySettings:
    """The options of a `RayRunner`, which also a scoring run of many files follows."""

    address: str | None
    workers: int | None
    cpus: float
    row_timeout_s: float
    memory_mb: int | None
    retries: int


class RayRunner(Runner):
    """Grades on the nodes of a Ray cluster.

    Each CPU gets an actor, which keeps verifiers and their engines warm and grades in a worker
    process that is killed at a deadline. Rows travel in chunks that take about a tenth of a second
    by the measured cost: cheap ones by the hundred, dear ones singly. An actor has one chunk at a
    time, so what waits is in the caller's list and not in the cluster. Ray restarts actors whose
    process or node has died, elsewhere if need be, and sends their chunk again.

    Modules of verifiers of your own must be importable on the nodes: a verifier that is defined in
    the running script is refused.

    Args:
        address: of a cluster, as in `"auto"` or `"ray://…"`; None joins the Ray that this process
            uses, or starts one on this machine.
        workers: most actors, at least 1; None for one per CPU of the cluster.
        cpus: of a CPU that an actor reserves in Ray, above 0; the least runs beside what is there.
        row_timeout_s: seconds for one row, past the verifier's own deadline: the backstop.
        memory_mb: private memory of one worker, in MiB; None for no limit.
        retries: how often Ray sends a chunk again whose actor has died, at least 0; the rows of a
            chunk that is lost even so are sent as often alone, and then abstain.

    Raises:
        ConfigError: a value is outside its range.
        EngineMissingError: Ray is not installed.
    """

    name = "ray"

    def __init__(
        self,
        *,
        address: str | None = None,
        workers: int | None = None,
        cpus: float = 0.01,
        row_timeout_s: float = 600.0,
        memory_mb: int | None = 1024,
        retries: int = 2,
    ) -> None:
        require_extra("ray")
        if workers is not None and workers < 1:
            raise ConfigError(f"workers is at least 1, or None for one per CPU, not {workers!r}")
        if not 0 < cpus < math.inf or not 0 < row_timeout_s < math.inf or retries < 0:
            raise ConfigError("cpus and row_timeout_s are above 0, and retries is at least 0")
        self.settings = RaySettings(address, workers, cpus, row_timeout_s, memory_mb, retries)
        self._lock = threading.Condition()
        self._forget()

    def _forget(self) -> None:
        self._owns_ray = False
        self._actors: list[RayActor] = []
        self._placed: Counter[str] = Counter()
        self._idle: deque[RayActor] = deque()
        self._looked = -math.inf
        self._row_s: dict[bytes, float] = {}
        self._rows_by_node: Counter[str] = Counter()

    def __enter__(self) -> Self:
        self.connect()
        return super().__enter__()

    @property
    def rows_by_node(self) -> dict[str, int]:
        """How many rows each node has graded, by Ray's name of it; equal rows count once."""
        with self._lock:
            return dict(self._rows_by_node)

    def grade_rows(
        self, verifier: Verifier, rows: Sequence[UngradedRow], until: float, /
    ) -> list[GradedRow]:
        """Returns what became of each row, in order.

        Raises:
            ConfigError: the cluster is not there, the verifier cannot travel, or the nodes cannot
                import it.
        """
        packed = pack(verifier, what=f"the verifier {verifier.name}")
        self.connect()
        with self._lock:
            self._grow()
            row_s = self._row_s.get(packed, 0.0)
        batch = RayBatch(self, verifier, packed, rows, until, row_s, self.settings.retries)
        graded = batch.run()
        with self._lock:
            self._row_s[packed] = batch.row_s
            self._rows_by_node.update(batch.rows_by_node)
        return graded

    def connect(self) -> None:
        """Joins the cluster, or starts one on this machine, if that has not happened yet.

        Raises:
            ConfigError: the cluster is not there.
        """
        import ray

        with self._lock:
            if ray.is_initialized():
                return
            if self._actors:
                raise ConfigError("Ray was shut down while a RayRunner used it: close it first")
            options: dict[str, Any] = {"address": self.settings.address}
            if self.settings.address is None:
                options = {"num_cpus": self.settings.workers, "include_dashboard": False}
            try:
                ray.init(**options, log_to_driver=False, logging_level=logging.ERROR)
            except (ConnectionError, RuntimeError, ValueError) as error:
                raise ConfigError(
                    f"no Ray cluster at {self.settings.address!r}: {error}"
                ) from error
            self._owns_ray = True

    def count_actors(self) -> int:
        """Returns how many actors there should be: one per CPU, or as many as were asked for."""
        return self.settings.workers or max(1, sum(_cpus_by_node().values()))

    def take(self, *, wait_s: float) -> RayActor | None:
        """Returns an actor that has nothing to do, or None if there is none in this time."""
        with self._lock:
            self._grow()
            if not self._idle and wait_s > 0:
                self._lock.wait(wait_s)
            return self._idle.popleft() if self._idle else None

    def give(self, actor: RayActor) -> None:
        """Takes an actor back."""
        with self._lock:
            if actor in self._actors:
                self._idle.append(actor)
                self._lock.notify()

    def drop(self, actor: RayActor) -> None:
        """Ends an actor with what it does; another takes its place."""
        import ray

        with self._lock:
            if actor in self._actors:
                self._actors.remove(actor)
                self._placed[actor.node] -= 1
                self._looked = -math.inf
        ray.kill(actor.handle)

    @property
    def shares(self) -> int:
        """The number of actors."""
        return max(1, len(self._actors))

    def close(self) -> None:
        """Ends the actors, and Ray if this runner started it."""
        import ray

        with self._lock:
            actors, owns = self._actors, self._owns_ray
            self._forget()
        if ray.is_initialized():
            for actor in actors:
                ray.kill(actor.handle)
            if owns:
                ray.shutdown()

    def _grow(self) -> None:
        """Adds actors on nodes that have more CPUs than actors; a new node may have come."""
        if time.monotonic() - self._looked < _LOOK_S:
            return
        self._looked = time.monotonic()
        nodes = _cpus_by_node()
        most = self.settings.workers or max(1, sum(nodes.values()))
        for node in sorted(nodes, key=lambda one: self._placed[one]):
            while len(self._actors) < most and self._placed[node] < max(nodes[node], 1):
                self._place(node)
        while len(self._actors) < (self.settings.workers or 0):
            self._place(min(nodes, key=lambda one: self._placed[one]))

    def _place(self, node: str) -> None:
        import ray
        from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy

        made: Any = (
            ray.remote(Grader)
            .options(
                num_cpus=self.settings.cpus,
                max_restarts=-1,
                max_task_retries=self.settings.retries,
                scheduling_strategy=NodeAffinitySchedulingStrategy(node, soft=True),
            )
            .remote(import_path(), self.settings.memory_mb, self.settings.row_timeout_s, 1)
        )
        self._placed[node] += 1
        actor = RayActor(made, node)
        self._actors.append(actor)
        self._idle.append(actor)


def _cpus_by_node() -> dict[str, int]:
    import ray

    list_nodes: Callable[[], list[dict[str, Any]]] = ray.nodes
    return {
        str(node["NodeID"]): int(node["Resources"].get("CPU", 0))
        for node in list_nodes()
        if node["Alive"]
    }
