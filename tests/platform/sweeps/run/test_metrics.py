"""What a driver counts for Prometheus, beside what its store has, read by Prometheus's own parser."""

from __future__ import annotations

import io
import socket
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from urllib.error import URLError
from urllib.request import urlopen

import pytest
from prometheus_client import generate_latest
from prometheus_client.parser import text_string_to_metric_families
from rich.console import Console
from waiting import free_port

from longwave.platform.cli.main import main
from longwave.platform.errors import ConfigError
from longwave.platform.records.report import Ending, Report
from longwave.platform.records.run import Point, Run
from longwave.platform.storage.store import Store
from longwave.platform.sweeps.file.schema import SweepFile
from longwave.platform.sweeps.place.devices import Slot
from longwave.platform.sweeps.place.stalls import StallWatch
from longwave.platform.sweeps.place.workers import Job, Workers
from longwave.platform.sweeps.plan.resolve import resolve
from longwave.platform.sweeps.plan.stored import store_plan
from longwave.platform.sweeps.plan.trials import all_trials
from longwave.platform.sweeps.run import driver
from longwave.platform.sweeps.run.metrics import LATENCIES, DriverMetrics, parse_endpoint

Tiny = Callable[..., SweepFile]
Samples = dict[tuple[str, ...], float]


class Silent:
    """Takes reports and forgets them."""

    def started(self, pack: str, place: Slot) -> None: ...

    def report(self, pack: str, report: Report) -> None: ...

    def ended(self, pack: str, how: Ending, why: str = "") -> None: ...

    def show_notice(self, line: str) -> None: ...

    def flush(self) -> None: ...


def samples(text: str) -> Samples:
    """Return values by name and labels without the sweep's."""
    actual: Samples = {}
    for family in text_string_to_metric_families(text):
        for sample in family.samples:
            labels = sorted(value for name, value in sample.labels.items() if name != "sweep")
            actual[(sample.name, *labels)] = sample.value
    return actual


def now(numbers: DriverMetrics) -> Samples:
    return samples(generate_latest(numbers.registry).decode())


def standing(numbers: DriverMetrics) -> dict[str, float]:
    return {key[1]: value for key, value in now(numbers).items() if key[0] == "longwave_trials" and value}


def test_after_a_sweep_the_numbers_are_those_of_its_store(tiny: Tiny, store: Store, here: Workers) -> None:
    sweep, numbers = store_plan(resolve(tiny(models=["lem"], retrain=1)), store), DriverMetrics("tiny")
    driver.resume_sweep(sweep, store, here, None, Console(file=io.StringIO()), numbers)
    actual, stored = now(numbers), store.planned("tiny")
    assert standing(numbers) == Counter(trial.status for trial in stored) == {"ok": 5}
    assert actual["longwave_epochs_total",] == store.count()["epochs"] == 5 * 6
    assert actual["longwave_packs_running",] == actual["longwave_packs_waiting",] == 0
    assert not [key for key in actual if key[0] == "longwave_pack_epochs_total"], "packs that are over have no numbers"
    assert all(actual["longwave_store_seconds_count", kind] > 5 for kind in ("read", "write"))
    assert actual["process_resident_memory_bytes",] > 1e7


def test_while_packs_work_each_has_its_epochs_and_its_trials_run(tiny: Tiny) -> None:
    configs = all_trials(resolve(tiny(models=["lem"])), {})
    jobs = {"one": Job(configs[:3]), "two": Job(configs[3:])}
    ids, numbers = [config.id for config in configs], DriverMetrics("tiny")
    points = [Point(trial, epoch, 0.1, 0.1, float(epoch), 0.0) for trial in ids[:3] for epoch in (1, 2)]
    with numbers.counting(Silent(), jobs, 2) as sink:
        assert now(numbers)["longwave_packs_waiting",] == 2
        for _ in range(2):  # a worker that died is started again
            sink.started("one", Slot())
        sink.report("one", Report(points=points, runs=[Run(ids[0], "diverged", "its loss")]))
        actual = now(numbers)
        assert actual["longwave_packs_running",] == actual["longwave_packs_waiting",] == 1
        assert actual["longwave_pack_epochs_total", "one"] == actual["longwave_epochs_total",] == 6
        assert standing(numbers) == {"diverged": 1, "running": 2}
        sink.ended("one", "paused")
        assert standing(numbers) == {"diverged": 1, "planned": 2}, "what has not ended waits for a worker again"
        sink.started("two", Slot())
    actual = now(numbers)
    assert actual["longwave_packs_running",] == actual["longwave_packs_waiting",] == 0, "also after an error"


