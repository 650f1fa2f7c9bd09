"""Models by boards: the error of each model's median over that of the best trivial predictor."""

from __future__ import annotations

import math

import altair as alt

from longwave.platform.boards.overview import Overview
from longwave.platform.boards.row import Row
from longwave.platform.boards.texts import marked_median, metric_words
from longwave.platform.figures.columns import BARE, ColumnNames
from longwave.platform.figures.frame import (
    FAINT,
    LEGEND,
    LINE,
    ROOM,
    Figure,
    Mark,
    as_data,
    frame_chart,
    width_condition,
)
from longwave.platform.statistics.scale import LEAST as NO_ERROR

TINTS = ["#2F7FB8", "#A9CBE4", "#F2F2F2", "#EBC3A8", "#C9713D"]
"""From much better than the best trivial predictor to much worse, distinguishable by colour-blind readers."""
DARK, LIGHT = "#10161C", "#FFFFFF"
REACH = 3.0
"""Logarithm to base 2 of the ratios at both ends of the colours: 1/8 and 8."""
PALE = 0.4
"""Opacity of a saturated board's cells, which only show which model comes nearest to a trivial predictor."""
GRADIENT = 200
"""Length of the colour bar, which fits on a phone beside the names of models, in pixels."""
LEAST, MOST = 0.01, 99.5
"""Smaller ratios are written as ``<0.01``, larger ones as ``>99``."""


def heat_map(overview: Overview) -> Figure | None:
    """Return models by boards, coloured by the ratio of errors; None if no cell has one.

    Args:
        overview: Its boards: separating ones first, then open ones, then saturated ones, which are pale.
    """
    titles = overview.titles
    marks = [
        {
            "model": line.title,
            "board": name,
            "line": i,
            "column": k,
            "ratio": max(-REACH, min(REACH, math.log2(ratio))),
            "text": ">99" if ratio >= MOST else "<0.01" if ratio < LEAST else f"{ratio:.2g}",
            "strong": abs(math.log2(ratio)) > REACH * 0.7 and separated.word != "saturated",
            "opacity": PALE if separated.word == "saturated" else 1.0,
            "tip": _describe_cell(line.title, name, cell, ratio, separated.predictor),
        }
        for i, line in enumerate(overview.lines)
        for k, (cell, name, separated) in enumerate(zip(line.cells, titles, overview.separations, strict=True))
        if cell
        and not cell.untrusted
        and separated.predictor
        and (ratio := _error_ratio(cell, separated.predictor)) is not None
    ]
    return _draw(marks) if marks else None


def _draw(marks: list[Mark]) -> Figure:
    models, boards = (list(dict.fromkeys(mark[name] for mark in marks)) for name in ("model", "board"))
    layout = ColumnNames.of(models, boards)
    # Sorted by index, because Vega-Lite compiles a list of names to code, which breaks on line breaks in names.
    by_column, by_line = (alt.EncodingSortField(field=field, op="min") for field in ("column", "line"))
    x = alt.X("board:N", sort=by_column, axis=layout.column_axis)
    y, y_right = (alt.Y("model:N", sort=by_line, axis=axis) for axis in (alt.Axis(**BARE), layout.right_axis))
    ticks = [-3, -2, -1, 0, 1, 2, 3]
    colour = alt.Color(
        "ratio:Q", scale=alt.Scale(domain=[-REACH, -REACH / 2, 0, REACH / 2, REACH], range=TINTS),
        legend=alt.Legend(
            title="error / error of the best trivial predictor", values=ticks, gradientLength=GRADIENT, titleLimit=0,
            labelExpr="datum.value < 0 ? '1/' + pow(2, -datum.value) : pow(2, datum.value)",
        ),
    )  # fmt: skip
    base = alt.Chart(as_data(marks)).encode(x=x, tooltip=alt.Tooltip("tip:N", title=" "))
    faded = alt.Opacity("opacity:Q", scale=None)
    text_colour = alt.condition("datum.strong", alt.value(LIGHT), alt.value(DARK))
    cell_text = alt.ExprRef(f"width < {ROOM * len(boards)} ? replace(datum.text, '0.', '.') : datum.text")
    cells = alt.layer(
        base.mark_rect(fill=LIGHT).encode(y=y),  # so that pale cells are pale on a dark page too
        base.mark_rect(stroke=FAINT, strokeOpacity=0.3).encode(y=y, color=colour, opacity=faded),
    )
    texts = base.mark_text(fontSize=width_condition(len(boards), 11, 9), text=cell_text)
    chart = alt.layer(cells, texts.encode(y=y_right, color=text_colour)).resolve_axis(y="independent")
    summary = f"Error of {len(models)} models on {len(boards)} boards over that of the best trivial predictor"
    return frame_chart(chart, summary, round(layout.above) + LEGEND + LINE * len(models))


def _error_ratio(row: Row, predictor: Row) -> float | None:
    """Return the error of a row's median over a predictor's; None if one is missing or without ratio."""
    if row.median is None or predictor.mean is None or row.scale.perfect is None:
        return None
    return max(row.scale.error(row.median), NO_ERROR) / max(row.scale.error(predictor.mean), NO_ERROR)


def _describe_cell(model: str, board: str, row: Row, ratio: float, predictor: Row) -> str:
    """Return a cell in a sentence."""
    comparison = f"{ratio:.2g} times the error of {predictor.title}, the best trivial predictor"
    return f"{model} on {board}: {metric_words(row.metric)} {marked_median(row)}, {comparison}"
