"""Up to five models or rows, each compared with the first, board by board, with a verdict in a sentence."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

import streamlit as st

from longwave.dashboard import cached_reads, page_frame, state, table_frames
from longwave.dashboard.link_table import draw_link_table
from longwave.platform.boards.compare import Comparison, compare, resolve
from longwave.platform.boards.overview import overviews
from longwave.platform.boards.row import SHORT, Row
from longwave.platform.errors import ConfigError, did_you_mean
from longwave.platform.figures.forest import forest
from longwave.platform.figures.frame import Figure
from longwave.platform.figures.ratios import error_ratios
from longwave.platform.render.comparison import comparison_table
from longwave.platform.render.harmless import escape_invisible, in_streamlit
from longwave.platform.render.table import Table

MOST = 5
"""Largest number of models or rows."""


def draw(url: str) -> None:
    """Draw the comparison of the rows, or of the models, in the URL."""
    rows = cached_reads.read_board_rows(url)
    pickers, corner = page_frame.draw_head(1000)
    chosen = pick_rows(url, rows, pickers)
    names = [resolve(rows, row.config) for row in chosen] or pick_models(rows, pickers)
    if len(names) < 2:
        raise ConfigError(f"A comparison needs two {'rows' if chosen else 'models'}. Choose another one.")
    for row in chosen[1:]:
        if row.place != chosen[0].place:
            named_rows = " and ".join(f"{r.label} on {r.board}" for r in (chosen[0], row))
            raise ConfigError(f"{named_rows} cannot be compared: rows are compared on the same board.")
    comparisons = [compare(rows, names[0], other) for other in names[1:]]
    families = {row.model: row.family for row in rows}
    figures = draw_ratios(comparisons, families.get(chosen[0].model if chosen else names[0], ""))
    tables = [draw_comparison(comparison) for comparison in comparisons]
    st.caption(in_streamlit(comparisons[0].how))
    if len({row.place for row in chosen}) == 1:
        make = partial(forest, chosen, table_frames.row_labels(chosen), chosen[0].goal == "min")
        figures["medians"] = page_frame.draw_figure(make, "forest")
    bar = st.container(horizontal=True)
    for row in chosen:
        page_frame.draw_link(bar, "row", row.label, row=row.config)
    with corner:
        page_frame.draw_share_menu("Comparison", tables, figures)


def pick_rows(url: str, rows: Sequence[Row], container: object) -> list[Row]:
    """Draw a picker of the rows in the URL and the others of their board, and return the choice; draw nothing without.

    Raises:
        ConfigError: The URL has a name of no row, or of several.
    """
    names = {cached_reads.find_row(url, name).key: name for name in state.address_list("rows")[:MOST]}
    if not names:
        return []
    boards = {row.place for row in rows if row.key in names}
    offered = [row for row in rows if row.key in names or (row.current and row.place in boards)]
    options = {names.get(row.key, row.config[:SHORT]): row for row in offered}
    labels = {
        name: escape_invisible(f"{row.label} on {row.board}" if len(boards) > 1 else row.label)
        for name, row in options.items()
    }
    label = f"Rows, at most {MOST}; each is compared with the first, or models if no row is chosen"
    picked = state.draw_choices(label, "rows", [*options], labels.__getitem__, container, limit=MOST)
    return [options[name] for name in picked]


def pick_models(rows: Sequence[Row], container: object) -> list[str]:
    """Draw the picker of models and return the choice: by default the two best of the boards that share models.

    Raises:
        ConfigError: There are fewer than two models, or the URL has an unknown one.
    """
    titles = {row.model: row.model_title for row in rows if row.current}
    if len(titles) < 2:
        raise ConfigError("The store has fewer than two models to compare. The overview shows what it has.")
    best = [line.model for part in overviews(rows) if len(part.lines) > 1 for line in part.lines][:2]
    models = sorted(titles, key=lambda model: titles[model].lower())
    label = f"Models, at most {MOST}; each is compared with the first"
    url_names = state.address_list("models")
    chosen = state.draw_choices(label, "models", models, titles.__getitem__, container, best or models[:2], MOST)
    for name in url_names:
        if name not in titles:
            raise ConfigError(did_you_mean("model", name, titles))
    return chosen


def draw_ratios(comparisons: Sequence[Comparison], family: str) -> dict[str, Figure | None]:
    """Draw the error ratios board by board, one figure per model after the first, which is of ``family``; return them
    by name.
    """
    figures: dict[str, Figure | None] = {}
    columns = st.columns(min(2, len(comparisons)), gap="medium")
    for k, comparison in enumerate(comparisons):
        with columns[k % len(columns)]:
            st.markdown(f"**{in_streamlit(comparison.verdict)}**")
            name = f"{comparison.a} against {comparison.b}"
            figures[name] = page_frame.draw_figure(partial(error_ratios, comparison, family), f"ratios {k}")
    return figures


def draw_comparison(comparison: Comparison) -> Table:
    """Draw a comparison board by board, and return it as a table."""
    table = comparison_table(comparison)
    with st.expander(in_streamlit(f"{table.title}, board by board"), expanded=len(comparison.contests) == 1):
        draw_link_table(table.columns, table.lines, table.title, bold=table.bold)
    return table


page_frame.draw_page("Compare", draw)
