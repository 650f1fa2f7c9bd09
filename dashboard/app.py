"""The Lab: its pages in order. Run by ``longwave dashboard``; the URL of the store is in LONGWAVE_STORE."""

from __future__ import annotations

import os

import streamlit as st

from longwave.dashboard.page_frame import PAGES

st.set_page_config(page_title="Longwave", page_icon="〰️", layout="wide")
if os.environ.get("LONGWAVE_LOGIN") and not st.user.get("is_logged_in"):  # without a configured log-in, nobody gets in
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
