"""The Lab as a server, which does slow one-time work before it accepts requests."""

from __future__ import annotations

import ast
import gc
import importlib
import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from pathlib import Path

import streamlit as st
from starlette.middleware import Middleware

from longwave.dashboard import cached_reads
from longwave.dashboard.index_page import IndexPage, index_html
from longwave.dashboard.protection import Protection, content_policy
from longwave.dashboard.theme import THEMES, theme_script
from longwave.platform.errors import LongwaveError

PAGES = Path(__file__).parent / "views"


def imported_modules() -> set[str]:
    """Return the modules that pages import; the pages are scripts, run for each visitor."""
    trees = [ast.parse(page.read_text(encoding="utf-8")) for page in PAGES.glob("*.py")]
    imports = (node for tree in trees for node in ast.walk(tree) if isinstance(node, ast.ImportFrom))
    return {node.module for node in imports if node.module}


@asynccontextmanager
async def ready(_: st.App) -> AsyncIterator[None]:
    """Import the modules of pages and read the boards once; pages report errors of the store."""
    for module in sorted(imported_modules()):
        importlib.import_module(module)
    with suppress(LongwaveError):
        cached_reads.read_board_rows(cached_reads.configured_store())
    gc.collect()
    gc.freeze()  # Streamlit collects garbage after each run of a page: exclude permanent objects
    yield


addresses = frozenset({"", *(page.stem for page in PAGES.glob("[a-z]*.py"))})
page, login = index_html(), bool(os.environ.get("LONGWAVE_LOGIN"))
policy = content_policy("\n".join([page, *map(theme_script, THEMES)]))
app = st.App(
    "app.py",
    lifespan=ready,
    middleware=[
        Middleware(Protection, policy=policy, login=login),
        Middleware(IndexPage, page=page, pages=addresses),
    ],
)
