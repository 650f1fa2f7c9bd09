"""SQL in names is stored and looked up as text, and no name leaves its folder."""

from __future__ import annotations

import ast
import json
import re
from collections.abc import Iterator
from contextlib import suppress
from itertools import cycle, product
from pathlib import Path

import pytest
import sqlalchemy as sa
from hostile import NAMES
from tree import ROOT

from longwave.platform.cli.main import main
from longwave.platform.editions.publish import read
from longwave.platform.errors import ConfigError, LongwaveError
from longwave.platform.storage.store import Store
from longwave.platform.sweeps.file.reading import check_sweep

HEADS = ("'", '"', "`", "\\'", "%27", "')", "';", "x' OR '1'='1", "1) ", "$$", "x'::text")
SQL = ("DROP TABLE trials", "DELETE FROM trials", "UPDATE trials SET id='x'", " UNION SELECT 1,2,3", "{0}", "%s", ":a")
TAILS = ("", " --", "/*", "; COMMIT; --", "\\", "%", "_")
NAMED = [a + b + c for a, b, c in product(HEADS, SQL, TAILS)][:500]
FILE = {"task": "adding", "models": ["gru"], "trials": 1}


def content(store: Store) -> dict[str, list[str]]:
    """Return all rows of all tables."""
    with store.reading() as connection:
        names = sa.inspect(connection).get_table_names()
        return {n: sorted(map(repr, connection.execute(sa.select("*").select_from(sa.table(n))))) for n in names}


@pytest.mark.integration
def test_sql_in_names_is_kept_as_text_and_changes_nothing_else(any_store_url: str) -> None:
    assert len(set(NAMED)) == 500
    with Store(any_store_url) as store:
        names = NAMED[::5]
        for name in names:
            store.add_sweep(name, {"name": name})
        assert set(store.sweeps()) == {*names}
        assert [store.sweep(name).content["name"] for name in names] == names
        before = content(store)
        looks = (store.rows, store.trials_named, store.retrainings, store.trials, store.failures, store.sweep)
        for name, look in zip(NAMED, cycle(looks), strict=False):
            with suppress(LongwaveError):
                look(name)
        assert store.patches(NAMED) == {} and store.sweeps_of_rows(NAMED) == [] and store.curves(NAMED) == []
        assert content(store) == before


STATEMENT = re.compile(r"\s*(SELECT|INSERT|UPDATE|DELETE|CREATE|DROP|ALTER|PRAGMA|SET) ")


def inserted_parts(source: str) -> Iterator[str]:
    """Yield what a module puts into its SQL statements, by an f-string, an operator or ``format``."""
    for node in ast.walk(ast.parse(source)) if STATEMENT.search(source) else ():
        match node:
            case ast.JoinedStr(values=[ast.Constant(value=str(head)), *parts]) if STATEMENT.match(head):
                yield from (ast.unparse(part.value) for part in parts if isinstance(part, ast.FormattedValue))
            case ast.BinOp(left=ast.Constant(value=str(head))) if STATEMENT.match(head):
                yield ast.unparse(node.right)
            case ast.Attribute(value=ast.Constant(value=str(head)), attr="format") if STATEMENT.match(head):
                yield "format"


def test_no_statement_is_put_together_from_values() -> None:
    modules = [path for path in (ROOT / "platform").rglob("*.py") if "migrations" not in path.parts]
    inserted = {path: {*inserted_parts(path.read_text(encoding="utf-8"))} for path in modules}
    assert {path.relative_to(ROOT / "platform/storage").as_posix(): p for path, p in inserted.items() if p} == {
        "database.py": {"table.__tablename__", "', '.join(names)", "', '.join(marks)"},
        "engine.py": {"pragma"},
        "exclusive.py": {"LOCK", "int(name[:7], 16)", "int(wait * 1000) + 1"},
        "repair.py": {"table", "table.name", "columns", "names", "marks"},
        "upgrade.py": {"schema", "table"},
    }, "a statement may hold names of our own tables alone; values travel as parameters"


@pytest.mark.parametrize("name", [*NAMES, "a/b", "a\\b", ".hidden", "..", "a" * 81, "", " ", "a b", "é"])
def test_a_sweeps_name_is_a_plain_name_for_it_becomes_a_folder(name: str) -> None:
    if re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9._-]{0,79}", name):
        assert Path(name).name == name, "a name that Windows alone minds stays in its folder, too"
        return
    with pytest.raises(ConfigError, match="a.toml: name: must be (1 to 80 letters|a string)"):
        check_sweep({**FILE, "name": name}, "a.toml")


def test_a_name_on_the_command_line_leaves_nothing_behind(
    tmp_path: Path, home: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    url = f"sqlite:///{tmp_path}/s.db"
    Store(url).close()
    before = {path.name for path in tmp_path.rglob("*")}
    for name in ("../../evil", "%2e%2e/evil", "/evil", "CON", "'; DROP TABLE sweeps; --"):
        for words in ("sweep resume", "sweep status", f"submit {tmp_path}/x.gz --row"):
            assert main([*words.split(), name, "--store", url]) == 2
            assert capsys.readouterr().err.count("\n") == 1
    assert {path.name for path in tmp_path.rglob("*")} - {"s.db-wal", "s.db-shm"} <= before
    assert not home.exists() or not [p for p in home.rglob("*") if "evil" in p.name]


@pytest.mark.parametrize("name", ["../board.json", "/etc/passwd", "a/b", "..", "a/../b"])
def test_an_edition_that_names_files_outside_its_folder_is_none(tmp_path: Path, name: str) -> None:
    (tmp_path / "manifest.json").write_text(json.dumps({"files": {"board.json": "0", name: "0"}}))
    with pytest.raises(ConfigError, match="manifest.json does not list its files|is not the file that was published"):
        read(tmp_path)
