"""One row: its seeds, curves, settings, environments, and the command that retrains it."""

from __future__ import annotations

from collections.abc import Sequence

import streamlit as st

from longwave.dashboard import cached_reads, page_frame, stars, state, table_frames
from longwave.dashboard.board_figures import ABOUT
from longwave.dashboard.export_menu import row_as_table
from longwave.dashboard.link_table import Link, draw_link_table
from longwave.platform.boards.answer import answer
from longwave.platform.boards.row import SHORT, Row
from longwave.platform.boards.texts import marked_median, measured, median
from longwave.platform.errors import ConfigError
from longwave.platform.figures.curves import OF, curves
from longwave.platform.figures.forest import forest
from longwave.platform.figures.frame import Figure
from longwave.platform.paths import store_option
from longwave.platform.records.stored import Trial
from longwave.platform.render.harmless import in_streamlit


def draw(url: str) -> None:
    """Draw the row in the URL."""
    name = state.address_value("row")
    if not name:
        draw_offers(url)
        return
    row = cached_reads.find_row(url, name)
    board_rows = [r for r in cached_reads.read_board_rows(url, row.task) if r.variant == row.variant]
    body, corner = page_frame.draw_head(1000)
    body.subheader(in_streamlit(f"{row.label} on {row.board}: {median(row)}"), anchor=False)
    bar = st.container(horizontal=True)
    page_frame.draw_link(bar, "task", f"Board of {row.board}", task=row.task, variant=row.variant)
    if row.kind != "retrained":
        st.caption("It was not retrained here, so it has no rank.")
        draw_published(row)
        with corner:
            page_frame.draw_share_menu(f"{row.label} on {row.board}", [row_as_table(row)])
        return
    st.caption(in_streamlit(table_frames.short_text(row)))
    if row.superseded:
        st.warning(in_streamlit(f"Superseded: {row.superseded}. It has no rank."))
    st.code(row.command + store_option(url), language=None)
    bar = st.container(horizontal=True, vertical_alignment="bottom")
    stars.draw_star(row, bar)
    state.draw_text_field("Note", "note", bar, "saved in the link to this page")
    trials = sorted(cached_reads.read_trials(url, tuple(row.trials)), key=lambda trial: trial.config.seed)
    left, right = st.columns([5, 3], gap="large")
    with left:
        figures = {"learning curves": seed_curves(url, row, trials)}
        draw_retrainings(trials)
        draw_published(row)
        st.markdown("**All rows of its board**")
        st.caption(ABOUT["medians"])
        figures["medians"] = page_frame.draw_figure(
            lambda: forest(board_rows, table_frames.row_labels(board_rows), row.goal == "min"), "forest"
        )
    with right:
        st.markdown("**Configuration**")
        st.table(table_frames.config_frame(row, trials[0]), border="horizontal", hide_index=True, hide_header=True)
        st.markdown("**How the setting was chosen**", help=table_frames.choice_meanings(row))
        st.table(table_frames.choice_frame(row), border="horizontal", hide_index=True, hide_header=True)
        draw_provenance(row)
    with corner:
        page_frame.draw_share_menu(f"{row.label} on {row.board}", [row_as_table(row)], figures)


def draw_offers(url: str) -> None:
    """Draw a choice of rows: the best of each board."""
    boards: dict[str, list[Row]] = {}
    for row in cached_reads.read_board_rows(url):
        boards.setdefault(row.board, []).append(row)
    best = [row for rows in boards.values() for row in answer(rows).leaders[:1]]
    if not best:
        raise ConfigError("No row is ranked yet. Rows appear here once retrainings have ended.")
    title = "Best of each board"
    st.subheader(title, anchor=False)
    lines: list[list[str | Link]] = [
        [Link(row.label, "row", {"row": row.key[:SHORT]}), marked_median(row), row.board] for row in best
    ]
    draw_link_table(("row", "median [95 %]", "board"), lines, title)


def seed_curves(url: str, row: Row, trials: Sequence[Trial]) -> Figure | None:
    """Draw the curves of a row's seeds, and return them."""
    names = {"valid": f"validation {measured(row)}", "loss": "training loss"}
    bar = st.container(horizontal=True, vertical_alignment="center")
    what = state.draw_buttons("Curve", "curve", list(OF), names.__getitem__, bar)
    log = state.draw_switch("Log y", "logy", row.goal == "min", bar)
    if not (points := cached_reads.read_curves(url, tuple(row.counted_trials))):
        st.info("No epoch of these retrainings is stored yet.")
        return None
    return page_frame.draw_figure(
        lambda: curves(trials, points, row.family, what, names[what], log), "curves", captioned=True
    )


def draw_retrainings(trials: Sequence[Trial]) -> None:
    """Draw the table of retrainings."""
    st.markdown("**Retrainings**")
    number_column = st.column_config.NumberColumn
    formats = {"seed": "%d", "valid": "%.4g", "test": "%.4g", "seconds": "%.1f"}
    columns = {key: number_column(key, format=format) for key, format in formats.items()}
    frame = table_frames.seeds_frame(trials)
    st.dataframe(frame, key="seeds", hide_index=True, placeholder="—", column_config=columns, height="content")


def draw_published(row: Row) -> None:
    """Draw the published numbers of the row's model."""
    st.markdown("**Published**")
    if row.published:
        st.table(table_frames.published_frame(row), border="horizontal", hide_index=True)
    else:
        st.caption("No paper in the library prints a number for this model on this task.")


def draw_provenance(row: Row) -> None:
    """Draw where the row's retrainings ran."""
    st.markdown("**Provenance**")
    recorded = [facts for facts in row.environments if facts]
    if recorded:
        st.table(
            table_frames.provenance_frame(recorded),
            border="horizontal",
            hide_index=True,
            hide_header=len(recorded) == 1,
        )
    else:
        st.caption("No finished retraining recorded its environment.")


page_frame.draw_page("Row", draw)
