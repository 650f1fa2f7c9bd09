"""``lw.sweep`` and ``lw.board``: as the command line has them, in Python, for pandas and for notebooks."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest
from boards import keep, retrained
from tree import ROOT

import longwave as lw
from longwave.platform.cli.main import main
from longwave.platform.errors import ConfigError, NoStoreError
from longwave.platform.render.notebook import tables_html
from longwave.platform.render.table import Table
from longwave.platform.storage.store import Store

TINY: dict[str, Any] = {
    "name": "tiny", "task": "adding", "variant": "N=20", "models": ["lem", "gru"], "trials": 1, "retrain": 3,
    "hidden": 4, "batch": 10, "steps": 3, "epochs": 2,
}  # fmt: skip


class Cells(HTMLParser):
    """Keeps rows of cells, and every element that there is."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.rows: list[list[str]] = []
        self.elements: set[str] = set()
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: object) -> None:
        self.elements.add(tag)
        if tag == "tr":
            self.rows.append([])
        elif tag in ("td", "th"):
            self.rows[-1].append("")

    def handle_data(self, data: str) -> None:
        if self.rows and self.rows[-1] and data.strip():
            self.rows[-1][-1] += data


@pytest.fixture(scope="module")
def swept(tmp_path_factory: pytest.TempPathFactory) -> tuple[Any, str]:
    """A sweep from a dictionary, and its store."""
    folder = tmp_path_factory.mktemp("swept")
    store = f"sqlite:///{folder}/store.db"
    return lw.sweep(TINY, here=True, storage=str(folder), mlflow="off", store=store), store


def test_a_sweep_from_a_dictionary_ends_with_its_board(swept: tuple[Any, str]) -> None:
    done, store = swept
    assert repr(done) == "tiny: 8 of 8 trials done (8 ok)."
    assert [row.config for row in done.board.rows] == [row.config for row in lw.board("adding", store=store).rows]
    assert done._repr_html_().startswith(
        "<p>tiny: 8 of 8 trials done (8 ok).</p><div><p>Open: no network has 5 seeds yet. Best median"
    )


def test_a_file_gives_the_trials_of_the_same_dictionary(swept: tuple[Any, str], tmp_path: Path) -> None:
    (tmp_path / "tiny.toml").write_text("\n".join(f"{key} = {json.dumps(value)}" for key, value in TINY.items()))
    done = lw.sweep(tmp_path / "tiny.toml", here=True, storage=str(tmp_path), mlflow="off", store=swept[1])
    assert repr(done) == "tiny: 8 of 8 trials done (8 ok)."


