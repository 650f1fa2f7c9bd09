"""The searches of an imported sweep are read from its file and its trials, on a machine without its task's data."""

from __future__ import annotations

import pytest
from edition.folders import EditionFolders

from longwave.platform.exchange.bundle import read as read_bundle
from longwave.platform.exchange.intake import import_bundle
from longwave.platform.storage.store import Store
from longwave.platform.sweeps.plan import resolve
from longwave.platform.sweeps.plan.stored import read_searched, read_sweep_plan, with_search_spaces


@pytest.mark.integration
def test_ranges_and_scales_of_an_imported_race_are_those_of_its_file_and_need_no_data(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    [path] = (p for p in EditionFolders.of_edition(2).results if p.name.startswith("edition2-b5-parity-1-block-gated-"))
    import_bundle(store, read_bundle(path), [])
    [name] = store.sweeps()
    assert "@" in name and read_sweep_plan(store, name).file.name == name, "trials are never planned for another sweep"
    expected = with_search_spaces(read_sweep_plan(store, name))

    def load(*_: object) -> None:
        raise AssertionError("the data of a task were loaded")

    monkeypatch.setattr(resolve, "_plan_cells", load)
    actual = read_searched(store, name)
    assert [(c.label, c.space, c.scale) for c in actual.cells] == [(c.label, c.space, c.scale) for c in expected.cells]
    assert actual.cells[0].space and actual.cells[0].scale.perfect == 100
