"""A record carries a checksum over all that was recorded: whatever is changed behind the store's back is found."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa
from hypothesis import given
from hypothesis import strategies as st
from recorded import recorded_store

from longwave.platform.records.run import Point
from longwave.platform.records.seal import ENDS, PLANNED, seal
from longwave.platform.storage import seals
from longwave.platform.storage.schema import TrialRow
from longwave.platform.storage.soundness import faults, sound
from longwave.platform.storage.store import Store

OpenStore = Callable[[str], Store]
numbers = st.floats(allow_nan=True, allow_infinity=True)
curves = st.lists(st.builds(Point, st.just("t"), st.integers(1, 99), numbers, numbers, numbers, numbers), min_size=1)
RECORD: dict[str, Any] = dict.fromkeys((*PLANNED, *ENDS))


@given(curve=curves, data=st.data())
def test_a_seal_hangs_on_every_number_and_on_no_order(curve: list[Point], data: st.DataObject) -> None:
    made = seal(RECORD, curve)
    assert len(made) == 64
    assert seal(dict(reversed(RECORD.items())), data.draw(st.permutations(curve))) == made
    k = data.draw(st.integers(0, len(curve) - 1))
    assert seal(RECORD, curve[:k] + curve[k + 1 :]) != made
    changed = Point("t", curve[k].epoch, curve[k].loss, data.draw(numbers), curve[k].seconds, curve[k].at)
    assert (seal(RECORD, [*curve[:k], changed, *curve[k + 1 :]]) == made) == (repr(changed) == repr(curve[k]))


def test_all_that_ended_is_sealed_and_found_sound_on_both_databases(any_store_url: str, open_store: OpenStore) -> None:
    store = open_store(any_store_url)
    trials = recorded_store(store)
    with store.transaction() as connection:
        kept = dict(connection.execute(sa.select(TrialRow.id, TrialRow.seal)).all())
        assert seals.fill(connection) == 0
        assert seals.broken(connection) == {}
    assert [len(kept[c.id] or "") for c in trials] == [64] * 10 + [32] * 2
    assert sound(store.engine) == ""


COLUMNS = [c.name for c in TrialRow.__table__.c if c.name not in ("id", "pack", "ended", "seal")]


@pytest.mark.parametrize("column", COLUMNS)
def test_a_changed_column_of_a_record_breaks_its_seal(store: Store, column: str, tmp_path: Path) -> None:
    trial = recorded_store(store, 4)[0]
    with closing(sqlite3.connect(tmp_path / "store.db")) as connection, connection:
        [(old,)] = connection.execute(f"SELECT {column} FROM trials WHERE id = ?", (trial.id,))
        new: object = f"{old}x" if isinstance(old, str) else (old or 0) + 1
        if column in ("config", "about"):
            new = json.dumps({**json.loads(old), "epochs": 7})
        connection.execute(f"UPDATE trials SET {column} = ? WHERE id = ?", (new, trial.id))
    with store.reading() as reading:
        assert seals.broken(reading) == {trial.id: column not in PLANNED}
    assert f"trial {trial.id} is damaged" in sound(store.engine)


@pytest.mark.parametrize(
    "change",
    [
        "UPDATE curves SET valid = valid + 1e-9 WHERE epoch = 3",
        "DELETE FROM curves WHERE epoch = 8",
        "UPDATE measures SET value = value * 2",
        "UPDATE trials SET seal = 'x' WHERE seal IS NOT NULL",
        "UPDATE trials SET config = 'no json'",
        "UPDATE trials SET status = 'planned'",
    ],
)
def test_a_changed_curve_or_seal_is_found_in_every_trial(store: Store, change: str, tmp_path: Path) -> None:
    trials = recorded_store(store)
    with closing(sqlite3.connect(tmp_path / "store.db")) as connection, connection:
        connection.execute(change)
    with store.reading() as reading:
        assert {c.id for c in trials[:-2]} <= set(seals.broken(reading))
    assert "; and " in sound(store.engine) and len(faults(store.engine)) >= 10


def test_a_planned_trial_an_environment_and_a_published_number_are_checked_by_their_names(
    store: Store, tmp_path: Path
) -> None:
    trial = recorded_store(store)[-1]
    with closing(sqlite3.connect(tmp_path / "store.db")) as connection, connection:
        connection.execute("UPDATE trials SET config = replace(config, '0.1', '0.2') WHERE id = ?", (trial.id,))
        connection.execute("UPDATE environments SET facts = replace(facts, '2.15', '2.16')")
        connection.execute("UPDATE published SET value = value + 1 WHERE id IN (SELECT max(id) FROM published)")
        connection.execute("UPDATE sweeps SET content = '[]'")
    found = faults(store.engine)
    for what in (f"trial {trial.id} is", "the environment", "the published number", "the sweep 'one' is damaged"):
        assert any(what in line for line in found), found
    assert len(found) == 5