def test_a_board_is_the_records_of_the_command_line_in_pandas(
    swept: tuple[Any, str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["board", "adding", "--format", "json", "--store", swept[1]]) == 0
    records = json.loads(capsys.readouterr().out)
    frame = lw.board("adding", store=swept[1]).to_pandas()
    assert {*frame.columns} == {*records[0]} and list(frame.columns[:3]) == ["title", "model", "median"]
    assert frame["config"].to_list() == [record["config"] for record in records]
    mine = frame[frame["kind"] == "retrained"]
    for _, line in mine.iterrows():
        assert line["median"] == sorted(line["scores"])[1]


def test_a_board_prints_as_the_command_line_does(swept: tuple[Any, str], capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["board", "adding", "--store", swept[1]]) == 0
    assert repr(lw.board("adding", store=swept[1])).split() == capsys.readouterr().out.split()
    assert main(["board", "--store", swept[1]]) == 0
    assert repr(lw.board(store=swept[1])).split() == capsys.readouterr().out.split()
    assert main(["compare", "lem", "gru", "--store", swept[1]]) == 0
    assert repr(lw.board(store=swept[1]).compare("lem", "gru")).split() == capsys.readouterr().out.split()


def test_a_board_says_of_each_task_whether_it_separates(tmp_path: Path) -> None:
    better, worse = [0.1, 0.11, 0.12, 0.13, 0.14], [1.1, 1.2, 1.3, 1.4, 1.5]
    url = f"sqlite:///{tmp_path}/s.db"
    with Store(url) as store:
        store.add_sweep("demo", {"trials": 0})
        for task, tests in (("adding", better), ("enso", worse)):
            keep(store, *(retrained(m, list(tests), task=task, trivial={"mean": 1.0}) for m in ("lem", "gru")))
    both = lw.board(store=url)
    assert {task: told.word for (task, _), told in both.separations.items()} == {
        "adding": "separates",
        "enso": "saturated",
    }
    first = "1 of 2 boards separates networks from trivial predictors (0 open, 1 saturated)."
    assert repr(both).startswith(first) and first in both._repr_html_()
    assert list(both.to_pandas()["enso separation"]) == ["saturated"] * 2


def test_a_notebook_shows_a_board_row_by_row(swept: tuple[Any, str]) -> None:
    board = lw.board("adding", store=swept[1])
    shown = Cells(board._repr_html_())
    assert len(shown.rows) == 1 + len(board.rows)
    of_two = lw.board("adding", models=["lem", "gru"], store=swept[1])._repr_html_()
    assert "Ranked: only models lem, gru." in of_two and "†: a trivial predictor is better" in of_two
    assert {"LEM", "GRU"} <= {cell for row in shown.rows for cell in row}
    assert shown.elements <= {"div", "p", "b", "table", "tr", "th", "td", "details", "summary", "small"}


def test_what_a_cell_holds_is_text_in_a_notebook() -> None:
    hostile = "<script>alert(1)</script>&amp;\x1b[2J"
    table = Table(hostile, [hostile, "n"], [[hostile, "3"]], hostile, frozenset({(0, 0)}), right=frozenset({1}))
    text = tables_html([table])
    assert Cells(text).elements <= {"div", "p", "b", "table", "tr", "th", "td", "details", "summary", "small"}
    assert "\x1b" not in text
    assert text.count("text-align:right") == 2


def test_two_models_are_compared_on_the_rows_of_a_board(swept: tuple[Any, str]) -> None:
    board = lw.board("adding", store=swept[1])
    compared = board.compare("lem", "gru")
    [record] = compared.to_pandas().to_dict("records")
    lem, gru = ([s for row in board.rows if row.model == model for s in row.scores] for model in ("lem", "gru"))
    pairs = [1.0 if a < b else 0.0 for a in lem for b in gru]
    assert record["improvement"] == pytest.approx(sum(pairs) / 9)
    assert compared.verdict in compared._repr_html_()


@pytest.mark.parametrize("kind", ["medians", "seeds", "parameters", "time"])
def test_a_board_is_drawn(kind: str, swept: tuple[Any, str]) -> None:
    spec = json.dumps(lw.board("adding", store=swept[1]).plot(kind).to_dict())
    assert "LEM" in spec and "GRU" in spec


@pytest.mark.integration
def test_one_variant_is_shown_alone(swept: tuple[Any, str], tmp_path: Path) -> None:
    more = {**TINY, "name": "more", "variant": "N=30", "models": ["lem"], "retrain": 1}
    store = f"sqlite:///{tmp_path}/store.db"
    for content in (TINY, more):
        lw.sweep(content, here=True, storage=str(tmp_path), mlflow="off", store=store)
    both, one = lw.board("adding", store=store), lw.board("adding", variant="N=30", store=store)
    assert {row.variant for row in both.rows} == {"N=20", "N=30"}
    assert {row.variant for row in one.rows} == {"N=30"}
    with pytest.raises(ConfigError, match=r"A figure shows one board, got 2: adding N=20, adding N=30\. Name a task"):
        both.plot()
    with pytest.raises(ConfigError, match=r"No variant of adding with results 'N=31'\. Did you mean"):
        lw.board("adding", variant="N=31", store=store)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda store: lw.board("ading", store=store), r"No task 'ading'\. Did you mean"),
        (lambda store: lw.board("enso", store=store), "No retrainings of enso are stored yet"),
        (
            lambda store: lw.board("adding", models=["lam"], store=store),
            r"No results of model 'lam'\. Did you",
        ),
        (lambda store: lw.board(3, store=store), r"task must be a string, got 3\."),
        (lambda store: lw.board(0, store=store), r"task must be a string, got 0\."),
        (lambda store: lw.board([], store=store), r"task must be a string, got \[\]\."),
        (lambda store: lw.board("", store=store), r"No task ''\."),
        (lambda store: lw.compare("lem", "gru", task="", store=store), r"No task ''\."),
        (lambda _: lw.compare("lem", "gru", store=5), r"store must be a string, got 5\."),
        (lambda store: lw.load("3f9c12ab", storage=5, store=store), r"storage must be a string, got 5\."),
        (lambda store: lw.board("adding", variant=3, store=store), r"variant must be a string, got 3\."),
        (
            lambda store: lw.board("adding", models="lem", store=store),
            r"models must be .*got 'lem'. Write: models=\['l",
        ),
        (lambda store: lw.board("adding", models=[3], store=store), r"models must be a list of names, got \[3\]\."),
        (
            lambda store: lw.board("adding", models=iter(["lem"]), store=store),
            "models must be a list of names, got <list",
        ),
        (lambda store: lw.board("adding", min_seeds=2.5, store=store), "min_seeds must be a whole number, 0 or more"),
        (lambda store: lw.board("adding", min_seeds=-1, store=store), "min_seeds must be a whole number, 0 or more"),
        (lambda store: lw.board("adding", min_seeds=True, store=store), "min_seeds must be a whole number, 0 or more"),
        (lambda store: lw.board(variant="nope", store=store), "No variant of any task with results"),
        (lambda store: lw.load("3f9c12ab", seed="7", store=store), "seed must be a whole number, 0 or more, got '7'"),
        (lambda store: lw.board("adding", store=store)[None], r"row must be a string, got None\."),
        (lambda store: lw.compare("lem", "lem", margin="1", store=store), r"margin must be a number, got '1'\."),
        (lambda store: lw.board("adding", store=store).plot(None), r"kind must be a string, got None\."),
        (lambda store: lw.compare("lem", None, store=store), r"b must be a string, got None\."),
        (lambda store: lw.load(None, store=store), r"row must be a string, got None\."),
        (lambda store: lw.board("adding", store=store).compare("lem", "lstm"), "lstm"),
        (lambda store: lw.board("adding", store=store).plot("median"), r"No figure 'median'\. Did you mean medians\?"),
        (lambda store: lw.sweep({**TINY, "trails": 3}, store=store), r"sweep: No key 'trails'\. Did you mean trials"),
        (lambda store: lw.sweep({**TINY, "models": ["lam"]}, store=store, here=True), r"No model 'lam'"),
        (lambda store: lw.sweep("none.toml", store=store), "Cannot read the sweep file none.toml: No such file"),
        (lambda store: lw.sweep(TINY, gpus=0.5, cpu=True, store=store), "--gpus and --cpu exclude each other"),
        (
            lambda store: lw.sweep({**TINY, "trials": 2}, store=store, here=True),
            "The store already has a sweep 'tiny' with another tr",
        ),
    ],
)
def test_what_is_wrong_is_said_in_the_words_of_the_command_line(
    call: Callable[[str], object], message: str, swept: tuple[Any, str]
) -> None:
    with pytest.raises(ConfigError, match=message) as error:
        call(swept[1])
    assert "\n" not in str(error.value)


