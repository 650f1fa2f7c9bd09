"""Home: which model is best on each board, and how sure that is; then all models by all boards."""

from __future__ import annotations

from collections.abc import Sequence

import pandas as pd
import streamlit as st

from longwave.dashboard import cached_reads, page_frame
from longwave.dashboard.board_table import BEST_COLOUR
from longwave.platform.boards.answer import answer, over_all, saturated_tasks
from longwave.platform.boards.overview import overviews
from longwave.platform.boards.row import Row
from longwave.platform.boards.texts import DASH, median
from longwave.platform.errors import ConfigError
from longwave.platform.render import board as as_text
from longwave.platform.render.export import Table, of_texts
from longwave.platform.render.harmless import in_streamlit

WIDTHS = {
    "board": st.column_config.Column(width=130),
    "task": st.column_config.Column(width=80, help="Whether a network is told apart from the best trivial predictor."),
    "best": st.column_config.Column(width=115, help="The row with the best median."),
    "how sure": st.column_config.Column(width=640),
    "rows": st.column_config.NumberColumn(width=50, help="Ranked rows."),
}
"""Pixels."""


def draw(url: str) -> None:
    """Draw the answers and the overview."""
    rows = cached_reads.read_board_rows(url)
    if not any(row.kind == "reproduced" for row in rows):
        raise ConfigError(
            "The store holds no retrainings yet. A sweep retrains its winners last; they appear here then."
        )
    boards: dict[tuple[str, str], list[Row]] = {}
    for row in rows:
        boards.setdefault((row.task, row.variant), []).append(row)
    tables = [answer_table(list(boards.values()))]
    tables_of_tasks = overviews(rows)
    tables += [as_text.overview_table(one) for one in tables_of_tasks if any(line.rank for line in one.lines)]
    body, corner = page_frame.draw_head()
    ran = sum(row.seed_count for row in rows if row.kind == "reproduced")
    models = {row.model for row in rows if row.kind == "reproduced"}
    places = f"{len(boards)} board{'s' if len(boards) != 1 else ''}"
    body.markdown(f"**{len(models)} models on {places}, {ran:,} retrainings.**")
    several = [one for one in tables_of_tasks if len(one.tasks) > 1]
    for one in several or tables_of_tasks[:1]:
        body.markdown(in_streamlit(over_all(one)))
    with corner:
        page_frame.draw_share_menu("Longwave overview", tables)
    draw_best(list(boards.values()))
    if len(boards) > 1:
        st.subheader("Models by boards", anchor=False)
        for k, one in enumerate(tables_of_tasks):
            draw_grid(as_text.overview_table(one), f"grid {k}")
            if one.of_word("saturated") and one.of_word("separates", "open"):
                with st.expander(in_streamlit(saturated_tasks(one))):
                    draw_grid(as_text.saturated_table(one), f"saturated {k}")
        st.caption(in_streamlit(as_text.OVERALL))


def draw_best(boards: Sequence[Sequence[Row]]) -> None:
    """Draw one line a board: its best rows, and how sure that is. A click opens the board."""
    winners = [(rows[0], answer(rows), rows) for rows in boards]
    lines = pd.DataFrame(
        {
            "board": [row.place for row, _, _ in winners],
            "task": [best.separation.word for _, best, _ in winners],
            "best": [best.first or DASH for _, best, _ in winners],
            "best median [94–95 %]": [median(best.leaders[0]) if best.leaders else DASH for _, best, _ in winners],
            "how sure": [best.sure for _, best, _ in winners],
            "rows": [best.ranked for _, best, _ in winners],
        }
    )
    event = st.dataframe(
        lines, key="boards", on_select="rerun", selection_mode="single-row", hide_index=True, height="content",
        column_config=WIDTHS, alt="The best rows of each board",
    )  # fmt: skip
    if picked := event["selection"]["rows"]:
        row = winners[picked[0]][0]
        page_frame.open_page("task", task=row.task, variant=row.variant)


def answer_table(boards: Sequence[Sequence[Row]]) -> Table:
    """Return the answers as a table to download."""
    lines = [(rows[0].place, answer(rows).sentence) for rows in boards]
    return of_texts("Best models", ("board", "best"), lines)


def draw_grid(table: Table, key: str) -> None:
    """Draw a table of texts, its best cells on a ground of their own."""
    lines = pd.DataFrame(table.lines, columns=list(table.columns))
    tints = [[f"background-color: {BEST_COLOUR}" if (i, j) in table.bold else "" for j in range(len(table.columns))]
             for i in range(len(table.lines))]  # fmt: skip
    shown = lines.style.apply(lambda _: pd.DataFrame(tints, columns=lines.columns), axis=None)
    st.dataframe(shown, hide_index=True, height="content", key=key, alt=table.title)


page_frame.draw_page("Overview", draw)
