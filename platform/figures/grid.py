"""Coloured cells of models by boards: what was run where."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import altair as alt

from longwave.platform.figures.frame import (
    AXIS,
    FAINT,
    LEGEND,
    LINE,
    SLANT,
    Figure,
    as_data,
    frame_chart,
    width_condition,
)
from longwave.platform.figures.legend import names_abreast
from longwave.platform.figures.palette import DIVERGED

STATES = {"done": "#4AA578", "few seeds": "#A5C9B6", "unfinished": "#086AA5", "diverged": DIVERGED, "failed": "#8C5723",
          "not run": "#D5D9DD"}  # fmt: skip
"""Colours by state of a cell; each cell also has its state as a word."""


@dataclass(frozen=True)
class Square:
    """One cell: row, column, state, word and tooltip."""

    line: str
    column: str
    state: str
    word: str
    tip: str


def grid(cells: Sequence[Square], lines: Sequence[str], columns: Sequence[str]) -> Figure:
    """Return a table of coloured cells with words."""
    y = alt.Y(
        "line:N", sort=[*lines], axis=alt.Axis(title=None, ticks=False, domain=False, labelOverlap=False, grid=False)
    )
    x = alt.X(
        "column:N",
        sort=[*columns],
        axis=alt.Axis(
            title=None,
            labelOverlap=False,
            orient="top",
            labelAngle=width_condition(len(columns), SLANT, -90),
            grid=False,
            ticks=False,
            domain=False,
        ),
    )
    base = alt.Chart(as_data(vars(cell) for cell in cells)).encode(x=x, y=y, tooltip=alt.Tooltip("tip:N", title=" "))
    legend = alt.Legend(title=None, columns=names_abreast([*STATES]))
    colour = alt.Color("state:N", scale=alt.Scale(domain=[*STATES], range=[*STATES.values()]), legend=legend)
    chart = alt.layer(
        base.mark_rect(stroke=FAINT, strokeOpacity=0.3).encode(color=colour),
        base.mark_text(fontSize=11, color="#10161C").encode(text="word:N"),
    )
    return frame_chart(
        chart,
        f"What was run: {len(lines)} models on {len(columns)} boards",
        LEGEND + 2 * AXIS + LINE * max(1, len(lines)),
    )
