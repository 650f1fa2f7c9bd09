"""The scripts of an edition's page, run by an engine of their own."""

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
from longwave.platform.editions.page import SCRIPTS, SITE
from longwave.platform.editions.publish import write
from longwave.platform.records.group import Group

DOM = (Path(__file__).parent / "dom.js").read_text(encoding="utf-8")
"""Just enough of a browser to draw on."""
PURE = SCRIPTS[: SCRIPTS.index("tables")]
"""Scripts that draw nothing."""


class Page:
    """An engine that runs some of a page's scripts, and before them ``first``."""

    def __init__(self, *scripts: str, first: str = "") -> None:
        self.engine = quickjs.Context()
        text = "".join((SITE / f"{name}.js").read_text(encoding="utf-8") for name in scripts)
        self.engine.eval(f'"use strict";{first};{text}')

    def __call__(self, expression: str, **given: Any) -> Any:
        """Return the value of an expression in which the names of ``given`` stand for their values."""
        head = "".join(f"const {name} = {json.dumps(value)};" for name, value in given.items())
        return json.loads(self.engine.eval(f"{{ {head} JSON.stringify({expression}) }}"))

    @classmethod
    def drawn(cls, folder: Path, **chosen: str) -> Page:
        """Return the whole page of the edition in a folder, drawn on elements that only hold what they are given."""
        return cls(*SCRIPTS, first=f"{DOM};elements.data.textContent = {json.dumps(json.dumps(page_data(folder)))};"
                   f"location.hash = '#' + {json.dumps(urlencode(chosen))}")  # fmt: skip

    @classmethod
    def of(cls, folder: Path, **chosen: str) -> Page:
        """Return the page of the edition in a folder, up to what draws, with the filters that were chosen."""
        data = json.dumps(json.dumps(page_data(folder)))
        page = cls(*PURE, first=f"const document = {{ getElementById: () => ({{ textContent: {data} }}) }}")
        page.engine.eval(f"state = {{ ...FRESH, ...{json.dumps(chosen)} }}")
        return page


def page_data(folder: Path) -> dict[str, Any]:
    """Return the data in the page of an edition as a browser finds it: up to the first end of a script."""
    text = (folder / "index.html").read_text(encoding="utf-8")
    mark = '<script type="application/json" id="data">'
    found: dict[str, Any] = json.loads(text.split(mark)[1].split("</script>")[0])
    return found


def published(folder: Path, groups: Sequence[Group], numbers: Sequence[Mapping[str, Any]] = ()) -> Edition:
    """Write the edition of these groups, all kept by one store, to a folder and return it."""
    found = rows(groups, numbers)
    made = edition(found, [trial for group in groups for trial in trials(group)], "Ours", "2026-01-01T00:00:00", "c")
    write(folder, made, found, None, b"", "there are none.")
    return made
