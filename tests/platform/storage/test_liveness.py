"""A driver lives as long as its heartbeat; what a machine knows of its processes only finds a death earlier."""

from __future__ import annotations

import os
import shutil
import subprocess
import time
from collections.abc import Callable
from pathlib import Path

import psutil
import pytest
import sqlalchemy as sa

from longwave.platform import processes
from longwave.platform.about import about
from longwave.platform.storage.lease_tables import DriverRow
from longwave.platform.storage.leases import Leases, read_drivers
from longwave.platform.storage.store import Store
from longwave.platform.sweeps.file.schema import SweepFile
from longwave.platform.sweeps.plan.resolve import resolve
from longwave.platform.sweeps.plan.trials import all_trials

Filled = tuple[Store, list[str]]


@pytest.fixture
def filled(any_store_url: str, tiny: Callable[..., SweepFile], open_store: Callable[[str], Store]) -> Filled:
    """A store with the plan of one sweep, and its trials."""
    store, trials = open_store(any_store_url), all_trials(resolve(tiny()), {})
    store.add_sweep("tiny", {"trials": 4})
    store.add_trials("tiny", trials, [about(c) for c in trials])
    return store, [c.id for c in trials]


def set_psutils_clock(seconds: float, monkeypatch: pytest.MonkeyPatch) -> None:
    """Let psutil derive births from a clock that was set forward."""
    real = psutil.Process.create_time
    monkeypatch.setattr(psutil.Process, "create_time", lambda self: real(self) + seconds)


def age(store: Store, seconds: float) -> None:
    """Let all heartbeats be older; their leases, of 30 s, end by as much earlier."""
    values = {"heartbeat": DriverRow.heartbeat - seconds, "expires": DriverRow.expires - seconds}
    with store.transaction() as connection:
        connection.execute(sa.update(DriverRow).values(values))


def be_on_machine(folder: Path, boot: str, monkeypatch: pytest.MonkeyPatch, runs: bool = True) -> None:
    """Be a process of a machine that was booted as ``boot``, with the namespace's number of any other one."""
    own, space = folder / boot / str(os.getpid()), folder / "space"
    (own / "ns").mkdir(parents=True)
    space.touch()
    os.link(space, own / "ns/pid")
    (own.parent / "self").symlink_to(own.name)
    (own.parent / "sys/kernel/random").mkdir(parents=True)
    (own.parent / "sys/kernel/random/boot_id").write_text(f"{boot}\n")
    if runs:
        shutil.copy("/proc/self/stat", own / "stat")
    monkeypatch.setattr(processes, "PROC", own.parent)


@pytest.mark.parametrize("silent", [0, 11, 29])
def test_a_clock_that_was_set_between_two_starts_buries_no_driver_that_runs(
    filled: Filled, monkeypatch: pytest.MonkeyPatch, silent: int
) -> None:
    store, trials = filled
    with Leases(store, "tiny") as first:
        first.take(trials)
        age(store, silent)
        set_psutils_clock(3.0, monkeypatch)
        with Leases(store, "tiny") as second:
            assert second.take(trials) == set() and not second.after_a_death
            assert [(d.alive, d.gone) for d in read_drivers(store)] == [(True, False)] * 2


@pytest.mark.parametrize("silent", [0, 11, 29])
def test_machines_with_one_host_name_and_one_number_of_their_namespaces_bury_no_driver_of_each_other(
    filled: Filled, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, silent: int
) -> None:
    store, trials = filled
    be_on_machine(tmp_path, "one", monkeypatch)
    with Leases(store, "tiny") as first:
        first.take(trials)
        age(store, silent)
        set_psutils_clock(3.0, monkeypatch)  # another process, or none, has the number of the first
        be_on_machine(tmp_path, "two", monkeypatch, runs=False)
        with Leases(store, "tiny") as second:
            assert second.take(trials) == set() and not second.after_a_death
            assert [(d.alive, d.gone) for d in read_drivers(store)][0] == (True, False)


def test_a_driver_that_died_here_loses_its_leases_once_it_has_missed_two_beats(filled: Filled) -> None:
    store, trials = filled
    Leases(store, "tiny").__enter__().take(trials)
    with store.transaction() as connection:  # whatever has its number now was started at another moment
        connection.execute(sa.update(DriverRow).values(process_started=DriverRow.process_started + 1))
    with Leases(store, "tiny") as heir:
        assert heir.after_a_death and heir.take(trials) == set()
        age(store, 9.0)
        heir.beat("")
        assert heir.take(trials) == set() and [(d.alive, d.gone) for d in read_drivers(store)][0] == (True, True)
        age(store, 1.5)
        assert [(d.alive, d.gone) for d in read_drivers(store)][0] == (False, True)
        assert heir.take(trials) == {*trials} and [d.owner for d in read_drivers(store)] == [heir.owner]


def test_a_clock_that_was_set_back_keeps_no_dead_driver_alive(filled: Filled) -> None:
    store, trials = filled
    Leases(store, "tiny").__enter__().take(trials)
    with store.transaction() as connection:
        connection.execute(sa.update(DriverRow).values(process_started=DriverRow.process_started + 1))
    age(store, -3600)
    with Leases(store, "tiny") as heir:
        assert heir.take(trials) == {*trials}


def test_whoever_was_taken_for_dead_is_alive_from_its_next_beat_on(filled: Filled) -> None:
    store, trials = filled
    with Leases(store, "tiny") as buried, Leases(store, "tiny") as other:
        with store.transaction() as connection:
            connection.execute(sa.update(DriverRow).where(DriverRow.owner == buried.owner).values(ended=True))
        buried.beat("")
        assert buried.take(trials) == {*trials} and other.take(trials) == set()


def test_where_the_system_says_nothing_of_its_processes_heartbeats_alone_count(
    filled: Filled, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store, trials = filled
    monkeypatch.setattr(processes, "PROC", tmp_path)
    Leases(store, "tiny").__enter__().take(trials)
    age(store, 29)
    with Leases(store, "tiny") as other:
        assert other.take(trials) == set() and not other.after_a_death
        age(store, 1.5)
        other.beat("")
        assert other.take(trials) == {*trials}


@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="only Linux counts ticks since boot")
def test_a_start_is_told_in_ticks_since_boot_whatever_a_program_is_called(tmp_path: Path) -> None:
    program = shutil.copy("/bin/sleep", tmp_path / "a) R 1 (b")
    before = time.clock_gettime(time.CLOCK_BOOTTIME) * os.sysconf("SC_CLK_TCK")
    with subprocess.Popen([program, "60"]) as process:
        started = processes.start_ticks(process.pid)
        assert before - 1 <= started <= time.clock_gettime(time.CLOCK_BOOTTIME) * os.sysconf("SC_CLK_TCK")
        process.kill()
        os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOWAIT)
        assert processes.start_ticks(process.pid) == 0, "a zombie does not run"
    assert processes.start_ticks(process.pid) == 0
