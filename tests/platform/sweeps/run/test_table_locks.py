"""Somebody else locks a table in PostgreSQL while a driver trains: it waits, and nothing is lost, nothing doubled."""

from __future__ import annotations

import io
import threading
import time
from collections.abc import Callable
from pathlib import Path

import pytest
import sqlalchemy as sa
from interrupted_drivers import read_results
from rich.console import Console

from longwave.platform.storage.lease_tables import AttemptRow
from longwave.platform.storage.store import Store
from longwave.platform.sweeps.file.schema import SweepFile
from longwave.platform.sweeps.place.workers import Workers
from longwave.platform.sweeps.run import driver

LOCKED = 7.0
"""Seconds for which the table is locked: longer than a statement waits by itself."""


@pytest.mark.integration
@pytest.mark.parametrize("table", ["trials", "leases"])
def test_a_driver_says_that_a_table_is_locked_and_goes_on_when_it_is_not(
    table: str, postgres: Callable[[], str], tiny: Callable[..., SweepFile], tmp_path: Path
) -> None:
    file, url, screen = tiny(models=["lem"], trials=2, retrain=1, epochs=150), postgres(), io.StringIO()
    whole = tmp_path / "whole.db"
    with Store(f"sqlite:///{whole}") as store:
        driver.start_sweep(file, store, Workers(1, tmp_path / "a", here=True), None, Console(quiet=True))
        right = read_results(store)

    def drive() -> None:
        with Store(url) as own:
            driver.start_sweep(file, own, Workers(1, tmp_path / "b", here=True), None, Console(file=screen, width=300))

    thread = threading.Thread(target=drive)
    with Store(url) as store:
        thread.start()
        while store.count()["epochs"] < 5:
            assert thread.is_alive()
            time.sleep(0.02)
        with store.engine.connect() as other:
            other.execute(sa.text(f"LOCK TABLE {table} IN ACCESS EXCLUSIVE MODE"))
            time.sleep(LOCKED)
            assert thread.is_alive(), "it did not end before it could meet the lock"
            other.rollback()
        thread.join(120)
        assert not thread.is_alive() and read_results(store) == right
        with store.reading() as connection:
            assert connection.scalar(sa.select(sa.func.count()).select_from(AttemptRow)) == len(store.trials("tiny"))
    assert "another process has locked it" in screen.getvalue()
