"""A driver hears with each beat what it is told, and its packs save and stop."""

from __future__ import annotations

import os
import signal
import time

import pytest

from longwave.platform.storage.leases import Leases
from longwave.platform.storage.store import Store
from longwave.platform.sweeps.place.stalls import StallWatch
from longwave.platform.sweeps.place.workers import Workers
from longwave.platform.sweeps.run import heartbeat
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


@pytest.mark.parametrize(("number", "seconds"), [(signal.SIGINT, 0.3), (signal.SIGTERM, 0.9)])
def test_packs_that_do_not_pause_in_time_are_ended_sooner_after_ctrl_c(
    number: int, seconds: float, store: Store, here: Workers, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(heartbeat, "INTERRUPT_SECONDS", 0.3)
    monkeypatch.setattr(heartbeat, "DRAIN_SECONDS", 0.9)
    store.add_sweep("tiny", {"trials": 4})
    with Leases(store, "tiny") as leases:
        beats = Heartbeat(store, leases, here, lambda: "", lambda line: None, StallWatch())
        with beats, pytest.raises(KeyboardInterrupt, match="^$"), beats.handling_signals():
            start = time.monotonic()
            os.kill(os.getpid(), number)
            try:
                time.sleep(20)
            finally:
                assert here.draining() and seconds <= time.monotonic() - start < seconds + 0.5
    assert beats.signal == number


def test_a_signal_that_was_ignored_from_the_start_stays_ignored(store: Store, here: Workers) -> None:
    before = signal.signal(signal.SIGHUP, signal.SIG_IGN)  # as nohup starts a process
    try:
        store.add_sweep("tiny", {"trials": 4})
        with Leases(store, "tiny") as leases:
            beats = Heartbeat(store, leases, here, lambda: "", lambda line: None, StallWatch())
            with beats, beats.handling_signals():
                os.kill(os.getpid(), signal.SIGHUP)
        assert not here.draining() and not beats.signal
        assert signal.getsignal(signal.SIGHUP) is signal.SIG_IGN
    finally:
        signal.signal(signal.SIGHUP, before)
