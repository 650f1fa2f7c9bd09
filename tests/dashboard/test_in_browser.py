"""The Lab as it is seen: every page in a real Chromium, what is clicked there, and what it must never do."""

from __future__ import annotations

import csv
import io
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from browser import GRID, PAGES, Come, lines
from chromium import FILTERS, PHONE
from lab import about, ok, trial
from playwright.sync_api import Page, expect

from longwave.platform.boards.row import SHORT
from longwave.platform.records.run import Run
from longwave.platform.storage.store import Store

pytestmark = pytest.mark.integration

DEMO = "longwave demo"
LEM = trial("lem", 0).row[:SHORT]
ODD = {
    "html": "<img src=x onerror=fired()><script>fired()</script>",
    "markdown": "[x](javascript:fired()) ![x](http://elsewhere.invalid/y) **bold** `code` $x^2$ :red[x]",
    "formula": "=HYPERLINK(\"http://elsewhere.invalid\")",
    "long": "m" * 300,
    "right_to_left": "\u202egnp.exe\u202c \u0645\u0631\u062d\u0628\u0627",
}  # fmt: skip
"""Names on which a page must not act."""


def titles(page: Page) -> list[str]:
    """Return the models of the board on screen, in its order."""
    return column(page, "model")


def column(page: Page, heading: str) -> list[str]:
    """Return what stands under a heading of the board; an arrow before it says that it sorts."""
    head, *rest = lines(page)
    index = next(k for k, name in enumerate(head) if name.removeprefix("↑ ").removeprefix("↓ ").startswith(heading))
    return [line[index] for line in rest if line[index]]


def select(page: Page, line: int) -> None:
    """Click the box before a row of the board."""
    press(page, 15, 35 * (line + 1.5))


def press(page: Page, x: float, y: float) -> None:
    """Click a place of the board, which is a picture under a layer that scrolls."""
    page.locator("[data-testid=stDataFrame] canvas").first.click(position={"x": x, "y": y}, force=True)


@pytest.mark.parametrize("name", PAGES)
def test_a_page_opens_without_an_error_asks_nobody_else_and_can_be_read_by_all(url: str, come: Come, name: str) -> None:
    visitor = come(url, name, row=LEM, rows=f"{LEM},{trial('lstm', 0).row[:SHORT]}")
    assert visitor.page.locator("h1").count() == 1 and "cannot be drawn" not in visitor.text()
    assert visitor.violations() == []


@pytest.mark.parametrize("name", [name for name in PAGES if name != "methods"])
def test_a_page_of_an_empty_store_says_which_command_fills_it(empty: str, come: Come, name: str) -> None:
    assert DEMO in come(empty, name).text()


def test_the_first_page_a_visitor_opens_looks_as_all_do(url: str, come: Come) -> None:
    heads = [come(url, name).page.locator("h1") for name in ("methods", "overview")]
    assert len({head.evaluate("h => getComputedStyle(h).fontSize") for head in heads}) == 1


def test_a_search_leaves_the_rows_it_names_stands_in_the_address_and_back_undoes_it(url: str, come: Come) -> None:
    page = come(url, "task", task="fitzhugh_nagumo").page
    assert titles(page) == ["LEM", "LSTM", "coRNN"]
    page.get_by_text(FILTERS, exact=True).click()
    page.get_by_label("Search", exact=True).fill("lst")
    page.keyboard.press("Enter")
    page.wait_for_url("**q=lst**")
    ranked = page.locator(GRID).first.locator("tbody tr")  # the table after it, of published rows, appears later
    expect(ranked).to_have_count(1)
    assert titles(page) == ["LSTM"]
    page.go_back()
    expect(ranked).to_have_count(3)
    assert "q=" not in page.url and page.get_by_label("Search", exact=True).input_value() == ""


def test_two_selected_rows_lead_to_their_comparison_whose_link_gives_the_same_view(url: str, come: Come) -> None:
    visitor = come(url, "task", task="fitzhugh_nagumo")
    page = visitor.page
    for line, name in enumerate(("LEM", "LSTM")):
        select(page, line)
        page.get_by_role("link", name=name, exact=True).wait_for()
    underlines = page.locator("[data-testid=stPageLink] p").evaluate_all(
        "links => links.map(link => getComputedStyle(link).textDecorationLine)"
    )
    assert {*underlines} == {"underline"}, "a link that looks like plain text is not found"
    board = visitor.settled().url  # a click while the page is drawn anew may be lost
    assert LEM in board and trial("lstm", 0).row[:SHORT] in board
    page.get_by_role("link", name="Compare them").click()
    page.wait_for_url("**/compare?rows=**")
    visitor.settled()
    expect(page.get_by_role("link", name="LEM", exact=True)).to_be_visible()
    table = page.locator(".link-table").first.text_content()
    assert table and come(url, page.url).page.locator(".link-table").first.text_content() == table
    page.go_back()
    page.wait_for_url(board)
    visitor.settled()
    expect(page.get_by_role("link", name="Compare them")).to_be_visible()


