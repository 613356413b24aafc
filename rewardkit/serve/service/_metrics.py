"""What a service counts, for Prometheus."""

from collections import Counter as Tally
from collections.abc import Iterable, Mapping

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest

from rewardkit.runtime import PoolRunner, Runner
from rewardkit.verdict import Verdict

__all__ = ["CONTENT_TYPE", "Metrics"]

CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"
_SECONDS = (0.0001, 0.0003, 0.001, 0.003, 0.01, 0.03, 0.1, 0.3, 1.0, 3.0, 10.0, 30.0, 100.0)


class Metrics:
    """The figures of one service; a service has a registry of its own.

    Args:
        runner: whose workers are counted.
    """

    def __init__(self, runner: Runner) -> None:
        self._runner = runner
        self.registry = registry = CollectorRegistry()
        self._requests = Counter(
            "rewardkit_requests",
            "Answers by address and status.",
            ["path", "status"],
            registry=registry,
        )
        self._seconds = Histogram(
            "rewardkit_request_seconds",
            "From the head of a request to its answer.",
            ["path"],
            buckets=_SECONDS,
            registry=registry,
        )
        self._verdicts = Counter(
            "rewardkit_verdicts", "Verdicts by reason.", ["component", "reason"], registry=registry
        )
        self._verdict_seconds = Histogram(
            "rewardkit_verdict_seconds",
            "Time spent on a verdict.",
            ["component"],
            buckets=_SECONDS,
            registry=registry,
        )
        self.waiting = Gauge(
            "rewardkit_requests_waiting", "Requests in the queue.", registry=registry
        )
        self.running = Gauge(
            "rewardkit_requests_running", "Requests being graded.", registry=registry
        )
        self._workers = Gauge(
            "rewardkit_workers", "Workers: alive, busy, most.", ["state"], registry=registry
        )

    def answered(self, path: str, status: int, seconds: float) -> None:
        """Counts an answer."""
        self._requests.labels(path, str(status)).inc()
        self._seconds.labels(path).observe(seconds)

    def judged(self, verdicts: Mapping[str, Iterable[Verdict]]) -> None:
        """Counts verdicts, by component."""
        for name, group in verdicts.items():
            told = list(group)
            for reason, count in Tally(verdict.reason.value for verdict in told).items():
                self._verdicts.labels(name, reason).inc(count)
            seconds = self._verdict_seconds.labels(name)
            for verdict in told:
                seconds.observe(verdict.seconds)

    def text(self) -> bytes:
        """Returns all figures in Prometheus' text format."""
        if isinstance(self._runner, PoolRunner):
            state = self._runner.state()
            self._workers.labels("alive").set(state.alive)
            self._workers.labels("busy").set(state.busy)
            self._workers.labels("most").set(state.most)
        return generate_latest(self.registry)
