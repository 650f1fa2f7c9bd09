"""The first thing a browser gets: Streamlit's own page, which says where the server is and what is needed soon.

Streamlit looks for its server below each page's own address first, and a browser hears of the code that draws tables
and figures only once it has been told to draw one.
"""

from __future__ import annotations

import re
from pathlib import Path

import streamlit as st
from starlette.responses import HTMLResponse
from starlette.types import ASGIApp, Receive, Scope, Send

STATIC = Path(st.__file__).parent / "static"
COMMON_WIDGETS = ("Html", "Selectbox", "Checkbox", "DataFrame", "ButtonGroup", "ArrowVegaLiteChart")
"""What most pages draw, as Streamlit calls it."""
SERVER = '<script>window.__streamlit = {BACKEND_BASE_URL: new URL(".", location.href).href}</script>'
IMPORTED = re.compile(r"""(?:from|import)\s*["'`]\./([\w.-]+\.js)["'`]""")


def index_html() -> str:
    """Return Streamlit's page with what it is to know."""
    page = (STATIC / "index.html").read_text(encoding="utf-8")
    wanted = dict.fromkeys(
        path.name for name in COMMON_WIDGETS for path in sorted((STATIC / "static/js").glob(f"{name}.*.js"))
    )
    for name in (names := list(wanted)):
        text = (STATIC / "static/js" / name).read_text(encoding="utf-8")
        names += [other for other in IMPORTED.findall(text) if other not in names]
    links = [f'<link rel="modulepreload" crossorigin href="./static/js/{name}">' for name in names if name not in page]
    return page.replace("</head>", "\n".join([SERVER, *links, "</head>"]), 1)


class IndexPage:
    """Answers for ``pages`` with ``page``, as ``index_html`` returns it, and hands everything else on."""

    def __init__(self, app: ASGIApp, page: str, pages: frozenset[str]) -> None:
        self.app, self.pages = app, pages
        self.page = HTMLResponse(page, headers={"Cache-Control": "no-cache"})

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        is_page = scope["type"] == "http" and scope["method"] in ("GET", "HEAD")
        own = is_page and scope["path"].strip("/") in self.pages
        await (self.page if own else self.app)(scope, receive, send)
