"""A store of every release since 0.2.0 holds what it held; infra/tools/keep_store.py makes them."""

from __future__ import annotations

import json
import lzma
from collections.abc import Callable
from pathlib import Path

import pytest
import sqlalchemy as sa
from keep_store import STORES, content, main

from longwave.platform.storage.integrity import describe_damage
from longwave.platform.storage.store import Store
from longwave.platform.storage.versions import BASELINE

VERSIONS = sorted(file.name.removesuffix(".sqlite.xz") for file in STORES.glob("*.sqlite.xz"))


def test_a_store_of_the_first_release_is_kept_and_not_written_again(capsys: pytest.CaptureFixture[str]) -> None:
    assert VERSIONS[0] == "0.2.0"
    before = (STORES / "0.2.0.sqlite.xz").read_bytes()
    assert main("0.2.0") == 1 and "exists and is never overwritten" in capsys.readouterr().err
    assert (STORES / "0.2.0.sqlite.xz").read_bytes() == before and len(before) < 100_000


@pytest.mark.parametrize("version", VERSIONS)
def test_a_store_of_every_release_gives_the_same_boards_and_rows(
    version: str, tmp_path: Path, open_store: Callable[[str], Store]
) -> None:
    file = tmp_path / "store.db"
    file.write_bytes(lzma.decompress((STORES / f"{version}.sqlite.xz").read_bytes()))
    store = open_store(f"sqlite:///{file}")
    kept = json.loads((STORES / f"{version}.json").read_text(encoding="utf-8"))
    kept.pop("deliveries", None)  # what MLflow had been sent, which no store keeps any more
    assert content(store) == kept
    assert describe_damage(store.engine) == ""


def test_the_first_kept_store_has_rows_in_every_table_of_its_schema(
    tmp_path: Path, open_store: Callable[[str], Store]
) -> None:
    file = tmp_path / "store.db"
    file.write_bytes(lzma.decompress((STORES / "0.2.0.sqlite.xz").read_bytes()))
    engine = sa.create_engine(f"sqlite:///{file}")
    with engine.connect() as connection:
        assert connection.scalar(sa.text("SELECT version_num FROM alembic_version")) == BASELINE
        for name in sa.inspect(connection).get_table_names():
            assert connection.scalar(sa.select(sa.func.count()).select_from(sa.table(name))), f"{name} has no row"
    engine.dispose()
