"""The notebook runs from its first cell to its last, and shows what it says."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import nbclient
import nbformat
import pytest
from tree import ROOT

pytestmark = pytest.mark.integration

FILE = ROOT / "infra/notebooks/first.ipynb"


def outputs(cell: Any, kind: str) -> list[str]:
    """Return what a cell shows of one kind."""
    return [out["data"][kind] for out in cell["outputs"] if kind in out.get("data", {})]


@pytest.fixture(scope="module")
def ran(tmp_path_factory: pytest.TempPathFactory) -> list[Any]:
    """The cells of the notebook, run in a kernel of its own, in a folder and with a home of their own."""
    folder = tmp_path_factory.mktemp("notebook")
    book = nbformat.read(FILE, as_version=4)
    setting = f"import os; os.environ.update(LONGWAVE_HOME={str(folder)!r}); os.environ.pop('LONGWAVE_STORE', None)"
    book.cells.insert(0, nbformat.v4.new_code_cell(setting))
    resources = {"metadata": {"path": str(folder)}}
    nbclient.NotebookClient(book, timeout=300, kernel_name="python3", resources=resources).execute()
    return [cell for cell in book.cells if cell["cell_type"] == "code"][1:]


def find_cell(cells: list[Any], start: str) -> Any:
    """Return the cell that holds a text."""
    [cell] = [cell for cell in cells if start in cell["source"]]
    return cell


def test_the_notebook_is_kept_without_outputs() -> None:
    book = nbformat.read(FILE, as_version=4)
    nbformat.validate(book)
    assert not any(cell.get("outputs") or cell.get("execution_count") for cell in book.cells)


def test_every_cell_shows_what_it_says(ran: list[Any]) -> None:
    assert outputs(find_cell(ran, "lw.LEM(1, 64"), "text/plain")[0].startswith("LEM(1, 64, dt=0.5, start='uniform'")
    assert outputs(find_cell(ran, "torch.allclose"), "text/plain") == ["True"]
    assert "TrainedNetwork" in outputs(find_cell(ran, "lw.load"), "text/plain")[0]
    [compared] = outputs(find_cell(ran, "board.compare"), "text/html")
    assert "<table>" in compared and "LEM against LSTM" in compared
    assert "\x1b" not in outputs(find_cell(ran, "board.compare"), "text/plain")[0]
    assert "vega" in outputs(find_cell(ran, "board.plot"), "text/html")[0]


def test_a_sweep_shows_live_how_it_stands_and_ends_with_its_board(ran: list[Any]) -> None:
    cell = find_cell(ran, "lw.sweep(")
    live, board = outputs(cell, "text/html")
    assert "10 of 10 trials" in live and "10 ok" in live
    assert "Adding problem, N=20" in board and "LEM" in board
    assert not [out for out in cell["outputs"] if out.get("name") == "stderr"], cell["outputs"]


def test_the_readme_links_the_notebook() -> None:
    assert str(Path(FILE).relative_to(ROOT)) in (ROOT / "README.md").read_text(encoding="utf-8")
