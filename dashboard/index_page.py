"""The first response to a browser: Streamlit's own page, with the server's address and preloads added.

Streamlit searches its server below each page's own URL first, and a browser loads the code for tables and figures only
when the first one is drawn.
"""

from __future__ import annotations

import re
from pathlib import Path

import streamlit as st
from starlette.responses import HTMLResponse
from starlette.types import ASGIApp, Receive, Scope, Send

STATIC = Path(st.__file__).parent / "static"
COMMON_WIDGETS = (
    "Html", "Selectbox", "Checkbox", "DataFrame", "ButtonGroup", "ArrowVegaLiteChart", "TextInput", "Metric",
    "Multiselect", "NumberInput", "Table",
)  # fmt: skip
"""Elements on most pages, on boards or on sweeps, by Streamlit's names; their code is loaded early."""
SERVER = '<script>window.__streamlit = {BACKEND_BASE_URL: new URL(".", location.href).href}</script>'
IMPORTED = re.compile(r"""(?:from|import)\s*["'`]\./([\w.-]+\.js)["'`]""")


def index_html() -> str:
    """Return Streamlit's page with the server's address and preload links."""
    page = (STATIC / "index.html").read_text(encoding="utf-8")
    widget_files = dict.fromkeys(
        path.name for name in COMMON_WIDGETS for path in sorted((STATIC / "static/js").glob(f"{name}.*.js"))
    )
    for name in (names := list(widget_files)):
        text = (STATIC / "static/js" / name).read_text(encoding="utf-8")
        names += [other for other in IMPORTED.findall(text) if other not in names]
    links = [f'<link rel="modulepreload" crossorigin href="./static/js/{name}">' for name in names if name not in page]
    return page.replace("</head>", "\n".join([SERVER, *links, "</head>"]), 1)


class IndexPage:
    """Serves ``page``, as returned by ``index_html``, for ``pages``, and passes all other requests on."""

    def __init__(self, app: ASGIApp, page: str, pages: frozenset[str]) -> None:
        self.app, self.pages = app, pages
        self.page = HTMLResponse(page, headers={"Cache-Control": "no-cache"})

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        is_read = scope["type"] == "http" and scope["method"] in ("GET", "HEAD")
        is_lab_page = is_read and scope["path"].strip("/") in self.pages
        await (self.page if is_lab_page else self.app)(scope, receive, send)
