"""A damaged store is found out or harmless, and what is saved of it is right."""

from __future__ import annotations

import json
import random
import re
import shutil
import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa
from keep_store import fill
from recorded import recorded_store
from small_sweeps import small

from longwave.platform.boards.row import Row
from longwave.platform.cli.main import main
from longwave.platform.errors import StoreError
from longwave.platform.records.run import Run
from longwave.platform.storage.boards import read_board
from longwave.platform.storage.integrity import describe_damage, find_damage_at
from longwave.platform.storage.repair import RepairedStore, repair_store
from longwave.platform.storage.store import Store
from longwave.platform.sweeps.plan.resolve import resolve
from longwave.platform.sweeps.plan.stored import store_plan


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A sound store in one file."""
    file = tmp_path_factory.mktemp("whole") / "store.db"
    with Store(f"sqlite:///{file}") as store:
        recorded_store(store, 40)
    return file


def reported(file: Path) -> dict[str, Any]:
    """Return every number that a store reports: of trials, curves and boards."""
    with Store(f"sqlite:///{file}", create=False) as store:
        trials = {t.config.id: (t.config, t.status, t.run, t.about) for t in store.trials("one")}
        rows = [(r.config, r.kind, r.mean, r.std, r.n, tuple(r.scores)) for r in read_board(store)]
        return {"trials": trials, "curves": store.curves(sorted(trials)), "rows": rows}


def damage(whole: Path, file: Path, draw: random.Random) -> None:
    """Copy a store and flip 1 to 64 of its bytes, or cut it off."""
    content = bytearray(whole.read_bytes())
    if draw.random() < 0.15:
        del content[draw.randrange(len(content)) :]
    else:
        for _ in range(draw.choice([1, 1, 2, 8, 64])):
            content[draw.randrange(len(content))] ^= draw.randrange(1, 256)
    file.write_bytes(content)


def damaged(whole: Path, folder: Path, times: int) -> Iterator[Path]:
    for k in range(times):
        file = folder / f"{k}.db"
        damage(whole, file, random.Random(k))
        yield file
        for left in folder.glob(f"{k}.*"):
            left.unlink()


def wrong_rows(file: Path, right: dict[str, Any]) -> list[str]:
    """Return what a store reports of its trials that is not right; a trial that is to be trained again is."""
    content = reported(file)
    wrong = [key for key, t in content["trials"].items() if t not in (right["trials"].get(key), _planned(right, key))]
    known = set(right["curves"])
    return [*wrong, *(f"{p}" for p in content["curves"] if p not in known)]


def _planned(right: dict[str, Any], key: str) -> tuple[Any, ...] | None:
    known = right["trials"].get(key)
    return (known[0], "planned", None, known[3]) if known else None


@pytest.mark.integration
@pytest.mark.parametrize("times", [20, pytest.param(1000, marks=pytest.mark.slow)])
def test_damage_is_found_or_harmless_and_a_repair_gives_only_right_rows(
    whole: Path, tmp_path: Path, times: int
) -> None:
    right, noticed, harmless, saved = reported(whole), 0, 0, 0
    for file in damaged(whole, tmp_path, times):
        before = file.read_bytes()
        try:
            wrong = find_damage_at(f"sqlite:///{file}")
        except StoreError as error:
            wrong = [str(error)]
        noticed += bool(wrong)
        if not wrong:
            harmless += 1
            assert reported(file) == right, f"{file.name} is damaged, and nothing tells"
            continue
        repair = repair_store(file, file.with_suffix(".new"))
        assert file.read_bytes() == before
        assert wrong_rows(repair.file, right) == [], f"{file.name} was repaired to something else"
        saved += count(repair, "trials")
    assert noticed + harmless == times and noticed > times // 2
    assert saved > 0.5 * noticed * len(right["trials"])


def boards_after_flip(whole: Path, file: Path, draw: random.Random) -> list[Row] | str:
    """Copy a store, flip one of its bits and return its boards, or the line that is said in their place."""
    content = bytearray(whole.read_bytes())
    bit = draw.randrange(8 * len(content))
    content[bit // 8] ^= 1 << bit % 8
    for left in file.parent.glob(f"{file.name}-*"):
        left.unlink()
    file.write_bytes(content)
    try:
        with Store(f"sqlite:///{file}", create=False, read_only=True) as store:
            return read_board(store)
    except StoreError as error:
        return str(error)


@pytest.mark.integration
@pytest.mark.parametrize("times", [200, pytest.param(3000, marks=pytest.mark.slow)])
def test_a_flipped_bit_changes_nothing_that_a_board_shows_or_is_said_in_a_line(
    whole: Path, tmp_path: Path, times: int
) -> None:
    with Store(f"sqlite:///{whole}", read_only=True) as store:
        right = read_board(store)
    said = 0
    for k in range(times):
        shown = boards_after_flip(whole, tmp_path / "store.db", random.Random(k))
        said += isinstance(shown, str)
        assert "\n" not in shown if isinstance(shown, str) else shown == right, f"bit {k}"
    assert times > said > times // 50


@pytest.mark.parametrize(
    ("change", "line"),
    [
        (
            "UPDATE trials SET test = test + 1e-9 WHERE id = '{id}'",
            "trial {id} is damaged: its plan or record does not",
        ),
        ("UPDATE trials SET reason = 'x' WHERE id = '{id}'", "trial {id} is damaged"),
        ("UPDATE trials SET checksum = substr(checksum, 1, 34) WHERE id = '{id}'", "trial {id} is damaged"),
        ("UPDATE trials SET config = json_set(config, '$.hidden', 9)", "trial .* is damaged"),
        ("UPDATE environments SET facts = '{{}}'", "the environment .* is damaged"),
        ("UPDATE published SET value = value + 1e-9", "the published number .* is damaged"),
    ],
)
def test_what_a_board_is_made_of_is_checked_before_it_is_shown(
    whole: Path, tmp_path: Path, change: str, line: str, capsys: pytest.CaptureFixture[str]
) -> None:
    file = Path(shutil.copy(whole, tmp_path / "store.db"))
    with closing(sqlite3.connect(file)) as connection, connection:
        [key] = connection.execute("SELECT id FROM trials WHERE test IS NOT NULL ORDER BY id DESC LIMIT 1").fetchone()
        connection.execute(change.format(id=key))
    assert main(["board", "--store", f"sqlite:///{file}"]) == 2
    said = capsys.readouterr().err
    assert re.search(line.format(id=key), said) and "longwave doctor --repair --store" in said and said.count("\n") == 1


def test_older_checksums_are_compared_as_far_as_they_go(whole: Path, tmp_path: Path) -> None:
    file = Path(shutil.copy(whole, tmp_path / "store.db"))
    with closing(sqlite3.connect(file)) as connection, connection:
        connection.execute("UPDATE trials SET checksum = substr(checksum, 1, 66)")
    assert find_damage_at(f"sqlite:///{file}") == []
    with Store(f"sqlite:///{file}") as store:
        assert len(read_board(store)) > 0
    with closing(sqlite3.connect(file)) as connection, connection:
        connection.execute("UPDATE trials SET test = test + 1e-9 WHERE test IS NOT NULL")
    with Store(f"sqlite:///{file}") as store, pytest.raises(StoreError, match="its plan or record does not match"):
        read_board(store)


def count(repaired: RepairedStore, table: str) -> int:
    return next(t.saved for t in repaired.tables if t.table == table)


def test_a_repair_saves_all_but_what_is_damaged_and_says_what(whole: Path, tmp_path: Path) -> None:
    file = tmp_path / "store.db"
    shutil.copy(whole, file)
    with closing(sqlite3.connect(file)) as connection, connection:
        ids = [key for (key,) in connection.execute("SELECT id FROM trials WHERE length(checksum) = 80 ORDER BY id")]
        connection.execute("UPDATE trials SET valid = 0 WHERE id = ?", ids[:1])
        connection.execute("UPDATE trials SET config = '{}' WHERE id = ?", ids[1:2])
    repair = repair_store(file)
    assert repair.file == tmp_path / "store.repaired-1.db" and repair.file.stat().st_mode & 0o777 == 0o600
    assert set(repair.again) == {ids[0]}
    by_table = {t.table: (t.saved, t.lost) for t in repair.tables}
    assert by_table["trials"] == (39, 1) and by_table["sweep_trials"] == (39, 1)
    assert by_table["curves"] == (36 * 8, 2 * 8 + 3)
    with Store(f"sqlite:///{repair.file}") as store:
        assert describe_damage(store.engine) == ""
        assert {t.config.id for t in store.trials("one") if t.run} == set(ids[2:])
    assert repair_store(file).file.name == "store.repaired-2.db"
    with pytest.raises(StoreError, match="store.repaired-2.db already exists. Name another file with --to"):
        repair_store(file, tmp_path / "store.repaired-2.db")
    with pytest.raises(StoreError, match="There is no store to repair at .*none.db"):
        repair_store(tmp_path / "none.db")


def test_a_store_that_sqlite_takes_for_no_database_is_named_with_its_cure_and_saved(
    whole: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "store.db"
    file.write_bytes(b"\0" * 90 + whole.read_bytes()[90:])
    assert main(["board", "--store", f"sqlite:///{file}"]) == 2
    line = capsys.readouterr().err
    assert "is damaged: file is not a database. Save what is readable with: longwave doctor --repair" in line
    assert line.count("\n") == 1
    assert main(["doctor", "--repair", "--store", f"sqlite:///{file}", "--to", str(tmp_path / "new.db")]) == 1
    out = capsys.readouterr().out
    assert "Use the new one with" in out and f"--store sqlite:///{tmp_path}/new.db" in out
    assert wrong_rows(tmp_path / "new.db", right := reported(whole)) == []
    assert reported(tmp_path / "new.db")["rows"] == right["rows"]


def test_sweeps_are_listed_where_one_of_them_is_damaged_and_it_is_named(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    url = f"sqlite:///{tmp_path}/s.db"
    with Store(url) as store:
        for name in ("first", "second", "third"):
            store_plan(resolve(small(name=name, models=["lem"], trials=2)), store)
        with store.transaction() as connection:
            connection.exec_driver_sql("""UPDATE sweeps SET content = '{"task": 3}' WHERE name = 'second'""")
    assert main(["sweep", "list", "--format", "json", "--store", url]) == 2
    out, err = capsys.readouterr()
    assert [sweep["name"] for sweep in json.loads(out)] == ["first", "third"]
    assert "is damaged: the sweep 'second' does not match its checksum. Save what is readable with" in err


@pytest.mark.usefixtures("unlimited_doctor")
@pytest.mark.integration
def test_the_doctor_names_each_damaged_trial_and_no_password(
    whole: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "store.db"
    shutil.copy(whole, file)
    with closing(sqlite3.connect(file)) as connection, connection:
        ids = [key for (key,) in connection.execute("SELECT id FROM trials WHERE length(checksum) = 80 LIMIT 3")]
        connection.execute("UPDATE trials SET test = 1e9 WHERE id IN (?, ?, ?)", ids)
    assert main(["doctor", "--store", f"sqlite:///{file}"]) == 1
    out = capsys.readouterr().out
    assert all(f"trial {key} is damaged" in out for key in ids) and "doctor --repair" in out
    assert main(["doctor", "--store", "postgresql://me:hunter2@127.0.0.1:1/none"]) == 1
    assert "hunter2" not in "".join(capsys.readouterr())


def test_a_repair_is_asked_for_in_words(capsys: pytest.CaptureFixture[str]) -> None:
    for arguments in (["--to", "x.db"], ["--repair", "--to", "x.db", "--store", "postgresql://127.0.0.1/none"]):
        assert main(["doctor", *arguments]) == 2
        assert "--to goes with --repair, and with a store that is a SQLite file" in capsys.readouterr().err


def test_a_schema_that_is_no_text_any_more_is_repaired_all_the_same(whole: Path, tmp_path: Path) -> None:
    file, content = tmp_path / "store.db", bytearray(whole.read_bytes())
    at = content.index(b"tabletrialstrials")  # kind, name and table of its line; its text follows
    content[at + 5 : at + 40] = bytes([0xD5]) * 35
    file.write_bytes(content)
    with closing(sqlite3.connect(file)) as old, pytest.raises(UnicodeDecodeError, match="invalid continuation byte"):
        old.execute("SELECT 1 FROM sqlite_master")
    repair = repair_store(file, tmp_path / "new.db")
    assert {t.table: t.saved for t in repair.tables}["curves"] == 0, "no curve without its trial"
    with Store(f"sqlite:///{repair.file}", create=False) as store:
        assert store.sweeps() == ["one"] and store.trials("one") == []


@pytest.mark.integration
@pytest.mark.parametrize("byte", [0xD5, ord("x")])
def test_a_time_that_is_no_text_or_no_time_is_damage_and_no_server_that_is_away(
    whole: Path, tmp_path: Path, byte: int
) -> None:
    file, right = tmp_path / "store.db", reported(whole)
    with closing(sqlite3.connect(whole)) as connection:
        [ended] = connection.execute("SELECT ended FROM trials WHERE ended IS NOT NULL LIMIT 1").fetchone()
    content = bytearray(whole.read_bytes())
    content[content.index(ended.encode()) + 15] = byte
    file.write_bytes(content)
    wrong, unreadable = find_damage_at(f"sqlite:///{file}")
    assert wrong.startswith("trial ") and unreadable.startswith("it cannot be read: ")
    with pytest.raises(
        StoreError, match=r"is damaged: Could not decode|contains records that cannot be read: Invalid isoformat"
    ):
        reported(file)
    assert wrong_rows(repair_store(file, tmp_path / "new.db").file, right) == []


@pytest.mark.integration
@pytest.mark.parametrize(
    ("table", "columns"),
    [
        ("sweeps", ("name", "content", "plan", "state", "checksum")),
        ("catalogue", ("kind", "name", "variant", "version", "family", "data", "facts", "checksum")),
        ("patches", ("id", "text")),
        ("environments", ("id", "facts")),
    ],
)
def test_each_flipped_bit_of_what_belongs_to_no_trial_is_told(
    tmp_path: Path, table: str, columns: tuple[str, ...]
) -> None:
    file = tmp_path / "store.db"
    with Store(f"sqlite:///{file}") as store:
        fill(store)
    with closing(sqlite3.connect(file)) as connection:
        connection.execute("PRAGMA foreign_keys = OFF")
        rows = connection.execute(f"SELECT rowid, {', '.join(columns)} FROM {table}").fetchall()
        draw, told = random.Random(table), 0
        for row, column, text in [(r[0], c, v) for r in rows for c, v in zip(columns, r[1:], strict=True) if v]:
            for bit in draw.sample(range(8 * len(text.encode())), min(16, 8 * len(text.encode()))):
                content = bytearray(text.encode())
                content[bit // 8] ^= 1 << bit % 8
                change = f"UPDATE {table} SET {column} = CAST(? AS TEXT) WHERE rowid = ?"
                with connection:
                    connection.execute(change, (bytes(content), row))
                assert find_damage_at(f"sqlite:///{file}") != [], f"bit {bit} of {column} {text!r}"
                with connection:
                    connection.execute(change, (text.encode(), row))
                told += 1
    assert told > 30 and find_damage_at(f"sqlite:///{file}") == []


@contextmanager
def few_variables() -> Iterator[None]:
    """Make SQLite take 35 variables a statement, fewer than there are ended trials in ``whole``."""

    def set_limit(connection: sqlite3.Connection, _: object) -> None:
        connection.setlimit(sqlite3.SQLITE_LIMIT_VARIABLE_NUMBER, 35)

    sa.event.listen(sa.Engine, "connect", set_limit)
    yield
    sa.event.remove(sa.Engine, "connect", set_limit)


@pytest.mark.parametrize("change", ["id = id || '0'", "facts = '{}'"])
def test_a_repair_loses_an_environment_that_is_not_what_names_it_and_plans_its_trials_anew(
    whole: Path, tmp_path: Path, change: str
) -> None:
    file = Path(shutil.copy(whole, tmp_path / "store.db"))
    with closing(sqlite3.connect(file)) as connection, connection:
        connection.execute(f"UPDATE environments SET {change}")
    with few_variables():
        repaired = repair_store(file, tmp_path / "repaired.db")
    assert find_damage_at(f"sqlite:///{repaired.file}") == []
    assert wrong_rows(repaired.file, reported(whole)) == []
    assert count(repaired, "environments") == 0


def test_a_text_with_the_sign_for_an_unknown_character_is_no_damage(store: Store) -> None:
    trial = recorded_store(store)[-1].id
    store.write([], [Run(trial, "failed", "RuntimeError: caf\ufffd.cpp")])
    store.close()
    file = Path(store.url.removeprefix("sqlite:///"))
    repair = repair_store(file)
    assert {t.table: t.lost for t in repair.tables if t.table in ("trials", "sweep_trials")} == {
        "trials": 0,
        "sweep_trials": 0,
    }
    with Store(f"sqlite:///{repair.file}") as saved:
        [found] = saved.trials_by_id([trial])
    assert found.run and found.run.reason == "RuntimeError: caf\ufffd.cpp"
