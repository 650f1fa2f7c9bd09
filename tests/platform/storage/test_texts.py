"""Texts that a database refuses are stored with their signs escaped, and no sound store is blamed for them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime

import pytest
import sqlalchemy as sa
from recorded import recorded_store

from longwave.platform.about import about
from longwave.platform.errors import StoreError
from longwave.platform.records.identity import digest
from longwave.platform.records.report import Report
from longwave.platform.records.run import Run
from longwave.platform.records.stored import Trial
from longwave.platform.storage.integrity import describe_damage
from longwave.platform.storage.lease_tables import AttemptRow
from longwave.platform.storage.leases import Leases, read_drivers
from longwave.platform.storage.store import Store

OpenStore = Callable[[str], Store]
REFUSED = "caf\udce9\x00 \ud83d é \N{GRINNING FACE}"
ESCAPED = "caf\\udce9\\x00 \\ud83d é \N{GRINNING FACE}"


@pytest.fixture
def store(any_store_url: str, open_store: OpenStore) -> Store:
    return open_store(any_store_url)


def test_a_failure_is_recorded_whatever_its_error_facts_and_code_say(store: Store) -> None:
    trial = recorded_store(store, 4)[-1].id
    patch = f"+name = '{REFUSED}'\n"
    facts = {"device": REFUSED, "diff": digest({"patch": patch})}
    with Leases(store, "one") as driver:
        driver.take([trial])
        driver.write(Report(began={trial: 0}))
        driver.write(Report((), [Run(trial, "failed", f"OSError: {REFUSED}", environment=facts, patch=patch)]))
    [run] = [stored.run for stored in store.trials_by_id([trial])]
    assert run and run.reason == f"OSError: {ESCAPED}" and run.environment["device"] == ESCAPED
    assert store.patches([run.environment["diff"]]) == {run.environment["diff"]: f"+name = '{ESCAPED}'\n"}
    assert describe_damage(store.engine) == ""
    with store.reading() as connection:
        assert connection.scalars(sa.select(AttemptRow.reason)).all() == [f"OSError: {ESCAPED}"]


def test_texts_that_are_escaped_once_are_not_changed_again(store: Store) -> None:
    trial = recorded_store(store, 4)[-1].id
    store.write([], [Run(trial, "failed", ESCAPED, environment={"device": ESCAPED})])
    [run] = [stored.run for stored in store.trials_by_id([trial])]
    assert run and (run.reason, run.environment) == (ESCAPED, {"device": ESCAPED})


def test_a_trial_of_elsewhere_is_imported_whatever_its_error_and_its_flags_say(store: Store) -> None:
    config = replace(recorded_store(store, 4)[0], seed=99)
    run = Run(config.id, "failed", REFUSED, environment={"device": REFUSED})
    trial = Trial(config, about(config), "failed", None, run, datetime(2026, 1, 2, tzinfo=UTC), "b", flags=(REFUSED,))
    store.import_trials(["b"], [(trial, ())], [])
    [stored] = store.trials_by_id([config.id])
    assert stored.run and (stored.run.reason, stored.flags) == (ESCAPED, (ESCAPED,))
    assert describe_damage(store.engine) == ""


def test_what_a_driver_notes_is_recorded_whatever_it_says(store: Store) -> None:
    recorded_store(store, 4)
    with Leases(store, "one") as driver:
        driver.beat(f"waits for {REFUSED}")
        assert [line.note for line in read_drivers(store)] == [f"waits for {ESCAPED}"]


def test_the_settings_of_a_sweep_come_back_whatever_they_say(store: Store) -> None:
    settings = {"comment": REFUSED, "b": 1, "a": {REFUSED: [2, 1]}}
    assert store.add_sweep("odd", settings) and not store.add_sweep("odd", settings)
    assert store.sweep("odd").content == settings and describe_damage(store.engine) == ""


def test_a_text_that_no_store_can_contain_is_blamed_and_not_the_store(store: Store) -> None:
    with pytest.raises(StoreError, match=r"^No store can contain the text 'caf\\udce9': .* Leave it out\.$"):
        store.sweep("caf\udce9 au lait")


@pytest.mark.parametrize("any_store_url", ["postgresql"], indirect=True)
def test_a_value_that_postgresql_refuses_is_blamed_and_not_the_store(store: Store) -> None:
    with pytest.raises(StoreError, match=r"^The store \S+ refused a value: value too long for type .*\(80\)$"):
        store.add_sweep("n" * 81, {})


def test_only_a_failure_to_read_says_that_a_record_cannot_be_read(store: Store) -> None:
    with pytest.raises(StoreError, match="^The store contains records that cannot be read: no"), store.reading():
        raise ValueError("no")
    with pytest.raises(StoreError, match="^A record cannot be written, or the store contains one"), store.transaction():
        raise ValueError("no")
