"""A driver hears with each beat what it is told, and its packs save and stop."""

from __future__ import annotations

import pytest

from longwave.platform.storage.leases import Leases
from longwave.platform.storage.store import Store
from longwave.platform.sweeps.place.stalls import StallWatch
from longwave.platform.sweeps.place.workers import Workers
from longwave.platform.sweeps.run.heartbeat import Heartbeat


@pytest.mark.parametrize(
    ("word", "spent", "drains"), [("run", "", False), ("pause", "", True), ("stop", "", True), ("run", "all", True)]
)
def test_packs_drain_at_the_beat_in_which_a_driver_is_to_wait_or_to_end(
    word: str, spent: str, drains: bool, store: Store, here: Workers
) -> None:
    store.add_sweep("tiny", {"trials": 4})
    with Leases(store, "tiny") as leases:
        if word != "run":
            store.set_state("tiny", word)
        with Heartbeat(store, leases, here, lambda: spent, lambda line: None, StallWatch()):
            assert here.draining() == drains
