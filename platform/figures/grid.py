"""Coloured cells of models by boards: what was run where."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import altair as alt

from longwave.platform.figures.columns import BARE, ColumnNames
from longwave.platform.figures.frame import FAINT, LINE, Figure, as_data, frame_chart
from longwave.platform.figures.legend import legend_height, names_abreast
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
    layout = ColumnNames.of(lines, columns)
    y, y_right = (alt.Y("line:N", sort=[*lines], axis=axis) for axis in (alt.Axis(**BARE), layout.right_axis))
    x = alt.X("column:N", sort=[*columns], axis=layout.column_axis)
    base = alt.Chart(as_data(vars(cell) for cell in cells)).encode(x=x, tooltip=alt.Tooltip("tip:N", title=" "))
    legend = alt.Legend(title=None, columns=names_abreast([*STATES], layout.columns_width))
    colour = alt.Color("state:N", scale=alt.Scale(domain=[*STATES], range=[*STATES.values()]), legend=legend)
    chart = alt.layer(
        base.mark_rect(stroke=FAINT, strokeOpacity=0.3).encode(y=y, color=colour),
        base.mark_text(fontSize=11, color="#10161C").encode(y=y_right, text="word:N"),
    ).resolve_axis(y="independent")
    return frame_chart(
        chart,
        f"What was run: {len(lines)} models on {len(columns)} boards",
        round(layout.above) + legend_height(len(STATES)) + LINE * max(1, len(lines)),
    )
