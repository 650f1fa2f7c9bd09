"""The board's page of models that were trained with several numbers of layers."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from lab import about, marks, notes, ok, trial
from streamlit.testing.v1 import AppTest

from longwave.platform.records.run import Measure
from longwave.platform.storage.store import Store

pytestmark = pytest.mark.integration

BY_DEPTH = "Score by number of layers"


def test_the_page_draws_scores_and_measures_by_depth_and_only_where_there_are_depths(
    tmp_path: Path, visit: Callable[..., AppTest], url: str
) -> None:
    store_url = f"sqlite:///{tmp_path / 'deep.db'}"
    store = Store(store_url)
    store.add_sweep("demo", {"trials": 1})
    for layers, error, energy in ((2, 0.1, 3.0), (4, 0.2, 0.5)):
        configs = [replace(trial("lstm", k), options={"layers": layers}) for k in range(3)]
        store.add_trials("demo", configs, [replace(about(c), layers=layers) for c in configs])
        runs = [replace(ok(c, error + c.seed / 100), measures=(Measure("energy", "1", energy),)) for c in configs]
        store.write([], runs)
    store.engine.dispose()
    page = visit(store_url, "task", task="fitzhugh_nagumo", figure="depth")
    assert BY_DEPTH in notes(page) and "cannot be drawn" not in notes(page)
    middles = {m["layers"]: m["value"] for m in marks(page) if "median" in m["tip"]}
    assert middles == {2: 0.11, 4: 0.21000000000000002}
    page = visit(store_url, "task", task="fitzhugh_nagumo", figure="depth", depth="energy")
    assert {m["value"] for m in marks(page)} == {3.0, 0.5}
    assert BY_DEPTH not in notes(visit(url, "task", task="fitzhugh_nagumo", figure="depth"))
