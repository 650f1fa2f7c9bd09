"""Addresses of databases, and the files behind them."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from longwave.platform.paths import has_other_tables, sqlite_file


@pytest.mark.parametrize(
    "url, file",
    [
        ("sqlite:///runs.db", "runs.db"),
        ("sqlite+pysqlite:////data/runs.db?timeout=3", "/data/runs.db"),
        ("sqlite:///", None),
        ("sqlite://", None),
        ("postgresql:///runs", None),
        ("http://127.0.0.1:5000", None),
    ],
)
def test_only_a_sqlite_url_with_a_path_has_a_file(url: str, file: str | None) -> None:
    assert sqlite_file(url) == (None if file is None else Path(file))


def test_a_file_belongs_to_another_program_if_it_has_tables_and_not_the_expected_one(tmp_path: Path) -> None:
    file = tmp_path / "a.db"
    assert not has_other_tables(file, "studies") and not file.exists()
    file.touch()
    assert not has_other_tables(file, "studies")
    with closing(sqlite3.connect(file)) as connection:
        connection.execute("CREATE TABLE trials (id INTEGER)")
    assert has_other_tables(file, "studies") and not has_other_tables(file, "trials")
