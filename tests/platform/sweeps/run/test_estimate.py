"""What a sweep is expected to take: told from what is known, and tried where one asks for it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import nullcontext
from pathlib import Path
from types import SimpleNamespace

import pytest
from small_sweeps import small

from longwave.platform.records.probe import CPU, Probe, load_key
from longwave.platform.records.trial import TrialConfig
from longwave.platform.storage.probes import write_probes
from longwave.platform.storage.store import Store
from longwave.platform.sweeps.place.cluster import Cluster
from longwave.platform.sweeps.place.workers import Workers
from longwave.platform.sweeps.plan.resolve import resolve
from longwave.platform.sweeps.run import estimate


@pytest.mark.parametrize("probe", [False, True])
def test_packs_are_tried_only_where_one_asks_for_it(
    probe: bool, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, here: Workers
) -> None:
    requested = []

    def tried(cluster: Cluster, *_: object) -> Cluster:
        requested.append(cluster)
        return cluster

    monkeypatch.setattr(estimate, "probe_missing", tried)
    monkeypatch.setattr(estimate.executor, "running_workers", lambda workers: estimate.nullcontext())
    monkeypatch.setenv("LONGWAVE_HOME", str(tmp_path))
    estimate.estimate_sweep(resolve(small()), here, None, probe, lambda line: None)
    assert len(requested) == probe


def test_where_no_pack_is_untried_nothing_is_started_and_nothing_said(here: Workers) -> None:
    known, said = SimpleNamespace(untried_packs=lambda configs: []), list[str]()
    assert estimate.probe_missing(known, [], here, None, said.append) is known  # type: ignore[arg-type]
    assert not said


def test_a_quick_estimate_tries_what_the_store_has_no_probe_of_the_largest_packs_first(
    monkeypatch: pytest.MonkeyPatch, store: Store, here: Workers
) -> None:
    sweep, tried = resolve(small(trials=4, retrain=2)), list[tuple[str, int]]()

    def run_probes(wanted: Sequence[tuple[str, Sequence[TrialConfig]]], *_: object) -> Iterator[Probe]:
        for kind, configs in wanted:
            tried.append((configs[0].model, len(configs)))
            yield Probe(kind, load_key(configs[0]), len(configs), 2**20, 2**34, 0.1, 1.0 * len(configs))

    monkeypatch.setattr(estimate.executor, "run_probes", run_probes)
    monkeypatch.setattr(estimate.executor, "running_workers", lambda _: nullcontext())
    _, quick = estimate.estimate_quickly(sweep, here, store.url, lambda line: None)
    first, second = (cell.base.model for cell in sweep.cells)
    assert tried == [(first, 4), (second, 4), (first, 1), (second, 1)]
    epochs = sum(cell.base.epochs * (4 + 2) for cell in sweep.cells)
    assert not quick.unknown and quick.held == {CPU: pytest.approx(epochs)}, "a second an epoch of each trial"

    [known, _] = estimate.first_trials(sweep)
    write_probes(store, [Probe(CPU, load_key(known[0]), m, 2**20, 2**34, 0.1, 1.0 * m) for m in (1, 4)])
    tried.clear()
    _, again = estimate.estimate_quickly(sweep, here, store.url, lambda line: None)
    assert tried == [(second, 4), (second, 1)] and again.held == quick.held
