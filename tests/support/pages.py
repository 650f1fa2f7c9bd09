"""The scripts of an edition's page, run by a JavaScript engine."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import quickjs
from boards import trials

from longwave.platform.boards.board import rows
from longwave.platform.editions.edition import Edition, edition
from longwave.platform.editions.figures import Curves
from longwave.platform.editions.files import draw_files
from longwave.platform.editions.page import SCRIPTS, SITE
from longwave.platform.editions.publish import write
from longwave.platform.records.group import Group

DOM = (Path(__file__).parent / "dom.js").read_text(encoding="utf-8")
"""A minimal browser."""


LINES = 'elements.table.all("tbody")[0].all("tr").filter((l) => !["group", "limit"].includes(l.attributes.class))'
"""The rows of a page's table, without headings of groups."""


class Page:
    """An engine that runs a page's scripts, and before them ``first``."""

    def __init__(self, first: str) -> None:
        self.engine = quickjs.Context()
        text = "".join((SITE / f"{name}.js").read_text(encoding="utf-8") for name in SCRIPTS)
        self.engine.eval(f'"use strict";{first};{text}')

    def __call__(self, expression: str, **values: Any) -> Any:
        """Return the value of an expression in which the names of ``values`` are constants."""
        head = "".join(f"const {name} = {json.dumps(value)};" for name, value in values.items())
        return json.loads(self.engine.eval(f"{{ {head} JSON.stringify({expression}) }}"))

    @classmethod
    def drawn(cls, folder: Path, **state: str) -> Page:
        """Return the whole page of the edition in a folder, drawn in the minimal browser.

        Every group of rows is open unless ``state`` says otherwise.
        """
        data = json.dumps(json.dumps(page_data(folder)))
        chosen_hash = json.dumps(f"#{urlencode({'open': 'all', **state})}")
        return cls(f"{DOM};elements.data.textContent = {data};location.hash = {chosen_hash}")


def table(page: Page) -> list[dict[str, str]]:
    """Return the cells that a page shows, by heading without the marker of the order."""
    head = page('elements.table.all("thead")[0].all("th").map((cell) => cell.text)')
    lines = page(f"{LINES}.map((l) => l.children.flat().map((cell) => cell.text))")
    return [dict(zip(head, line, strict=True)) for line in lines]


def keys(page: Page) -> list[str]:
    """Return the keys of the rows that a page shows, in order."""
    names: list[str] = page(f'{LINES}.map((l) => l.attributes.id.slice("row-".length))')
    return names


def page_data(folder: Path) -> dict[str, Any]:
    """Return the data in the page of an edition as a browser reads them: up to the first closing script tag."""
    text = (folder / "index.html").read_text(encoding="utf-8")
    mark = '<script type="application/json" id="data">'
    content: dict[str, Any] = json.loads(text.split(mark)[1].split("</script>")[0])
    return content


def published(
    folder: Path, groups: Sequence[Group], numbers: Sequence[Mapping[str, Any]] = (), curves: Curves | None = None
) -> Edition:
    """Write the edition of these groups, all from one store, to a folder and return it."""
    board = rows(groups, numbers)
    made = edition(board, [trial for group in groups for trial in trials(group)], "Ours", "2026-01-01T00:00:00", "c")
    write(folder, made, draw_files(made, board, None, "there are none.", curves or {}))
    return made
