"""The Lab: its pages and their order. Run by ``longwave dashboard``; the store is at the URL in LONGWAVE_STORE."""

from __future__ import annotations

import streamlit as st

STYLE = """<style>
.stMainBlockContainer { padding-left: 2rem; padding-right: 2rem; max-width: 110rem; }
h1 { font-size: 1.7rem !important; padding: 0 0 0.4rem !important; }
h3 { padding-bottom: 0.25rem !important; }
hr { margin: 0.25rem 0 !important; }
@media (max-width: 640px) { .stMainBlockContainer { padding-left: 0.75rem; padding-right: 0.75rem; } }
</style>"""
PAGES = {
    "": {"overview": "Overview", "task": "Board", "model": "Model", "compare": "Compare", "sweep": "Sweeps"},
    "More": {
        "reproduction": "Reproduction",
        "cost": "Cost",
        "coverage": "Coverage",
        "row": "Row",
        "methods": "Methods",
    },
}

st.set_page_config(page_title="Longwave", page_icon="〰️", layout="wide")
st.html(STYLE)
st.navigation(
    {
        section: [
            st.Page(f"pages/{name}.py", title=title, url_path=name, default=name == "overview")
            for name, title in pages.items()
        ]
        for section, pages in PAGES.items()
    },
    position="top",
).run()
