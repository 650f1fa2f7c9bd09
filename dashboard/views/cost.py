"""Cost of results: hours and energy by model and board, of the search and of the retrainings; cost against score."""

from __future__ import annotations

import pandas as pd
import streamlit as st

from longwave.dashboard import cached_reads, page_frame, state, table_frames
from longwave.dashboard.table import text_width
from longwave.platform.boards.row import Row, sum_search_seconds
from longwave.platform.boards.texts import duration, plain, searched
from longwave.platform.errors import ConfigError
from longwave.platform.figures.bars import BarPart, cost_bars
from longwave.platform.figures.scatter import COSTS, against_cost
from longwave.platform.render.export import of_texts

HEAD = (
    "board",
    "model",
    "retrainings",
    "time to train",
    "search trials",
    "time to find",
    "energy a retraining [J]",
    "parameters",
)
TABLE = 420
"""Height of the table in pixels; it scrolls."""
BY = {"model": "by model", "place": "by board"}


def draw(url: str) -> None:
    """Draw the bars, the cost against the score of one board, and the table."""
    rows = [row for row in cached_reads.read_board_rows(url) if row.kind == "retrained"]
    if not rows:
        raise ConfigError("The store has no retrainings yet. Their cost will appear here.")
    pickers, corner = page_frame.draw_head()
    by = state.draw_buttons("Bars", "by", list(BY), BY.__getitem__, pickers)
    lines = [table_line(row) for row in rows]
    table = of_texts("What results cost", HEAD, lines)
    searching = sum_search_seconds(rows)
    total = searching + sum(row.train_seconds for row in rows)
    st.markdown(f"**{duration(total)} in all**, of which the searches took {duration(searching)}.")
    figures = {"hours": page_frame.draw_figure(lambda: cost_bars(cost_parts(rows, by), "hours"), "bars")}
    board_names = sorted({row.board for row in rows})
    pick, _ = page_frame.draw_head()
    chosen_board = state.draw_choice("Board", "board", board_names, container=pick)
    cost = state.draw_choice("Cost", "cost", list(COSTS), lambda name: COSTS[name][0], pick)
    shown = [row for row in rows if row.board == chosen_board and row.current]
    goal = next(row.goal for row in rows if row.board == chosen_board)
    log = state.draw_switch("Log axis", "log", goal == "min", pick)
    lacking = "No row of this board has both a median and this cost."
    figures[f"{chosen_board} against {COSTS[cost][0].partition(' [')[0]}"] = page_frame.draw_figure(
        lambda: against_cost(shown, table_frames.row_labels(shown), cost, log), "scatter", lacking
    )
    texts = {"board": [row.board for row in rows], "model": table_frames.row_labels(rows)}
    column_types = {name: st.column_config.Column(width=text_width(of)) for name, of in texts.items()}
    frame = pd.DataFrame(lines, columns=list(HEAD))
    st.dataframe(frame, hide_index=True, height=TABLE, key="costs", column_config=column_types)
    with corner:
        page_frame.draw_share_menu("Cost", [table], figures)


def cost_parts(rows: list[Row], by: str) -> list[BarPart]:
    """Return the parts of the bars: hours of the search and of the retrainings."""
    by_name: dict[str, list[Row]] = {}
    for row in rows:
        by_name.setdefault(row.model_title if by == "model" else row.board, []).append(row)
    sums = {
        (name, phase): seconds
        for name, named_rows in by_name.items()
        for phase, seconds in (
            ("search", sum_search_seconds(named_rows)),
            ("retrain", sum(row.train_seconds for row in named_rows)),
        )
    }
    return [BarPart(n, phase, s / 3600, f"{n}, {phase}: {duration(s)}") for (n, phase), s in sums.items()]


def table_line(row: Row) -> tuple[str, ...]:
    """Return one line of the table."""
    return (
        row.board, row.label, plain(row.seed_count), duration(row.train_seconds), searched(row),
        duration(row.find_seconds), plain(row.joules), plain(row.parameters),
    )  # fmt: skip


page_frame.draw_page("Cost", draw)
