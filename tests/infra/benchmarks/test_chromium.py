"""When a table counts as painted: what is seen at that moment is what is seen from then on."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
from browser import opened_browser
from chromium import CHANGED, DESKTOP, FIRST_LINE, PAINTED, SEARCHED, run_server
from plain_page import PAGE, QUIETLY

TABLE = "[data-testid='stDataFrame'] canvas"


@pytest.mark.integration
def test_a_table_counts_as_painted_once_it_is_seen_as_it_stays_and_not_before(tmp_path: Path) -> None:
    script = tmp_path / "plain.py"
    script.write_text(PAGE, encoding="utf-8")
    command = [sys.executable, "-m", "streamlit", "run", str(script), *QUIETLY, "--server.port"]
    with opened_browser() as browser, run_server(command, "URL:") as (address, _):
        page = browser.new_page(viewport=DESKTOP)
        page.goto(address, wait_until="commit")
        times, seen = [page.evaluate(PAINTED)], [page.locator(TABLE).first.screenshot()]
        page.wait_for_timeout(1000)
        seen.append(page.locator(TABLE).first.screenshot())
        page.get_by_role("textbox", name="Search").fill(SEARCHED[0])
        page.evaluate(CHANGED)
        page.keyboard.press("Enter")
        times.append(page.evaluate("window.changed"))
        seen.append(page.locator(TABLE).first.screenshot())
        page.wait_for_timeout(1000)
        seen.append(page.locator(TABLE).first.screenshot())
    assert seen[0] == seen[1] != seen[2] == seen[3]
    assert all(0 < time < 60_000 for time in times)


@pytest.mark.integration
def test_a_table_is_painted_once_its_first_line_has_letters_and_changed_once_it_has_others() -> None:
    draw = """text => {
        const context = document.querySelector("canvas").getContext("2d");
        context.fillStyle = "white";
        context.fillRect(0, 0, 400, 105);
        context.fillStyle = "black";
        context.font = "24px sans-serif";
        context.fillText(text, 20, 60);
    }"""
    with opened_browser() as browser:
        page = browser.new_page()
        assert page.evaluate(FIRST_LINE) == ""
        page.set_content("<div data-testid=stDataFrame><canvas width=400 height=105></canvas></div>")
        assert page.evaluate(FIRST_LINE) == ""
        page.evaluate(draw, "LEM 0.0121")
        first = page.evaluate(FIRST_LINE)
        page.evaluate(CHANGED)
        page.wait_for_timeout(200)
        page.evaluate(draw, "GRU 0.0144")
        assert "" != first != page.evaluate(FIRST_LINE)
        assert page.evaluate("window.changed") >= 200, "it waited for another line"
