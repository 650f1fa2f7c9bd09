"""The scripts of an edition's page, run by an engine of their own."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import quickjs

from longwave.platform.editions.page import SCRIPTS, SITE

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


def published_page(folder: Path, chosen: Mapping[str, str]) -> Page:
    """Return the page of the edition in a folder, up to what draws, with the filters that were chosen."""
    text = (folder / "index.html").read_text(encoding="utf-8")
    data = text.split('<script type="application/json" id="data">')[1].split("</script>")[0]
    page = Page(*PURE, first=f"const document = {{ getElementById: () => ({{ textContent: {json.dumps(data)} }}) }}")
    page.engine.eval(f"state = {{ ...FRESH, ...{json.dumps(chosen)} }}")
    return page
