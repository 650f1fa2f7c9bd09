"""An edition in a real browser, from a disk and from a server: nothing else is asked for, nothing fails or acts."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
from axe_playwright_python.base import AXE_SCRIPT
from boards import printed, retrained, trials
from browser import opened_browser
from hostile import FORMULAS, MARKUP
from pages import page_data, published
from playwright.sync_api import Browser
from playwright.sync_api import Page as Tab

from longwave.platform.figures.panels import HEIGHT, WIDTH

pytestmark = pytest.mark.integration

NAMES = ["LSTM", "GRU", "LEM", "A long name " * 25, "\u202ertl \u05d0\u05d1", *MARKUP[:6], *FORMULAS[:2]]
MODELS = ["lstm", "gru", "lem", *(f"m{k}" for k in range(len(NAMES)))][: len(NAMES)]
PHONE, DESKTOP = {"width": 390, "height": 844}, {"width": 1400, "height": 900}


class Handler(SimpleHTTPRequestHandler):
    """A server of files that says nothing."""

    def log_message(self, *_: Any) -> None:
        """Say nothing."""


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with opened_browser() as opened:
        yield opened


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    some = []
    for k, name in enumerate(NAMES):
        ends: list[float | str] = [k + seed / 7 + 0.5 for seed in range(5 if k % 4 else 3)]
        some.append(retrained(MODELS[k], [*ends, *(["diverged"] if k == 2 else [])], title=name, task="adding",
                              trivial={"mean": 6.0, "zero": 7.0}, family="gated"))  # fmt: skip
    curves = {t.config.id: [(e, 9 / e) for e in range(1, 31)] for group in some for t in trials(group)}
    edition = tmp_path_factory.mktemp("editions") / "one"
    published(edition, some, [printed("lem", 2.0, n=1, task="adding"), printed("expr", 1.0, task="adding")], curves)
    return edition


@pytest.fixture(scope="module")
def served(folder: Path) -> Iterator[str]:
    server = ThreadingHTTPServer(("127.0.0.1", 0), partial(Handler, directory=str(folder)))
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    yield f"http://127.0.0.1:{server.server_port}/index.html"
    server.shutdown()
    thread.join()
    server.server_close()


class Reader:
    """Somebody who reads an edition; what fails and what is asked for is kept."""

    def __init__(self, browser: Browser, address: str, size: dict[str, int] | None = None) -> None:
        self.address, self.wrong, self.requests = address, list[str](), set[str]()
        self.context = browser.new_context(viewport=size or DESKTOP, permissions=[])  # type: ignore[arg-type]
        self.tab: Tab = self.context.new_page()
        self.tab.on("console", lambda message: self.wrong.append(message.text) if message.type == "error" else None)
        self.tab.on("pageerror", lambda error: self.wrong.append(str(error)))
        self.tab.on("request", lambda request: self.requests.add(request.url.partition("#")[0]))
        self.tab.add_init_script("window.fired = () => { window.acted = true; }; window.alert = window.fired;")

    def open(self, hash: str = "") -> Tab:
        self.tab.goto("about:blank")
        self.tab.goto(f"{self.address}#{hash}")
        return self.tab

    def models(self) -> list[str]:
        names: list[str] = self.tab.eval_on_selector_all("#table tr[id] .name", "all => all.map((n) => n.textContent)")
        return names


@pytest.fixture
def reader(browser: Browser, served: str) -> Iterator[Reader]:
    page = Reader(browser, served)
    yield page
    assert page.wrong == [] and not page.tab.evaluate("window.acted === true")
    page.context.close()


@pytest.mark.parametrize(
    ("source", "size"), [("disk", PHONE), ("server", DESKTOP)], ids=["disk, phone", "server, desktop"]
)
def test_every_view_is_drawn_without_an_error_and_asks_for_its_own_files_alone(
    browser: Browser, folder: Path, served: str, source: str, size: dict[str, int]
) -> None:
    address = served if source == "server" else (folder / "index.html").as_uri()
    reader = Reader(browser, address, size)
    row = page_data(folder)["rows"][2]["key"]
    for hash in (
        "",
        "view=adding",
        "view=all rows&open=all",
        f"row={row}",
        "view=methods",
        "view=changes",
        "view=gone",
    ):
        tab = reader.open(hash)
        for image in tab.locator("img").all():
            image.scroll_into_view_if_needed()
            image.evaluate("(i) => i.decode()")
            assert image.evaluate("(i) => i.naturalWidth") > 0
        wide = "document.documentElement.scrollWidth - document.documentElement.clientWidth"
        assert tab.evaluate(wide) == 0, f"{hash} is wider than the page"
        overview = [part.is_visible() for part in tab.locator("[data-overview]").all()]
        assert overview == [hash in ("", "view=gone")] * 2, f"{hash}: heat map and figure"
        assert not tab.evaluate("window.acted === true")
    home = address.rpartition("/")[0]
    own = (home, "about:", "data:")
    assert reader.wrong == [] and all(url.startswith(own) for url in reader.requests), reader.requests
    assert len([url for url in reader.requests if url.endswith(".svg")]) == 4, "the figures of the one board in sight"
    reader.context.close()


def test_a_link_opened_again_gives_the_same_view_and_back_undoes_a_click(reader: Reader) -> None:
    tab = reader.open("view=adding")
    tab.locator("#search").fill("lem")
    tab.locator("[data-sort=median]").click()
    tab.get_by_label("Select LEM").check()
    seen, link = reader.models(), tab.url
    assert seen[0] == "LEM" and all(f"{name}=" in link for name in ("q", "sort", "sel"))
    tab.get_by_role("link", name="LEM", exact=True).click()
    heading = tab.get_by_role("heading", name="LEM on T")
    heading.wait_for()  # the page is drawn after the click, when its address has changed
    assert heading.is_visible()
    tab.go_back()
    assert (reader.models(), tab.url) == (seen, link)
    reader.open(link.partition("#")[2])
    assert reader.models() == seen and tab.get_by_label("Select LEM").is_checked()


def test_a_row_shows_its_own_learning_curves_alone(reader: Reader, folder: Path) -> None:
    row = next(row for row in page_data(folder)["rows"] if row["kind"] == "retrained")
    panel = reader.open(f"row={row['key']}").locator("img.panel")
    panel.scroll_into_view_if_needed()
    panel.evaluate("(i) => i.decode()")
    box = panel.bounding_box()
    assert box and box["width"] / box["height"] == pytest.approx(WIDTH / HEIGHT, rel=0.01), "as large as one panel"


def test_a_file_that_is_downloaded_holds_what_is_on_screen(reader: Reader) -> None:
    tab = reader.open("view=adding&sort=mean-down")
    tab.locator("#share summary").click()
    with tab.expect_download() as download:
        tab.locator("[data-download=JSON]").click()
    records = json.loads(Path(download.value.path()).read_text(encoding="utf-8"))
    assert download.value.suggested_filename == "adding.json"
    assert [record["title"] for record in records] == reader.models()


def test_the_theme_is_in_the_link_and_figures_follow_it(reader: Reader) -> None:
    tab = reader.open("view=adding")
    grounds = []
    for _ in range(2):
        tab.locator("#theme").click()
        image = tab.locator("img").first
        image.scroll_into_view_if_needed()
        image.evaluate("(i) => i.decode()")
        drawn = """(i) => { const c = document.createElement("canvas"); c.width = c.height = 2;
            c.getContext("2d").drawImage(i, 0, 0); return getComputedStyle(i).colorScheme; }"""
        grounds.append((tab.url.rpartition("theme=")[2], image.evaluate(drawn)))
    assert grounds == [("dark", "dark"), ("light", "light")]


def test_groups_open_and_close_by_keyboard(reader: Reader) -> None:
    tab = reader.open("view=adding")
    before = len(reader.models())
    tab.locator("[data-group=trivial]").focus()
    tab.keyboard.press("Enter")
    assert len(reader.models()) == before + 2
    tab.keyboard.press("Enter")
    assert len(reader.models()) == before, "the focus stays on it"


def test_a_phone_shows_rank_model_and_median_and_folds_the_settings(browser: Browser, served: str) -> None:
    reader = Reader(browser, served, PHONE)
    tab = reader.open("view=adding")
    heads = tab.locator("#table thead th:visible").all_inner_texts()
    assert [head.partition(" ")[0] for head in heads] == ["rank", "model", "median"]
    assert not tab.locator("#search").is_visible()
    tab.get_by_text("Search and filters").click()
    assert tab.locator("#search").is_visible()
    box = tab.locator("#answer").bounding_box()
    assert box and box["y"] + box["height"] < PHONE["height"], "the answer is seen without scrolling"
    reader.context.close()


@pytest.mark.slow  # axe reads every element
@pytest.mark.parametrize("hash", ["", "view=adding&open=all", "view=adding&theme=dark&open=all", "view=methods"])
def test_axe_finds_nothing_serious(reader: Reader, hash: str) -> None:
    tab = reader.open(hash)
    tab.evaluate(AXE_SCRIPT)
    violations = tab.evaluate("axe.run()")["violations"]
    assert [(f["id"], f["nodes"][0]["html"][:200]) for f in violations if f["impact"] in ("serious", "critical")] == []


@pytest.mark.slow  # as above
def test_a_row_page_passes_axe_too(reader: Reader, folder: Path) -> None:
    test_axe_finds_nothing_serious(reader, f"row={page_data(folder)['rows'][2]['key']}")
