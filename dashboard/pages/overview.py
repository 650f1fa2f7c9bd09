"""Home: which model is best on each board, and how sure that is; then all models by all boards."""

from __future__ import annotations

from collections.abc import Sequence

import pandas as pd
import streamlit as st

from longwave.dashboard import frame, reads
from longwave.platform.boards.answer import answer
from longwave.platform.boards.overview import overview
from longwave.platform.boards.row import Row
from longwave.platform.boards.texts import DASH, median
from longwave.platform.errors import ConfigError
from longwave.platform.render import board as as_text
from longwave.platform.render.export import Table, of_texts


def draw(url: str) -> None:
    """Draw the answers and the overview."""
    rows = reads.board(url)
    if not any(row.kind == "reproduced" for row in rows):
        raise ConfigError(
            "The store holds no retrainings yet. A sweep retrains its winners last; they appear here then."
        )
    boards: dict[tuple[str, str], list[Row]] = {}
    for row in rows:
        boards.setdefault((row.task, row.variant), []).append(row)
    tables = [answers(list(boards.values()))]
    found = overview(rows)
    if any(line.rank for line in found.lines):
        tables.append(as_text.overall(found))
    head = st.columns([6, 1], vertical_alignment="bottom")
    ran = sum(row.asked for row in rows if row.kind == "reproduced")
    models = {row.model for row in rows if row.kind == "reproduced"}
    head[0].markdown(f"**{len(models)} models on {len(boards)} boards, {ran:,} retrainings.** {frame.freshness()}")
    with head[1]:
        frame.share("Longwave overview", tables)
    best(list(boards.values()))
    if len(boards) > 1:
        st.subheader("Models by boards", anchor=False)
        grid(as_text.overall(found))


def best(boards: Sequence[Sequence[Row]]) -> None:
    """Draw one line a board: its best rows, and how sure that is. A click opens the board."""
    told = [(rows[0], answer(rows), rows) for rows in boards]
    lines = pd.DataFrame(
        {
            "board": [row.place for row, _, _ in told],
            "best": [" = ".join(dict.fromkeys(r.title for r in found.leaders)) or DASH for _, found, _ in told],
            "median of the best [94–95 %]": [
                median(found.leaders[0]) if found.leaders else DASH for _, found, _ in told
            ],
            "how sure": [found.sentence for _, found, _ in told],
            "rows": [found.ranked for _, found, _ in told],
        }
    )
    event = st.dataframe(
        lines, key="boards", on_select="rerun", selection_mode="single-row", hide_index=True, height="content",
        column_config={"how sure": st.column_config.Column(width="large")}, alt="The best rows of each board",
    )  # fmt: skip
    if picked := event["selection"]["rows"]:
        row = told[picked[0]][0]
        frame.leave("task", task=row.task, variant=row.variant)


def answers(boards: Sequence[Sequence[Row]]) -> Table:
    """Return the answers as a table to take along."""
    lines = [(rows[0].place, answer(rows).sentence) for rows in boards]
    return of_texts("Best models", ("board", "best"), lines)


def grid(table: Table) -> None:
    """Draw a table of texts."""
    st.dataframe(pd.DataFrame(table.lines, columns=list(table.columns)), hide_index=True, height="content", key="grid")
    st.caption(table.caption)


frame.page("Overview", draw)
