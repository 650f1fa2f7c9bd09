"""Which models were run on which boards, with how many seeds, and the command for a missing cell."""

from __future__ import annotations

from functools import partial
from itertools import chain

import streamlit as st

from longwave.dashboard import cached_reads, page_frame, state
from longwave.dashboard.sweep_files import recipe_file
from longwave.platform.boards.overview import overviews
from longwave.platform.boards.row import Row, named
from longwave.platform.errors import ConfigError
from longwave.platform.figures.grid import Square, grid
from longwave.platform.render.export import of_texts
from longwave.platform.statistics.verdict import ENOUGH


def draw(url: str) -> None:
    """Draw the matrix of models and boards, and the command for one of its cells."""
    rows = [row for row in cached_reads.read_board_rows(url) if row.current]
    if not rows:
        raise ConfigError("The store holds no retrainings yet. Finished cells will appear here.")
    titles = {row.model: row.model_title for row in rows}
    names = {(row.task, row.variant): row.board for row in rows}
    parts = [([line.model for line in part.lines], part.tasks) for part in overviews(rows)]
    best: dict[tuple[str, tuple[str, str]], Row] = {}
    for row in rows:
        key = (row.model, (row.task, row.variant))
        if key not in best or row.seed_count > best[key].seed_count:
            best[key] = row
    grids = [
        [make_square(titles[model], names[board], best.get((model, board))) for model in models for board in boards]
        for models, boards in parts
    ]
    squares = [*chain(*grids)]
    body, corner = page_frame.draw_head()
    not_run = sum(c.state == "not run" for c in squares)
    done = sum(c.state == "done" for c in squares)
    body.markdown(f"**{len(squares) - not_run} of {len(squares)} cells were run**, {done} with {ENOUGH} seeds or more.")
    tables, figures = [], {}
    for k, ((models, boards), part_squares) in enumerate(zip(parts, grids, strict=True)):
        model_titles, board_names = [titles[model] for model in models], [names[board] for board in boards]
        name = f"Coverage {k + 1}"
        figures[name] = page_frame.draw_figure(partial(grid, part_squares, model_titles, board_names), f"grid {k}")
        lines = [(title, *(c.word for c in part_squares if c.line == title)) for title in model_titles]
        tables.append(of_texts(name, ("model", *board_names), lines))
    st.caption(
        "Impossible cells are not counted: a sequence model cannot run on a graph, so boards that share no "
        "model have tables of their own."
    )
    with corner:
        page_frame.draw_share_menu("Coverage", tables, figures)
    st.subheader("Fill a cell", anchor=False)
    pick, _ = page_frame.draw_head()
    boards_of = {m: {named(p): p for p in places} for models, places in parts for m in models}
    dependents: state.Dependents = {"board": boards_of.__getitem__}
    holes = {m: next((b for b, place in of.items() if (m, place) not in best), "") for m, of in boards_of.items()}
    first = next((m for m, hole in holes.items() if hole), "")
    model = state.draw_choice("Model", "model", list(titles), titles.__getitem__, pick, dependents, first)
    board_of = boards_of[model]
    board = state.draw_choice(
        "Board", "board", list(board_of), lambda name: names[board_of[name]], pick, usual=holes[model]
    )
    page_frame.draw_command(
        "A sweep file for it, to be run with longwave sweep run FILE:",
        recipe_file(model, *board_of[board]),
    )


def make_square(title: str, board: str, row: Row | None) -> Square:
    """Return the state of a cell, as a colour and a word."""
    cell = f"{title} on {board}"
    if row is None:
        return Square(title, board, "not run", "·", f"{cell}: not run")
    if row.missing:
        return Square(
            title,
            board,
            "unfinished",
            f"{row.seed_count}/{row.seed_count + row.missing}",
            f"{cell}: {row.missing} not yet trained",
        )
    if not row.seed_count:
        return Square(title, board, "failed", "failed", f"{cell}: {row.failed} failed")
    if row.diverged == row.seed_count:
        return Square(title, board, "diverged", "div.", f"{cell}: all {row.seed_count} seeds diverged")
    return Square(
        title,
        board,
        "few seeds" if row.provisional else "done",
        str(row.seed_count),
        f"{cell}: {row.seed_count} seeds",
    )


page_frame.draw_page("Coverage", draw)
