"""What a driver counts for Prometheus, and the endpoint that shows it: off unless a port is given.

Workers open no port: what is said of them is what the driver hears from them.
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
from longwave.platform.sweeps.place.workers import Job, Sink

STATUSES = ("planned", "running", *ENDED)
LATENCIES = (0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0, 2.0, 5.0, 10.0)
"""Upper ends of the classes of store latency, in seconds."""


class DriverMetrics:
    """The numbers of one driver; what it costs to count is nothing beside a transaction.

    Args:
        sweep: Whose; each number has it as a label.

    Attributes:
        registry: Holds them.
    """

    def __init__(self, sweep: str) -> None:
        self.sweep, self.registry = sweep, CollectorRegistry()
        self._trials = self._gauge("trials", "Trials of the sweep, by how they stand.", "status")
        self._running = self._gauge("packs_running", "Packs that have a worker.").labels(sweep)
        self._waiting = self._gauge("packs_waiting", "Packs that wait for a worker.").labels(sweep)
        names = ["sweep", "pack"]
        self._epochs = Counter("longwave_epochs", "Epochs reported.", names[:1], registry=self.registry).labels(sweep)
        self._pack_epochs = Counter(
            "longwave_pack_epochs", "Epochs reported by a pack that has a worker.", names, registry=self.registry
        )
        self._store = Histogram(
            "longwave_store_seconds",
            "Store latency: transactions, with what they wait for.",
            ["sweep", "kind"],
            buckets=LATENCIES,
            registry=self.registry,
        )
        ProcessCollector(registry=self.registry)
        self._status: dict[str, str] = {}
        for status in STATUSES:
            self._trials.labels(sweep, status)

    def plan(self, trials: Sequence[PlannedTrial]) -> None:
        """Take how all trials stand in the store."""
        self._stand({trial.id: trial.status for trial in trials})

    def took(self, kind: str, seconds: float) -> None:
        """Take how long a transaction took: one to ``read`` or one to ``write``."""
        self._store.labels(self.sweep, kind).observe(seconds)

    @contextmanager
    def heard_by(self, sink: Sink, jobs: Mapping[str, Job], packs: int) -> Iterator[Sink]:
        """Give a sink that counts what it hears of packs, then tells ``sink``; after the block none of them is.

        Args:
            sink: Is told.
            jobs: The packs that are handed out, by key: it may change.
            packs: How many there are to be in all.
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
        """Show the numbers over HTTP inside the block.

        Args:
            at: ``PORT`` on the loopback interface, or ``ADDRESS:PORT``; None for nowhere.

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
        self._stand(dict.fromkeys(trials, "running"))

    def report(self, pack: str, report: Report) -> None:
        """Count epochs and ends. What a pack repeats after a restart was trained again, and counts again."""
        self._epochs.inc(len(report.points))
        self._pack_epochs.labels(self.sweep, pack).inc(len(report.points))
        self._stand({run.trial: run.status for run in report.runs})

    def ended(self, pack: str, trials: Sequence[str]) -> None:
        """Count a pack that has no worker any more; those of its trials that have not ended are planned again."""
        self._running.dec()
        self._pack_epochs.remove(self.sweep, pack)
        self._stand({trial: "planned" for trial in trials if self._status[trial] == "running"})

    def _gauge(self, name: str, what: str, *labels: str) -> Gauge:
        return Gauge(f"longwave_{name}", what, ["sweep", *labels], registry=self.registry)

    def _stand(self, trials: Mapping[str, str]) -> None:
        """Take how some trials stand."""
        more = Counts(trials.values())
        more.subtract(self._status[trial] for trial in trials if trial in self._status)
        for status, change in more.items():
            self._trials.labels(self.sweep, status).inc(change)
        self._status.update(trials)


class _Counting:
    """Counts what goes to a sink. A pack that starts again is counted once."""

    def __init__(self, numbers: DriverMetrics, sink: Sink, jobs: Mapping[str, Job]) -> None:
        self.numbers, self.sink, self.jobs = numbers, sink, jobs
        self.working: set[str] = set()

    def started(self, pack: str, place: Slot) -> None:
        """Count and tell."""
        if pack not in self.working:
            self.working.add(pack)
            self.numbers.started(pack, [config.id for config in self.jobs[pack].configs])
        self.sink.started(pack, place)

    def report(self, pack: str, report: Report) -> None:
        """Tell and count."""
        self.sink.report(pack, report)
        if pack in self.working:
            self.numbers.report(pack, report)

    def told(self, line: str) -> None:
        """Tell."""
        self.sink.told(line)

    def ended(self, pack: str, how: Ending, why: str = "") -> None:
        """Tell and count."""
        self.sink.ended(pack, how, why)
        if pack in self.working:
            self.working.remove(pack)
            self.numbers.ended(pack, [config.id for config in self.jobs[pack].configs])

    def settle(self) -> None:
        """Tell."""
        self.sink.settle()


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