def test_a_click_on_a_heading_sorts_the_board_by_what_stands_under_it(url: str, come: Come) -> None:
    page = come(url, "task", task="fitzhugh_nagumo").page
    assert titles(page) == ["LEM", "LSTM", "coRNN"]
    press(page, 35 + 30, 17)
    page.wait_for_function("document.querySelector('table[role=grid] thead').textContent.includes('↑')")
    assert titles(page) == ["coRNN", "LEM", "LSTM"], "by name"


def test_an_export_is_what_is_on_screen(url: str, come: Come) -> None:
    page = come(url, "task", task="fitzhugh_nagumo", q="m").page
    page.get_by_role("button", name="Share").click()
    with page.expect_download() as download:
        page.get_by_role("button", name="CSV", exact=True).click()
    text = Path(download.value.path()).read_text(encoding="utf-8")
    written = [line for line in csv.DictReader(io.StringIO(text)) if line["kind"] == "retrained"]
    assert [line["title"] for line in written] == titles(page) == ["LEM", "LSTM"]
    assert [line["median"] for line in written] == column(page, "median")


@pytest.fixture(scope="module")
def odd(tmp_path_factory: pytest.TempPathFactory) -> str:
    """A store whose models, tasks, sweep and reasons have names that somebody meant harm with."""
    url = f"sqlite:///{tmp_path_factory.mktemp('odd') / 'store.db'}"
    with Store(url) as store:
        store.add_sweep("demo", {})
        for number, name in enumerate(ODD.values()):
            config = replace(trial("lem", number), model=f"odd{number}", options={"damping": name[:60]})
            for task in ("fitzhugh_nagumo", f"odd {name[:40]}"):
                seeds = [replace(config, task=task, seed=k) for k in range(3)]
                abouts = [replace(about(replace(c, model="lem")), model=name, task=name) for c in seeds]
                store.add_trials("demo", seeds, abouts)
                lost = Run(seeds[2].id, "failed", f"it died: {name}", 0)
                store.write([], [ok(seeds[0], 0.1 + number), ok(seeds[1], 0.2), lost])
    return url


@pytest.mark.parametrize("name", ["overview", "task", "model", "compare", "sweep", "cost", "coverage", "row"])
def test_names_that_mean_harm_are_text(odd: str, come: Come, name: str) -> None:
    with Store(odd, create=False, read_only=True) as store:
        rows = [t.config.row for t in store.retrainings("fitzhugh_nagumo") if t.about.model == ODD["markdown"]]
    named = {
        "task": {"task": "fitzhugh_nagumo", "select": rows[0]},
        "row": {"row": rows[0]},
        "model": {"model": "odd1"},
    }
    visitor = come(odd, name, **named.get(name, {}))
    page = visitor.page
    acts: Any = page.locator("[data-testid=stMain] :is(img, iframe, a[href^='javascript'], .katex)")
    assert acts.count() == 0, acts.first.evaluate("e => e.outerHTML")
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth"), "a name makes the page too wide"
    assert "cannot be drawn" not in visitor.text() and page.locator("h1").count() == 1


def test_a_name_of_markup_is_shown_letter_by_letter(odd: str, come: Come) -> None:
    shown = titles(come(odd, "task", task="fitzhugh_nagumo").page)
    assert any(ODD["html"] in title for title in shown) and any(ODD["markdown"] in title for title in shown)
    assert not any("\u202e" in title for title in shown)


@pytest.mark.parametrize("name", ["overview", "task", "row"])
def test_a_page_fits_a_phone(url: str, come: Come, name: str) -> None:
    page = come(url, name, look={"viewport": PHONE}, row=LEM).page
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    heights = page.locator(".st-key-answers tr").evaluate_all("rows => rows.map(row => row.offsetHeight)")
    assert all(height <= 100 for height in heights), f"a column is so narrow that rows are {heights} pixels tall"
