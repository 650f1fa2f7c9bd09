"""The Lab: its pages and their order. Run by ``longwave dashboard``; the store is at the URL in LONGWAVE_STORE."""

from __future__ import annotations

import os

import streamlit as st

from longwave.dashboard.page_frame import PAGES

st.set_page_config(page_title="Longwave", page_icon="〰️", layout="wide")
if os.environ.get("LONGWAVE_LOGIN") and not st.user.get("is_logged_in"):  # where nothing is set up, nobody comes in
    st.title("Longwave", anchor=False)
    st.button("Log in", on_click=st.login, type="primary")
    st.stop()
st.navigation(
    {
        section: [
            st.Page(f"views/{name}.py", title=title, url_path=name, default=name == "overview")
            for name, title in pages.items()
        ]
        for section, pages in PAGES.items()
    },
    position="top",
).run()
