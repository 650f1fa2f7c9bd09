"""How everything is computed: the methods, and what each column means."""

from __future__ import annotations

import pandas as pd
import streamlit as st

from longwave.dashboard import page_frame
from longwave.platform.boards import columns
from longwave.platform.boards.methods import methods


def draw(_: str) -> None:
    """Draw the methods, each section folded, and the columns' definitions."""
    head, *sections = methods().split("\n## ")
    st.markdown(head.partition("\n")[2])
    for section in sections:
        title, _, body = section.partition("\n")
        with st.expander(title):
            st.markdown(body)
    with st.expander("What each column means"):
        meanings = [(column.heading, column.meaning) for column in columns.of("dashboard")]
        st.table(pd.DataFrame(meanings, columns=["column", "meaning"]), hide_index=True, border="horizontal")


page_frame.draw_page("Methods", draw)
