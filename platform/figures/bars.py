"""Stacked bars of costs by phase."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import altair as alt

from longwave.platform.figures.frame import AXIS, LEGEND, LINE, Figure, as_data, frame_chart, list_names

PARTS = {"search": "#086AA5", "retrain": "#D8580A"}


@dataclass(frozen=True)
class BarPart:
    """A part of one bar: name of the bar, phase, amount, and tooltip."""

    name: str
    phase: str
    amount: float
    tip: str


def cost_bars(parts: Sequence[BarPart], title: str) -> Figure:
    """Return one bar per name, longest first, with parts coloured by phase."""
    total: dict[str, float] = {}
    for part in parts:
        total[part.name] = total.get(part.name, 0.0) + part.amount
    order = sorted(total, key=lambda name: -total[name])
    colour = alt.Color(
        "phase:N", scale=alt.Scale(domain=[*PARTS], range=[*PARTS.values()]), legend=alt.Legend(title=None)
    )
    chart = alt.Chart(as_data(vars(part) for part in parts)).mark_bar().encode(
        x=alt.X("amount:Q", axis=alt.Axis(title=title, orient="top", tickCount=8)),
        y=alt.Y("name:N", sort=order, axis=alt.Axis(title=None, ticks=False, domain=False, labelOverlap=False)),
        color=colour, tooltip=alt.Tooltip("tip:N", title=" "),
    )  # fmt: skip
    return frame_chart(chart, f"{title}, most first: {list_names(order)}", AXIS + LEGEND + LINE * max(1, len(order)))
