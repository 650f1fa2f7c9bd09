"""A password in the text of another library or of code enters no row; a store that has one already is cleaned."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import pytest
import sqlalchemy as sa
from recorded import recorded_store

from longwave.platform.about import known_task
from longwave.platform.cli.main import main
from longwave.platform.records.identity import digest
from longwave.platform.records.run import Run
from longwave.platform.records.stored import CatalogueEntry
from longwave.platform.registry import get_task
from longwave.platform.storage.base import utc_now
from longwave.platform.storage.checksums import write_checksums
from longwave.platform.storage.integrity import find_damage_at
from longwave.platform.storage.lease_tables import AttemptRow
from longwave.platform.storage.schema import TrialRow
from longwave.platform.storage.secrets import count_secrets, remove_secrets
from longwave.platform.storage.store import Store

CANARY = "hunter2"
REASON = f"OSError: cannot reach https://bob:{CANARY}@host/x"
PATCH = (
    f'+URL = "https://bob:{CANARY}@host/x"\n+token = next(tokens)\n+y = x[:, 0]@w\n+key = {{"api_key": "{CANARY}"}}\n'
)
OpenStore = Callable[[str], Store]


def failed_run(trial: str) -> Run:
    facts = {"device": f"cpu of postgresql://bob:{CANARY}@host", "diff": digest({"patch": PATCH})}
    return Run(trial, "failed", REASON, environment=facts, patch=PATCH)


def fill(store: Store) -> str:
    """Give a store records, and one of a run whose texts hold a password; return its trial."""
    trial = recorded_store(store)[-1].id
    store.write([], [failed_run(trial)])
    return trial


def raw_texts(store: Store) -> dict[str, str]:
    """Return all that the database holds, by table and column."""
    tables = sa.MetaData()
    with store.reading() as connection:
        tables.reflect(connection)
        return {
            f"{table.name}.{column.name}": repr(connection.execute(sa.select(column)).all())
            for table in tables.sorted_tables
            for column in table.c
        }


@pytest.fixture
def written_before(monkeypatch: pytest.MonkeyPatch) -> Callable[[Store], str]:
    """Fill a store as a version did that left nothing out."""

    def fill_raw(store: Store) -> str:
        with monkeypatch.context() as before:
            before.setattr(Run, "without_secrets", lambda run: run)
            trial = fill(store)
        with store.transaction() as connection:
            attempt = {"trial": trial, "number": 1, "owner": "", "fence": 1, "started": utc_now(), "reason": REASON}
            connection.execute(sa.insert(AttemptRow).values(attempt))
        return trial

    return fill_raw


@pytest.mark.integration
def test_what_a_run_failed_with_is_stored_without_its_password(any_store_url: str, open_store: OpenStore) -> None:
    store = open_store(any_store_url)
    trial = fill(store)
    assert [name for name, text in raw_texts(store).items() if CANARY in text] == []
    [stored] = store.trials_by_id([trial])
    assert stored.run and stored.run.reason == "OSError: cannot reach https://***@host/x"
    name = stored.run.environment["diff"]
    assert stored.run.environment["device"] == "cpu of postgresql://***@host"
    clean = '+URL = "https://***@host/x"\n+token = next(tokens)\n+y = x[:, 0]@w\n+key = {"api_key": "***"}\n'
    assert store.patches([name]) == {name: clean} and name == digest({"patch": clean})
    assert find_damage_at(any_store_url) == []


@pytest.mark.integration
def test_a_store_that_holds_passwords_is_cleaned_and_its_checksums_are_right_again(
    any_store_url: str, open_store: OpenStore, written_before: Callable[[Store], str]
) -> None:
    store = open_store(any_store_url)
    trial = written_before(store)
    holds = {"trials.reason", "attempts.reason", "environments.facts", "patches.text"}
    assert {name for name, text in raw_texts(store).items() if CANARY in text} == holds
    assert count_secrets(store) == remove_secrets(store) == 4
    assert [name for name, text in raw_texts(store).items() if CANARY in text] == []
    assert find_damage_at(any_store_url) == [] and count_secrets(store) == remove_secrets(store) == 0
    [stored] = store.trials_by_id([trial])
    clean = failed_run(trial).without_secrets()
    assert stored.run and (stored.run.reason, stored.run.environment) == (clean.reason, clean.environment)
    assert store.patches([clean.environment["diff"]]) == {clean.environment["diff"]: clean.patch}


def test_a_plan_whose_description_held_a_password_has_a_right_checksum_without_it(store: Store) -> None:
    trial = recorded_store(store)[0].id
    with store.transaction() as connection:
        described = {
            **connection.scalars(sa.select(TrialRow.about).where(TrialRow.id == trial)).one(),
            "recipe": REASON,
        }
        connection.execute(sa.update(TrialRow).where(TrialRow.id == trial).values(about=described, checksum=""))
        write_checksums(connection, [trial])
    assert remove_secrets(store) == 1 and find_damage_at(store.url) == []
    [stored] = store.trials_by_id([trial])
    assert stored.about.recipe == "OSError: cannot reach https://***@host/x"


def test_a_trial_that_was_damaged_before_stays_damaged_when_its_password_is_removed(
    store: Store, written_before: Callable[[Store], str]
) -> None:
    trial = written_before(store)
    with store.transaction() as connection:
        connection.execute(sa.text("UPDATE trials SET seconds = 1e9 WHERE id = :id"), {"id": trial})
    remove_secrets(store)
    assert CANARY not in raw_texts(store)["trials.reason"]
    assert [line for line in find_damage_at(store.url) if trial in line] != []


@pytest.mark.integration
@pytest.mark.usefixtures("unlimited_doctor")
def test_the_doctor_finds_passwords_in_a_store_and_removes_them_from_its_file(
    store: Store, written_before: Callable[[Store], str], capsys: pytest.CaptureFixture[str]
) -> None:
    written_before(store)
    store.close()
    file = Path(store.url.removeprefix("sqlite:///"))
    assert main(["doctor", "--store", store.url]) == 1
    assert "4 texts of the store may contain one" in " ".join(capsys.readouterr().out.split())
    assert main(["doctor", "--repair", "--store", store.url]) == 0
    assert capsys.readouterr().out == "Passwords removed from 4 texts of the store.\n"
    files = [path for path in file.parent.glob(f"{file.name}*") if CANARY.encode() in path.read_bytes()]
    assert files == [] and find_damage_at(store.url) == []


def test_a_damaged_store_with_passwords_is_saved_without_them(
    store: Store, tmp_path: Path, written_before: Callable[[Store], str], capsys: pytest.CaptureFixture[str]
) -> None:
    trial = written_before(store)
    store.close()
    with closing(sqlite3.connect(store.url.removeprefix("sqlite:///"))) as file, file:
        file.execute("UPDATE trials SET test = 1e9 WHERE id IN (SELECT id FROM trials WHERE id <> ? LIMIT 1)", (trial,))
    main(["doctor", "--repair", "--store", store.url, "--to", str(tmp_path / "new.db")])
    out = " ".join(capsys.readouterr().out.split())
    assert "Passwords removed from 4 texts of the new store. The old file still contains them" in out
    assert CANARY.encode() not in (tmp_path / "new.db").read_bytes()
    assert find_damage_at(f"sqlite:///{tmp_path}/new.db") == []


def test_a_password_of_a_sweep_and_of_a_description_is_removed_and_the_store_stays_sound(
    store: Store,
) -> None:
    recorded_store(store)
    secret = f"https://bob:{CANARY}@host/x"
    store.add_sweep("two", {"sampler_arguments": {"url": secret}})
    store.write_catalogue([CatalogueEntry("task", "adding", "1", "synthetic", data="d", facts={"source": secret})])
    assert count_secrets(store) == 2
    store.close()
    assert main(["doctor", "--repair", "--store", store.url]) == 0
    assert find_damage_at(store.url) == []
    with Store(store.url, create=False) as opened:
        assert CANARY not in str(raw_texts(opened)) and opened.sweeps() == ["one", "two"]
        assert opened.sweep("two").content == {"sampler_arguments": {"url": "https://***@host/x"}}


def test_a_task_whose_source_holds_a_password_is_described_without_it() -> None:
    spec = replace(get_task("adding"), source=f"https://bob:{CANARY}@host/x")
    assert known_task(spec, "N=20", "d").facts["source"] == "https://***@host/x"
