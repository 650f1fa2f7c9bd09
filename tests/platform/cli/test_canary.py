"""A password in the store's URL and in the server's goes through every command, and comes out nowhere."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
import sqlalchemy as sa
import typer

from longwave.platform.cli.app import LazyCommand
from longwave.platform.cli.main import app, main
from longwave.platform.storage.store import Store

CANARY = "c4n4ryS3cret"
SERVER = f"http://alice:{CANARY}@127.0.0.1:1"
SKIPPED = ("dashboard", "bench")
"""A server that does not end, and measurements: the first hands its store over by the environment, the others take
none."""
FILE = (
    'name = "tiny"\ntask = "adding"\nvariant = "N=20"\nmodels = ["lem"]\ntrials = 1\nretrain = 1\nhidden = 8\n'
    "batch = 10\nsteps = 1\nepochs = 1\n"
)
WORDS = {"name": "tiny", "file": "tiny.toml", "row": "lem", "first": "lem", "second": "gru", "a": "lem", "b": "gru"}
FILES = {"submit": "rows.json.xz", "import": "rows.json.xz", "publish": "page"}


def leaves(
    command: object, words: tuple[str, ...] = ()
) -> Iterator[tuple[tuple[str, ...], list[typer.models.ParameterInfo]]]:
    """Give every command of the tree: its words and its parameters."""
    for name, below in getattr(command, "commands", {}).items():
        yield from leaves(below, (*words, name))
    if isinstance(command, LazyCommand):
        yield words, command.load().params


def lines(url: str) -> dict[tuple[str, ...], list[list[str]]]:
    """Return, by command, command lines that give it what it asks for, and the password wherever it takes a URL."""
    by_command: dict[tuple[str, ...], list[list[str]]] = {}
    for words, params in leaves(app):
        if words[0] in SKIPPED:
            continue
        options, given = {o for p in params for o in p.opts}, list[str]()  # type: ignore[attr-defined]
        for option, value in (("--store", url), ("--mlflow", SERVER), ("--server", SERVER)):
            given += [option, value] if option in options else []
        given += ["--here"] if "--here" in options else []
        needed = [p.name for p in params if p.required]  # type: ignore[attr-defined]
        plain = [
            FILES.get(words[0], WORDS.get(n, "page")) if n in ("file", "folder", "paths") else WORDS.get(n, "adding")
            for n in needed
        ]
        own = [words[0]] if words[0] in ("submit", "publish") else [url] * max(1, len(needed))
        by_command[words] = [[*words, *plain, *given], [*words, *own, *given]]
    return by_command


@pytest.mark.slow  # some sixty commands, one after another
@pytest.mark.usefixtures("unlimited_doctor")
def test_a_password_comes_out_of_no_command_into_no_file_and_no_row(
    postgres: Callable[[], str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "tiny.toml").write_text(FILE)
    url = postgres().replace("postgres:@", f"postgres:{CANARY}@")
    assert CANARY in url
    monkeypatch.setenv("LONGWAVE_STORE", url)
    monkeypatch.setenv("MLFLOW_TRACKING_URI", SERVER)
    known = lines(url)
    assert ("sweep", "run") in known and ("mlflow", "sync") in known and len(known) > 20
    first = [("sweep", "plan"), ("sweep", "run"), ("sweep", "retry"), ("sweep", "resume"), ("submit",), ("import",)]
    first.append(("doctor",))  # before a check of a file that is no plugin, which this process then remembers
    ran = []
    for words in [*first, *(w for w in known if w not in first)]:
        for line in known[words]:
            ran.append((main(line), words))
            out, err = capfd.readouterr()
            assert CANARY not in out + err, line[:3]
    worked = {words for status, words in ran if status == 0}
    assert worked >= {("sweep", "run"), ("sweep", "status"), ("board",), ("submit",), ("import",), ("doctor",)}, ran
    for file in tmp_path.rglob("*"):
        assert CANARY not in file.name and (not file.is_file() or CANARY.encode() not in file.read_bytes()), file
    with Store(url) as store, store.reading() as connection:
        for table in sa.inspect(store.engine).get_table_names():
            rows = connection.execute(sa.text(f"SELECT * FROM {table}")).all()
            assert CANARY not in repr(rows), table
