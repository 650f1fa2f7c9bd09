"""What a sweep is expected to take: told from what is known, and tried where one asks for it."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace

import pytest
from small_sweeps import small

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
