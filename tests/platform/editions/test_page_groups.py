"""What a newcomer sees first: the answer, the rows that are ranked, and what they are not mixed with."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from boards import printed, retrained
from pages import Page, keys, page_data, published

from longwave.platform.boards.answer import answer, over_all
from longwave.platform.boards.board import rows
from longwave.platform.boards.overview import overview
from longwave.platform.figures.palette import FAMILIES
from longwave.platform.records.group import Tally

GROUPS = [
    retrained("lem", [1.0, 1.1, 1.2, 1.1, 1.0], trivial={"mean": 2.0, "zero": 3.0}, family="gated", search=Tally(10)),
    retrained("lstm", [1.4, 1.5, 1.6, 1.5, 1.4], trivial={"mean": 2.0}, search=Tally(12), departures=("epochs 3",)),
    retrained("gru", [2.5, 2.6, 2.7, 2.6, 2.5], trivial={"mean": 2.0}, search=Tally(30)),
    retrained("new", [0.5, 0.6], trivial={"mean": 2.0}, search=Tally(10)),
    retrained("lem", [0.1, 0.2], model_version="0", superseded="model version 0, now 1"),
]
NUMBERS = [printed("expr", 0.2), printed("lem", 1.1, n=1)]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    edition = tmp_path_factory.mktemp("editions") / "one"
    published(edition, GROUPS, NUMBERS)
    return edition


def models(page: Page, folder: Path) -> list[str]:
    by_key = {row["key"]: row["model"] for row in page_data(folder)["rows"]}
    return [by_key[key] for key in keys(page)]


def text(page: Page, kind: str) -> list[str]:
    """Return the lines of a table that are no rows: of groups, or of the trivial limit."""
    lines = f'elements.table.all("tbody")[0].all("tr").filter((l) => l.attributes.class === "{kind}")'
    texts: list[str] = page(f"{lines}.map((l) => l.text)")
    return texts


def test_ranked_rows_stand_first_and_all_others_are_folded_behind_a_line_each(folder: Path) -> None:
    page = Page.drawn(folder, view="t", open="")
    assert models(page, folder) == ["new", "lem", "lstm", "gru"]
    names = ("Published numbers that nobody retrained here (1)", "Trivial predictors (2)",
             "Superseded: by a newer version, or a search that went on (1)")  # fmt: skip
    assert text(page, "group") == [f"▸ {name}" for name in names]
    opened = Page.drawn(folder, view="t", open="trivial")
    assert models(opened, folder)[4:] == ["mean", "zero"]
    assert "expr" in models(Page.drawn(folder, view="t", open="", q="expr"), folder), "what is looked for is shown"


def test_the_best_trivial_predictor_is_a_line_above_the_rows_that_lose_to_it(folder: Path) -> None:
    page = Page.drawn(folder, view="t", open="")
    assert text(page, "limit") == ["Medians below are worse than the best trivial predictor, mean, 2"]
    order = page('elements.table.all("tbody")[0].all("tr").map((l) => l.attributes.class.split(" ")[0])')
    assert order.index("limit") == 3 and order[:3] == ["retrained"] * 3
    assert text(Page.drawn(folder, view="t", open="", sort="title-up"), "limit") == [], "sorted by another number"
    assert text(Page.drawn(folder, view="t", open="", models="lem new"), "limit") == [
        "No median above is worse than the best trivial predictor, mean, 2"
    ]


def test_the_page_opens_with_the_answer_of_its_board_and_of_all(folder: Path) -> None:
    board = rows(GROUPS, NUMBERS)
    assert Page.drawn(folder, view="t")("elements.answer.text") == answer(board).sentence
    assert Page.drawn(folder)("elements.answer.text") == over_all(overview(board))
    assert Page.drawn(folder)("elements.answers.text") == "T" + answer(board).sentence


@pytest.mark.integration
def test_boards_that_share_no_model_have_heads_of_their_own_on_the_front(tmp_path: Path) -> None:
    sequences = [retrained(m, [k + 1.0, k + 1.1, k + 1.2], task=t) for t in "uv" for k, m in enumerate(("lem", "lstm"))]
    graphs = [retrained(m, [k + 1.0, k + 1.1, k + 1.2], task="g") for k, m in enumerate(("gcn", "gat"))]
    published(tmp_path / "one", [*sequences, *graphs], [])
    page = Page.drawn(tmp_path / "one")
    heads = page(
        'elements.table.all("tr").filter((l) => l.all("td").length === 0).map((l) => l.all("a").map((a) => a.text))'
    )
    assert heads == [["u", "v"], ["g"]]
    lines = page('elements.table.all("tr").map((l) => l.all("th")[0].text)')
    assert lines == ["Model", "LEM", "LSTM", "Model", "GAT", "GCN"]
    assert page("elements.heading.text").startswith("All tasks: 3 boards")
    assert page("elements.shown.text") == "4 models."
    alone = Page.drawn(tmp_path / "one", models="gcn")
    assert alone('elements.table.all("tr").map((l) => l.all("th")[0].text)') == ["Model", "GCN"]


def test_a_provisional_row_is_faint_and_never_in_bold_and_never_the_answer(folder: Path) -> None:
    classes = dict(zip(models(page := Page.drawn(folder, view="t"), folder), page(
        'elements.table.all("tbody")[0].all("tr").filter((l) => l.attributes.id).map((l) => l.attributes.class)'
    ), strict=True))  # fmt: skip
    assert classes["new"].split() == ["retrained", "faint"] and classes["lstm"] == "retrained"
    assert answer(rows(GROUPS, NUMBERS)).leaders[0].model != "new"
    assert "NEW" in answer(rows(GROUPS, NUMBERS)).sentence, "it is not told apart"


def test_baselines_stay_in_sight_with_their_sizes_and_budgets_whatever_is_filtered(folder: Path) -> None:
    page = Page.drawn(folder, view="t", open="", models="lem")
    assert models(page, folder) == ["lem", "lstm", "gru"]
    assert text(page, "group")[0] == "Baselines, whatever the filters"
    keys_ = page("columns()")
    assert {"parameters", "searched"} <= set(keys_)


@pytest.mark.parametrize(
    ("chosen", "left"),
    [
        ({"budget": "lem"}, {"lem", "new", "lstm"}),
        ({"budget": "gru"}, {"gru"}),
        ({"proto": "as printed"}, {"lem", "gru", "new"}),
        ({"proto": "differs"}, {"lstm"}),
        ({"verdict": "undecided"}, {"lem"}),
        ({"verdict": "better"}, set()),
        ({"size": "lem"}, {"lem", "gru", "new", "lstm"}),
    ],
)
def test_rows_of_an_equal_budget_size_protocol_or_verdict_are_left(
    folder: Path, chosen: dict[str, str], left: set[str]
) -> None:
    named = {row["model"]: row["key"][:12] for row in page_data(folder)["rows"] if not row["superseded"]}
    [(name, value)] = chosen.items()
    page = Page.drawn(folder, view="t", **{name: named.get(value, value)})
    rows_ = page(
        "EDITION.rows.filter(inSight).filter((r) => r.kind === 'retrained' && !r.superseded).map((r) => r.model)"
    )
    assert set(rows_) == left


def test_selected_rows_can_be_shown_alone_and_two_of_them_compared(folder: Path) -> None:
    named = {row["model"]: row["key"][:12] for row in page_data(folder)["rows"] if row["kind"] == "retrained"}
    chosen = f"{named['gru']} {named['lstm']}"
    page = Page.drawn(folder, view="t", sel=chosen, only="1")
    assert models(page, folder) == ["lstm", "gru"]
    lstm, gru = (row["key"][:12] for row in page_data(folder)["rows"] if row["model"] in ("lstm", "gru"))
    assert f"longwave compare {lstm} {gru}" in page("elements.selected.text")


def test_a_link_says_the_theme_and_one_to_nowhere_says_so(folder: Path) -> None:
    assert Page.drawn(folder, theme="dark")("document.documentElement.dataset.theme") == "dark"
    assert "There is no board “gone”" in Page.drawn(folder, view="gone")("elements.answer.text")
    assert "There is no row 123" in Page.drawn(folder, row="123", view="t")("elements.answer.text")


def test_a_family_has_the_colour_of_the_palette_and_others_are_grey(folder: Path) -> None:
    styles = Page.drawn(folder)('["gated", "nobody"].map((name) => dot(name).attributes.style)')
    assert styles == [f"background:{FAMILIES['gated']}", "background:#868E97"]


def test_a_row_shows_its_own_curve_and_the_medians_of_its_board(tmp_path: Path) -> None:
    board = rows(GROUPS[:1], [])
    trial = board[0].trials[0]
    published(tmp_path / "one", GROUPS[:1], curves={trial: [(1, 2.0), (2, 1.0)]})
    shown = Page.drawn(tmp_path / "one", row=board[0].key)
    assert shown('elements["row-part"].all("img").map((i) => [i.attributes.src, i.attributes.loading])') == [
        ["board-1-medians.svg", "lazy"], ["board-1-curves.svg#p0", "lazy"],
    ]  # fmt: skip


def test_an_untrusted_row_of_a_baseline_stands_in_its_own_group_alone(tmp_path: Path) -> None:
    other = retrained("lstm", [1.4, 1.5, 1.6, 1.5, 1.4])
    groups = [GROUPS[0], replace(other, came={run.id: "b" for run in other.runs})]
    published(tmp_path / "one", groups)
    page = Page.drawn(tmp_path / "one", view="t", open="")
    assert "Baselines, whatever the filters" not in text(page, "group")


def test_boxes_that_are_all_ticked_again_filter_nothing(folder: Path) -> None:
    page = Page.drawn(folder, view="t", open="")
    assert page("toggled('kinds', KINDS, 'trivial', false)") == "retrained published"
    assert page("toggled('kinds', KINDS, 'trivial', true)") == ""
