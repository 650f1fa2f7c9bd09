"""A driver's metrics for Prometheus, and the endpoint that serves them: off unless a port is given.

Workers open no port: their metrics come from their reports to the driver.
"""

from __future__ import annotations

from collections import Counter as Counts
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from ipaddress import ip_address

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, ProcessCollector, start_http_server

from longwave.platform.errors import ConfigError
from longwave.platform.records.report import Ending, Report
from longwave.platform.records.run import ENDED
from longwave.platform.records.stored import PlannedTrial
from longwave.platform.sweeps.place.devices import Slot
from longwave.platform.sweeps.place.stalls import StallWatch
from longwave.platform.sweeps.place.workers import Job, Sink

STATUSES = ("planned", "running", *ENDED)
LATENCIES = (0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0, 2.0, 5.0, 10.0)
"""Upper bounds of the buckets of store latency, in seconds."""


class DriverMetrics:
    """The metrics of one driver; counting takes no time compared with a transaction.

    Args:
        sweep: Name of the sweep, a label of each metric.

    Attributes:
        registry: Holds the metrics.
    """

    def __init__(self, sweep: str) -> None:
        self.sweep, self.registry = sweep, CollectorRegistry()
        self._trials = self._gauge("trials", "Trials of the sweep, by status.", "status")
        self._running = self._gauge("packs_running", "Packs that have a worker.").labels(sweep)
        self._waiting = self._gauge("packs_waiting", "Packs that wait for a worker.").labels(sweep)
        self._stalled = self._gauge("packs_stalled", "Packs that have stalled: no step for long.").labels(sweep)
        names = ["sweep", "pack"]
        self._epochs = Counter("longwave_epochs", "Epochs reported.", names[:1], registry=self.registry).labels(sweep)
        self._pack_epochs = Counter(
            "longwave_pack_epochs", "Epochs reported by a pack that has a worker.", names, registry=self.registry
        )
        self._store = Histogram(
            "longwave_store_seconds",
            "Duration of store transactions, including waits.",
            ["sweep", "kind"],
            buckets=LATENCIES,
            registry=self.registry,
        )
        ProcessCollector(registry=self.registry)
        self._status: dict[str, str] = {}
        for status in STATUSES:
            self._trials.labels(sweep, status)

    def plan(self, trials: Sequence[PlannedTrial]) -> None:
        """Set the statuses of all trials."""
        self._set_statuses({trial.id: trial.status for trial in trials})

    def count_stalled(self, stalls: StallWatch) -> None:
        """Count the packs that have stalled whenever the metrics are read."""
        self._stalled.set_function(lambda: len(stalls.stalled()))

    def observe_transaction(self, kind: str, seconds: float) -> None:
        """Observe the seconds of a transaction of kind ``read`` or ``write``."""
        self._store.labels(self.sweep, kind).observe(seconds)

    @contextmanager
    def counting(self, sink: Sink, jobs: Mapping[str, Job], packs: int) -> Iterator[Sink]:
        """Yield a sink that counts the events of packs and passes them on to ``sink``; after the block none is running.

        Args:
            sink: Receives the events.
            jobs: The packs that are handed out, by key; it may change.
            packs: Their number in all.
        """
        self._waiting.set(packs)
        counting = _Counting(self, sink, jobs)
        try:
            yield counting
        finally:
            for pack in list(counting.working):
                self.ended(pack, ())
            self._waiting.set(0)

    @contextmanager
    def served(self, at: str | None) -> Iterator[None]:
        """Serve the metrics over HTTP inside the block.

        Args:
            at: ``PORT`` on the loopback interface, or ``ADDRESS:PORT``; None serves nothing.

        Raises:
            ConfigError: It is neither, or nothing can listen there.
        """
        if at is None:
            yield
            return
        address, port = parse_endpoint(at)
        try:
            server, thread = start_http_server(port, address, self.registry)
        except OSError as error:
            raise ConfigError(f"--metrics {at}: {error.strerror or error}. Give another port.") from None
        try:
            yield
        finally:
            server.shutdown()
            server.server_close()
            thread.join()

    def started(self, pack: str, trials: Sequence[str]) -> None:
        """Count a pack that has a worker, and its trials."""
        self._running.inc()
        self._waiting.dec()
        self._pack_epochs.labels(self.sweep, pack)
        self._set_statuses(dict.fromkeys(trials, "running"))

    def report(self, pack: str, report: Report) -> None:
        """Count epochs and ends. What a pack repeats after a restart was trained again, and counts again."""
        self._epochs.inc(len(report.points))
        self._pack_epochs.labels(self.sweep, pack).inc(len(report.points))
        self._set_statuses({run.trial: run.status for run in report.runs})

    def ended(self, pack: str, trials: Sequence[str]) -> None:
        """Count a pack that no longer has a worker; its trials that have not ended are planned again."""
        self._running.dec()
        self._pack_epochs.remove(self.sweep, pack)
        self._set_statuses({trial: "planned" for trial in trials if self._status[trial] == "running"})

    def _gauge(self, name: str, description: str, *labels: str) -> Gauge:
        return Gauge(f"longwave_{name}", description, ["sweep", *labels], registry=self.registry)

    def _set_statuses(self, trials: Mapping[str, str]) -> None:
        changes = Counts(trials.values())
        changes.subtract(self._status[trial] for trial in trials if trial in self._status)
        for status, change in changes.items():
            self._trials.labels(self.sweep, status).inc(change)
        self._status.update(trials)


class _Counting:
    """Counts the events of a sink. A pack that starts again is counted once."""

    def __init__(self, metrics: DriverMetrics, sink: Sink, jobs: Mapping[str, Job]) -> None:
        self.metrics, self.sink, self.jobs = metrics, sink, jobs
        self.working: set[str] = set()

    def started(self, pack: str, slot: Slot) -> None:
        """Count a start, and pass it on."""
        if pack not in self.working:
            self.working.add(pack)
            self.metrics.started(pack, [config.id for config in self.jobs[pack].configs])
        self.sink.started(pack, slot)

    def report(self, pack: str, report: Report) -> None:
        """Pass a report on, and count it."""
        self.sink.report(pack, report)
        if pack in self.working:
            self.metrics.report(pack, report)

    def show_notice(self, line: str) -> None:
        """Pass a notice on."""
        self.sink.show_notice(line)

    def ended(self, pack: str, how: Ending, why: str = "") -> None:
        """Pass an end on, and count it."""
        self.sink.ended(pack, how, why)
        if pack in self.working:
            self.working.remove(pack)
            self.metrics.ended(pack, [config.id for config in self.jobs[pack].configs])

    def flush(self) -> None:
        """Flush the sink behind it."""
        self.sink.flush()


def parse_endpoint(at: str) -> tuple[str, int]:
    """Return address and port of ``9464``, ``0.0.0.0:9464`` or ``[::]:9464``; the first is on the loopback interface.

    Raises:
        ConfigError: It is none of these.
    """
    address, _, port = at.rpartition(":")
    try:
        host = str(ip_address(address.removeprefix("[").removesuffix("]"))) if address or ":" in at else "127.0.0.1"
        if port.isdecimal() and port.isascii() and 0 < int(port) < 65536:
            return host, int(port)
    except ValueError:
        pass
    raise ConfigError(f"--metrics is a port from 1 to 65535, or an IP address and a port, 0.0.0.0:9464; got {at!r}.")