def test_packs_that_make_no_step_are_counted_when_the_numbers_are_read(monkeypatch: pytest.MonkeyPatch) -> None:
    numbers, stalls, began = DriverMetrics("tiny"), StallWatch(900), time.monotonic()
    assert now(numbers)["longwave_packs_stalled",] == 0
    numbers.count_stalled(stalls)
    for pack in ("one", "two"):
        stalls.started(pack, pack)
    assert now(numbers)["longwave_packs_stalled",] == 0
    monkeypatch.setattr(time, "monotonic", lambda: began + 1000)
    stalls.reported("two", Report())
    assert now(numbers)["longwave_packs_stalled",] == 1


def test_latencies_fall_into_their_classes() -> None:
    numbers = DriverMetrics("tiny")
    for seconds in (0.0005, 0.03, 30.0):
        numbers.observe_transaction("write", seconds)
    actual = now(numbers)
    below = {edge: actual["longwave_store_seconds_bucket", *sorted((str(edge), "write"))] for edge in LATENCIES}
    assert below == {edge: 1.0 + (edge >= 0.03) for edge in LATENCIES}
    assert actual["longwave_store_seconds_count", "write"] == 3


def test_the_store_says_what_its_transactions_took_also_when_they_fail(store: Store) -> None:
    took: list[tuple[str, float]] = []
    store.on_transaction = lambda kind, seconds: took.append((kind, seconds))
    with pytest.raises(KeyError, match="nothing"), store.transaction():
        time.sleep(0.01)
        raise KeyError("nothing")
    with store.reading():
        pass
    assert [kind for kind, _ in took] == ["write", "read"] and took[0][1] >= 0.01


def test_the_endpoint_is_on_loopback_unless_an_address_is_given() -> None:
    assert parse_endpoint("9464") == ("127.0.0.1", 9464)
    assert parse_endpoint("0.0.0.0:9464") == ("0.0.0.0", 9464)
    assert parse_endpoint("[::1]:65535") == ("::1", 65535)


@pytest.mark.parametrize(
    "wrong", ["", "0", "65536", "-1", "http", ":9464", "here:9464", "1.2.3:80", "127.0.0.1", "٣", "9464 "]
)
def test_what_is_no_endpoint_is_refused_in_one_line(wrong: str) -> None:
    with pytest.raises(ConfigError, match="--metrics is a port from 1 to 65535, or an IP address and a port"):
        parse_endpoint(wrong)


def test_numbers_are_served_inside_the_block_alone_and_only_if_asked_for() -> None:
    numbers, port = DriverMetrics("tiny"), free_port()
    with numbers.served(None), pytest.raises(URLError, match="refused"):
        urlopen(f"http://127.0.0.1:{port}/metrics", timeout=5)
    with numbers.served(str(port)), urlopen(f"http://127.0.0.1:{port}/metrics", timeout=5) as answer:
        assert samples(answer.read().decode())["longwave_packs_running",] == 0
    with pytest.raises(URLError, match="refused"):
        urlopen(f"http://127.0.0.1:{port}/metrics", timeout=5)


@pytest.mark.parametrize("command", ["run", "resume"])
def test_a_port_in_use_is_one_line_and_nothing_has_run(
    command: str, tiny: Tiny, store: Store, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "tiny.toml"
    file.write_text('name = "tiny"\ntask = "adding"\nvariant = "N=20"\nmodels = ["lem"]\ntrials = 1\n')
    if command == "resume":
        store_plan(resolve(tiny()), store)
    before = store.count()
    with socket.socket() as other:
        other.bind(("127.0.0.1", 0))
        other.listen()
        port = str(other.getsockname()[1])
        what = str(file) if command == "run" else "tiny"
        assert main(["sweep", command, what, "--here", "--metrics", port, "--store", store.url]) == 2
    output = capsys.readouterr().err
    assert output == f"longwave: --metrics {port}: Address already in use. Give another port.\n"
    assert store.count() == before
