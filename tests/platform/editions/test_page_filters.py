"""The filters of an edition's page: they hide rows, and change no number, rank or score that Python computed."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from boards import printed, retrained
from pages import Page, keys, published, table

from longwave.platform.boards.answer import saturated_tasks
from longwave.platform.boards.board import rows
from longwave.platform.boards.overview import overview
from longwave.platform.boards.row import Row
from longwave.platform.boards.texts import DASH, estimate, marked_median, span
from longwave.platform.records.group import Group

TASKS = {"adding": "min", "fitzhugh_nagumo": "min", "psmnist": "max"}
MODELS = ("lem", "lstm", "gru", "cornn")
HIDDEN = "ranked rows hidden; ranks and ties are still those of"
NUMBERS = [printed("expr", 0.5, task="adding")]


def cell_text(cell: Row | None) -> str:
    return marked_median(cell) if cell else "· not run"


def filled() -> list[Group]:
    """Three boards; one model is absent from one, one diverged on all of another, some seeds diverged."""
    rng = np.random.default_rng(2)
    groups = []
    for task, goal in TASKS.items():
        for k, model in enumerate(MODELS):
            if (model, task) == ("gru", "adding"):
                continue
            ends: list[float | str] = []
            for seed in range((2, 6, 5, 8)[k]):
                lost = seed == 1 if task != "psmnist" else model == "lstm"
                ends.append("diverged" if lost else round(float(rng.normal(5 + k, 0.3)), 1))
            groups.append(retrained(model, ends, goal, task=task, trivial={"zero": 5.0}, family=model[:1]))
    return groups


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("filters") / "one"
    published(place, filled(), NUMBERS)
    return place


@pytest.mark.parametrize(
    ("chosen", "left"),
    [
        ({}, {"CORNN", "LEM", "LSTM", "expr", "zero"}),
        ({"models": "lem lstm"}, {"LEM", "LSTM", "zero"}),
        ({"q": "CORNN"}, {"CORNN", "LSTM"}),
        ({"seeds": "8"}, {"CORNN", "LSTM", "expr", "zero"}),
        ({"prov": "0"}, {"CORNN", "LSTM", "expr", "zero"}),
        ({"kinds": "published trivial"}, {"LSTM", "expr", "zero"}),
        ({"models": "none"}, {"LSTM", "zero"}),
    ],
)
def test_a_filter_hides_rows_and_moves_no_rank(folder: Path, chosen: dict[str, str], left: set[str]) -> None:
    page = Page.drawn(folder, view="adding", **chosen)
    ours = {row.key: row for row in rows(filled(), NUMBERS) if row.task == "adding"}
    lines = dict(zip(keys(page), table(page), strict=True))
    assert {ours[key].title for key in lines} == left
    for key, line in lines.items():
        assert (line["rank"], line["ties"]) == (span(ours[key].rank_low, ours[key].rank_high), ours[key].ties or DASH)


@pytest.mark.parametrize(
    ("chosen", "said", "command"),
    [
        ({"view": "adding"}, "5 of 5 rows. ", ""),
        ({"view": "adding", "kinds": "retrained"}, "3 of 5 rows. ", ""),
        ({"view": "adding", "models": "lem lstm"}, f"3 of 5 rows. 1 of 3 {HIDDEN} the whole board.",
         "adding --models lem,lstm"),
        ({"view": "adding", "prov": "0"}, f"4 of 5 rows. 1 of 3 {HIDDEN} the whole board.",
         "adding --models cornn,lstm --min-seeds 5"),
        ({"view": "all rows", "q": "psmnist"}, f"5 of 15 rows. 7 of 11 {HIDDEN} whole boards.", ""),
        ({"view": "all rows", "models": "gru"}, f"5 of 15 rows. 9 of 11 {HIDDEN} whole boards.", "--rows --models gru"),
        ({"models": "gru lem"}, "2 of 4 models hidden; scores and ranks are still those among all.",
         "--models gru,lem"),
        ({}, "4 models.", ""),
    ],
)  # fmt: skip
def test_the_page_says_that_ranked_rows_are_hidden_and_which_command_ranks_the_rest(
    folder: Path, chosen: dict[str, str], said: str, command: str
) -> None:
    text = Page.drawn(folder, **chosen)("elements.shown.text")
    assert text == said + (f" Ranked alone by: longwave board {command}copy" if command else "")


def test_no_command_ranks_what_is_hidden_altogether(folder: Path) -> None:
    text = Page.drawn(folder, view="adding", q="zero")("elements.shown.text")
    assert text == "1 of 5 rows. 3 of 3 ranked rows hidden; ranks and ties are still those of the whole board."


def test_saturated_tasks_are_folded_into_the_sentence_that_every_view_has(folder: Path) -> None:
    whole = overview(rows(filled(), NUMBERS))
    assert [each.word for each in whole.separations] == ["separates", "saturated", "saturated"]
    heads = 'elements.table.all("tr")[0].all("th").map((head) => head.text)'
    fold = 'elements.table.all("button").map((button) => [button.text, button.attributes["aria-expanded"]])'
    for open_, mark, tasks in (("", "▸", 1), ("saturated", "▾", 3), ("all", "▾", 3)):
        page = Page.drawn(folder, open=open_)
        assert page(fold) == [[f"{mark} {saturated_tasks(whole)}", str(mark == "▾").lower()]]
        assert len(page(heads)) == 3 + tasks
    assert [head.split("MSE")[0] for head in page(heads)[3:]] == [
        "psmnist",
        "addingsaturated, ",
        "fitzhugh_nagumosaturated, ",
    ]


@pytest.mark.parametrize("models", ["", "lem", "cornn lem lstm"])
def test_the_front_view_shows_the_overview_of_all_whatever_is_hidden(folder: Path, models: str) -> None:
    page = Page.drawn(folder, models=models, seeds="99", open="saturated")
    ours = [line for line in overview(rows(filled(), NUMBERS)).lines if not models or line.model in models.split()]
    lines = table(page)
    overview_lines = [(line["Model"], line["Score"], line["Mean rank"]) for line in lines]
    scores = {line.model: f"— ({line.why})" if line.why else estimate(line.score) for line in ours}
    assert overview_lines == [(line.title, scores[line.model], estimate(line.rank, 1)) for line in ours]
    assert {line.model for line in ours if line.score} == {"gru", "lstm", "cornn"} & set(models.split() or MODELS)
    bold = 'elements.table.all("tbody")[0].all("td").map((cell) => cell.attributes.class === "nowrap cell leads")'
    cells = [cell for line in ours for cell in (None, None, *line.cells)]
    assert page(bold) == [*(cell is not None and cell.shines for cell in cells), False], "the last one folds"
    for line, one in zip(lines, ours, strict=True):
        shown = list(line.values())[3:]
        assert shown == [cell_text(cell) for cell in one.cells]
