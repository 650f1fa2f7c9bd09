"""Commands that take rows by their names."""

from __future__ import annotations

import shlex
from pathlib import Path

import pytest
from tree import ROOT

from longwave.platform.cli.main import main
from longwave.platform.editions.shipped import read_shipped


@pytest.mark.parametrize("number", [1, 2])
@pytest.mark.parametrize("command", ["show {row}", "show {trial}", "diff ffff {row}", "compare {row} lem"])
def test_without_a_store_a_row_of_a_shipped_edition_is_named_with_the_command_that_imports_it(
    command: str, number: int, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = f"infra/board/edition-{number}"
    row = next(row for row in read_shipped()[number].rows if row["kind"] == "retrained")
    names = {"row": row["config"][:8].upper(), "trial": row["trials"][-1]}
    store = f"sqlite:///{tmp_path}/none.db"
    assert main([*command.format(**names).split(), "--store", store]) == 2
    line, advised = capsys.readouterr().err.rstrip("\n").rsplit(": ", 1)
    used = next(name for name in names.values() if name in command.format(**names))
    assert line.startswith(f"longwave: There is no store at {store} yet, and {used} is of Longwave, edition {number}.")
    assert shlex.split(advised) == ["longwave", "import", folder, "--store", store]
    assert (ROOT / folder / "manifest.json").is_file() and not (tmp_path / "none.db").exists()


def test_without_a_store_a_name_of_no_shipped_row_gets_the_general_commands(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["show", "ffffffffffff", "--store", f"sqlite:///{tmp_path}/none.db"]) == 2
    general = "Make one with: longwave sweep run FILE, or: longwave import BUNDLE\n"
    assert capsys.readouterr().err == f"longwave: There is no store at {tmp_path}/none.db. {general}"
