"""The programs behind make find what they share with tests and benchmarks."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import keep_store
import pytest
from edition import __main__ as edition
from edition import drawn_rows
from edition.folders import EditionFolders
from tree import ROOT

MAKEFILE = (ROOT / "Makefile").read_text(encoding="utf-8")
PROGRAMS = sorted(set(re.findall(r"\$\(TOOL\) ([\w.]+)", MAKEFILE)))


@pytest.mark.integration
@pytest.mark.parametrize("program", PROGRAMS)
def test_a_program_imports_with_the_path_that_make_gives_it(program: str) -> None:
    [path] = re.findall(r"^TOOL := PYTHONPATH=(\S+) ", MAKEFILE, re.MULTILINE)
    code = f"import runpy; runpy.run_module({program!r}, run_name='imported', alter_sys=True)"
    environment = {**os.environ, "PYTHONPATH": path}
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, env=environment, capture_output=True, text=True)
    assert not done.returncode, done.stderr


@pytest.mark.parametrize(
    ("words", "missing"), [(["submission"], "FOLDER"), (["shots"], "STORE"), (["shots", "STORE=a"], "SHOTS")]
)
def test_make_says_which_variable_is_missing(words: list[str], missing: str) -> None:
    done = subprocess.run(["make", "--dry-run", *words], cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 2 and done.stderr.count("\n") == 1
    assert f"make {words[0]} needs {missing}=VALUE" in done.stderr


def test_a_store_is_kept_under_the_name_of_a_version(capsys: pytest.CaptureFixture[str]) -> None:
    assert keep_store.main() == 2
    assert capsys.readouterr().err == "Name the version whose store to keep, as in: keep_store.py 0.2.0\n"


@pytest.mark.parametrize(
    ("main", "message"),
    [
        (edition.main, "there is no edition 9: no folder .*sweeps/edition9"),
        (drawn_rows.main, "edition 9 is not published: no folder .*edition-9"),
    ],
)
def test_an_edition_that_does_not_exist_is_refused_and_leaves_nothing(
    main: Callable[[list[str]], None], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit, match="2"):
        main(["--edition", "9"])
    assert re.search(f"error: {message}\n$", capsys.readouterr().err)
    assert not EditionFolders.of_edition(9).home.exists()


def test_no_rows_cannot_be_drawn(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit, match="2"):
        drawn_rows.main(["--rows", "0"])
    assert capsys.readouterr().err.endswith("error: --rows must be 1 or more, got 0\n")


@pytest.mark.parametrize("name", ["0.2.0.sqlite.xz", "0.2.0.json"])
def test_no_file_of_a_kept_store_is_overwritten(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], name: str
) -> None:
    monkeypatch.setattr(keep_store, "STORES", tmp_path)
    (tmp_path / name).write_text("kept")
    assert keep_store.main("0.2.0") == 1
    assert capsys.readouterr().err == f"{tmp_path / name} exists and is never overwritten.\n"
    assert [path.name for path in tmp_path.iterdir()] == [name] and (tmp_path / name).read_text() == "kept"


def test_rows_are_drawn_and_trained_again_and_three_in_four_must_be_inside(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def make_row(key: str, n: int) -> dict[str, object]:
        return {"key": key, "kind": "retrained", "n": n, "superseded": False, "task": "t", "variant": "", "model": "m"}

    folders = replace(EditionFolders.of_edition(1), board=tmp_path)
    folders.edition.mkdir()
    outcomes = {"a": "inside", "b": "outside"}
    monkeypatch.setattr(drawn_rows.EditionFolders, "of_edition", lambda _: folders)
    monkeypatch.setattr(drawn_rows.subprocess, "run", lambda *_, **__: None)
    monkeypatch.setattr(drawn_rows, "record", lambda row: row)
    monkeypatch.setattr(drawn_rows, "reproduce_row", lambda row, store: outcomes[row["key"]])
    for rows, status, printed in (
        ([make_row("a", 3)], 0, "seed 1: 1 inside\n"),
        ([make_row("a", 3), make_row("b", 3)], 1, "seed 1: 1 inside, 1 outside\n"),
        ([make_row("a", 1)], 2, ""),
    ):
        monkeypatch.setattr(drawn_rows, "read_board", lambda _, rows=rows: rows)
        with pytest.raises(SystemExit) as ended:
            drawn_rows.main(["--seed", "1"])
        out, err = capsys.readouterr()
        assert int(ended.value.code or 0) == status and out.endswith(printed)
    assert err.endswith("error: no row of edition 1 can be compared with a further training\n")
