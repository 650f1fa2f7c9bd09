"""Overview: introduction, which boards separate models, the best model of each, and all models by all boards."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

import streamlit as st

from longwave.dashboard import cached_reads, page_frame
from longwave.dashboard.link_table import Link, draw_link_table
from longwave.platform.boards.answer import answer, over_all
from longwave.platform.boards.diagram import Diagram
from longwave.platform.boards.overview import ModelLine, Overview, overviews
from longwave.platform.boards.row import SHORT, Row, group_by_board
from longwave.platform.boards.separation import count_words
from longwave.platform.boards.texts import DASH, estimate, marked_median
from longwave.platform.errors import ConfigError
from longwave.platform.figures.critical_difference import draw_diagram
from longwave.platform.figures.heat_map import heat_map
from longwave.platform.render.export import of_texts
from longwave.platform.render.harmless import in_streamlit
from longwave.platform.render.overview import AHEAD, OVERALL, SEPARATES, overview_table
from longwave.platform.render.table import Table
from longwave.platform.wording import describe_count

ABOUT = (
    "Longwave compares models of long sequences and graphs under one protocol. On each board every model gets a search "
    "of its settings; the best setting is retrained with fresh seeds, and ranks and verdicts come from tests over "
    "these seeds. A board separates if some network is significantly better than the best trivial predictor."
)
HEAT = (
    "Error of each model over that of the best trivial predictor of the board: blue is better, orange worse. Pale "
    "boards are saturated: no network beats the predictor there."
)
BOARDS = ("board", "separates", "best network", "median [95 %]", "how sure")


def draw(url: str) -> None:
    """Draw the introduction, the heat maps, and both tables."""
    rows = cached_reads.read_board_rows(url)
    if not any(row.kind == "retrained" for row in rows):
        raise ConfigError("The store holds no retrainings yet. They appear once a sweep has retrained its winners.")
    page_frame.draw_live_sweeps(url)
    boards = group_by_board(rows)
    parts = overviews(rows)
    body, corner = page_frame.draw_head(1000)
    body.markdown(ABOUT)
    retrainings = describe_count(sum(row.seed_count for row in rows if row.kind == "retrained"), "retraining")
    models = {row.model for row in rows if row.kind == "retrained"}
    separation_text = count_words([word for part in parts for word in part.separations])
    totals = f"{describe_count(len(models), 'model')} on {describe_count(len(boards), 'board')}, {retrainings}"
    st.markdown(f"**{totals}.** {in_streamlit(separation_text)}")
    figures = {}
    for k, part in enumerate(parts):
        figures[f"models by boards {k + 1}"] = page_frame.draw_figure(partial(heat_map, part), f"heat {k}")
    st.caption(HEAT)
    st.subheader("Boards", anchor=False)
    draw_boards([boards[place] for part in parts for place in part.tasks])
    for k, part in enumerate(parts):
        draw_models(url, part, k)
    tables = [answer_table(list(boards.values())), *map(overview_table, parts)]
    with corner:
        page_frame.draw_share_menu("Longwave overview", tables, figures)


def draw_boards(boards: Sequence[Sequence[Row]]) -> None:
    """Draw one line per board: whether it separates, its best row, and how certain that is."""
    lines: list[list[str | Link]] = []
    for rows in boards:
        board_answer, first_row = answer(rows), rows[0]
        lines.append([
            Link(first_row.board, "task", {"task": first_row.task, "variant": first_row.variant}),
            SEPARATES[board_answer.separation.word],
            Link(board_answer.first, "row", {"row": board_answer.leaders[0].config[:SHORT]})
            if board_answer.leaders
            else DASH,
            marked_median(board_answer.leaders[0]) if board_answer.leaders else DASH,
            board_answer.sure,
        ])  # fmt: skip
    with st.container(key="answers"):
        draw_link_table(BOARDS, lines, "The best network of each board")


def draw_models(url: str, part: Overview, k: int) -> None:
    """Draw one line per model of an overview: score and mean rank, and its medians in a folded section."""
    if len(part.tasks) < 2:
        return
    st.subheader(in_streamlit(f"Models on {len(part.tasks)} boards"), anchor=False)
    st.markdown(in_streamlit(over_all(part).removeprefix(count_words(part.separations)).strip()))
    lines: list[list[str | Link]] = [
        [
            Link(line.title, "model", {"model": line.model}),
            estimate(line.rank, 1) if line.rank else f"{DASH} ({line.why})",
            estimate(line.score),
            f"{line.ran} of {len(part.tasks)}",
        ]
        for line in part.lines
    ]
    head = ("model", "mean rank", "score", "boards")
    draw_link_table(head, lines, f"Models over {len(part.tasks)} boards")
    draw_critical_difference(cached_reads.read_diagrams(url)[k])
    with st.expander("Medians on each board"):
        draw_medians(part)
    st.caption(in_streamlit(OVERALL))


def draw_medians(part: Overview) -> None:
    """Draw the median of each model on each board, saturated ones last."""
    table = overview_table(part, saturated=True)
    lines = [_linked_cells(line, cells) for line, cells in zip(part.lines, table.lines, strict=True)]
    head = ["model", *table.columns[AHEAD:]]
    bold = {(i, j + 1 - AHEAD) for i, j in table.bold}
    draw_link_table(head, lines, "Medians of models by boards", bold=bold)


def _linked_cells(line: ModelLine, texts: Sequence[str]) -> list[str | Link]:
    """Return the cells of one model, each a link to its row."""
    cells = zip(line.cells, texts[AHEAD:], strict=True)
    row_links = [Link(text, "row", {"row": row.config[:SHORT]}) if row else text for row, text in cells]
    return [Link(line.title, "model", {"model": line.model}), *row_links]


def draw_critical_difference(drawing: Diagram | None) -> None:
    """Draw the critical-difference figure if its tests can distinguish models; otherwise the reason why there is
    none."""
    if drawing is None:
        return
    if drawing.why_none:
        st.caption(in_streamlit(drawing.why_none))
    else:
        st.image(draw_diagram(drawing), caption=drawing.caption)


def answer_table(boards: Sequence[Sequence[Row]]) -> Table:
    """Return the answers as a table to download."""
    lines = [(rows[0].board, answer(rows).sentence) for rows in boards]
    return of_texts("Best models", ("board", "best"), lines)


page_frame.draw_page("Overview", draw)
