"""The pairwise matrix: each row of a board against each other, compact for a few rows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import altair as alt

from longwave.platform.boards.pairs import Pair
from longwave.platform.boards.texts import estimate
from longwave.platform.figures.columns import BARE, ColumnNames
from longwave.platform.figures.frame import (
    FAINT,
    LEGEND,
    Figure,
    Mark,
    as_data,
    frame_chart,
    width_condition,
)

SQUARE = 44
"""Height of a row with two lines of text, in pixels."""
TINTS = ["#E3A27A", "#F2F2F2", "#86B4DA"]
"""From worse over equal to better, distinguishable by colour-blind readers, and light enough for dark text."""
DARK = "#10161C"
SIGNS = {"better": "better", "worse": "worse", "undecided": "≈"}


def matrix(pairs: Sequence[Pair], names: Mapping[str, str]) -> Figure | None:
    """Return each row against each column: the ratio of errors, and whether they differ significantly.

    Args:
        pairs: All ordered pairs of the rows shown, row by row.
        names: Unique labels by ``Row.key``.
    """
    order = list(dict.fromkeys(names[pair.a.key] for pair in pairs))
    if len(order) < 2:
        return None
    marks: list[Mark] = [
        {
            "line": names[pair.a.key],
            "column": names[pair.b.key],
            "better": pair.better.value,
            "factor": f"{pair.ratio.value:.2g}" if pair.ratio else estimate(pair.better),
            "word": SIGNS[pair.word],
            "tip": describe_pair(pair, names),
        }
        for pair in pairs
    ]
    layout = ColumnNames.of(order, order)
    x = alt.X("column:N", sort=order, axis=layout.column_axis)
    y, y_right = (alt.Y("line:N", sort=order, axis=axis) for axis in (alt.Axis(**BARE), layout.right_axis))
    base = alt.Chart(as_data(marks)).encode(x=x, tooltip=alt.Tooltip("tip:N", title=" "))
    colour = alt.Color(
        "better:Q", scale=alt.Scale(domain=[0, 0.5, 1], range=TINTS),
        legend=alt.Legend(title="P(row is better)", format=".0%"),
    )  # fmt: skip
    factor_size, word_size = alt.ExprRef(f"min(11, width / {2.2 * len(order):.4g})"), width_condition(len(order), 10, 0)
    cells = alt.layer(
        base.mark_rect(stroke=FAINT, strokeOpacity=0.3).encode(y=y, color=colour),
        base.mark_text(dy=-8, color=DARK, fontSize=factor_size).encode(y=y, text="factor:N"),
    )
    words = base.mark_text(dy=8, color=DARK, fontSize=word_size).encode(
        y=y_right, text="word:N", opacity=alt.value(0.85)
    )
    chart = alt.layer(cells, words).resolve_axis(y="independent")
    summary = f"Each row against each column, error of the row over that of the column: {', '.join(order)}"
    return frame_chart(chart, summary, LEGEND + round(layout.above) + SQUARE * len(order))


def describe_pair(pair: Pair, names: Mapping[str, str]) -> str:
    """Return a pair in a sentence."""
    a, b = names[pair.a.key], names[pair.b.key]
    factor = f", its error × {estimate(pair.ratio)} of the other's" if pair.ratio else ""
    decided = pair.word != "undecided"
    verdict = f"{a} is {pair.word} than {b}" if decided else f"{a} and {b} do not differ significantly"
    return f"{verdict}: a seed of {a} is the better one with probability {estimate(pair.better)}{factor}"