def test_a_store_that_is_not_there_is_not_made(tmp_path: Path) -> None:
    with pytest.raises(NoStoreError, match="There is no store at"):
        lw.board("adding", store=f"sqlite:///{tmp_path}/none.db")
    assert not list(tmp_path.iterdir())


@pytest.mark.integration
def test_a_board_needs_no_torch(swept: tuple[Any, str]) -> None:
    code = f"import sys, longwave as lw; sys.modules['torch'] = None; lw.board(store={swept[1]!r}).to_pandas()"
    subprocess.run([sys.executable, "-c", code], check=True, cwd=ROOT)


def test_a_row_is_named_as_its_board_prints_it_and_superseded_ones_only_if_no_other_has_the_name(
    tmp_path: Path,
) -> None:
    url, tests = f"sqlite:///{tmp_path}/s.db", [0.1, 0.11, 0.12, 0.13, 0.14]
    with Store(url) as store:
        store.add_sweep("demo", {"trials": 0})
        block = {"block": "pre", "depth": 1}
        keep(store, *(retrained("gru", list(tests), task="adding", options=options) for options in ({}, block)))
    board = lw.board("adding", store=url)
    labels = [row.label for row in board if row.kind == "retrained"]
    assert len({*labels}) == 2 and [board[label].label for label in labels] == labels
    frame = board.to_pandas()
    assert [frame.loc[label, "config"] for label in labels] == [board[label].config for label in labels]
    with pytest.raises(ConfigError, match="^gru is the name of 2 rows: "):
        board["gru"]


def test_columns_of_a_board_are_chosen_for_programs_too(
    swept: tuple[Any, str], capsys: pytest.CaptureFixture[str]
) -> None:
    line = ["board", "adding", "--store", swept[1], "--columns", "title,median,parameters", "--format"]
    assert main([*line, "csv"]) == 0
    assert capsys.readouterr().out.splitlines()[0] == "title,median,parameters"
    assert main([*line, "json"]) == 0
    assert all([*record] == ["title", "median", "parameters"] for record in json.loads(capsys.readouterr().out))
    assert main([*line[:-2], "place,verdict,mean", "--format", "json"]) == 0
    [first, *_] = json.loads(capsys.readouterr().out)
    assert first["place"] == "adding N=20" and first["mean"] == lw.board("adding", store=swept[1])[0].mean
