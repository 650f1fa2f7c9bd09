"""Two to six rows side by side: paired differences, the verdict in a sentence, what their settings differ in."""

from __future__ import annotations

from itertools import combinations

import pandas as pd
import streamlit as st

from longwave.dashboard import cached_reads, page_frame, state, table_frames
from longwave.platform.boards.compare import compare
from longwave.platform.errors import ConfigError
from longwave.platform.figures.forest import forest
from longwave.platform.render import board as as_text
from longwave.platform.render.harmless import in_streamlit

MOST = 6  # Rows that stand side by side.


def draw(url: str) -> None:
    """Draw the comparison of the rows, or of two models, that the address names."""
    rows = cached_reads.read_board_rows(url)
    named = state.address_list("rows")
    pickers, corner = page_frame.draw_head()
    if not named:
        titles = {row.model: row.model_title for row in rows if row.current}
        models = sorted(titles, key=lambda model: titles[model].lower())
        if len(models) < 2:
            raise ConfigError("There are not two models to compare yet. See what there is on the overview.")
        a = state.draw_choice("First model", "a", models, titles.__getitem__, pickers)
        b = state.draw_choice("Second model", "b", models, titles.__getitem__, pickers, models[1])
        pairs, chosen = [(a, b)], []
    else:
        chosen = [cached_reads.find_row(url, name) for name in named[:MOST]]
        pairs = [(a.config, b.config) for a, b in combinations(chosen, 2)]
    tables = []
    for a, b in pairs:
        comparison = compare(rows, a, b)
        tables.append(as_text.comparison_table(comparison))
        st.markdown(f"**{in_streamlit(comparison.verdict)}**")
    for table in tables:
        st.dataframe(
            pd.DataFrame(table.lines, columns=list(table.columns)), hide_index=True, height="content", key=table.title
        )
    if tables:
        st.caption(in_streamlit(tables[0].caption))
    drawn = None
    if len({row.place for row in chosen}) == 1:
        drawn = page_frame.draw_figure(
            lambda: forest(chosen, table_frames.row_labels(chosen), chosen[0].goal == "min"), "forest"
        )
    bar = st.container(horizontal=True)
    for row in chosen:
        page_frame.draw_link(bar, "row", row.label, row=row.config)
    with corner:
        page_frame.draw_share_menu("Comparison", tables, {"Medians compared": drawn})


page_frame.draw_page("Compare", draw)
