"""Progress of a search: the best so far, and the median best of a search of this length."""

from __future__ import annotations

import altair as alt

from longwave.platform.boards.progress import SearchProgress
from longwave.platform.figures.frame import (
    FAINT,
    Figure,
    Mark,
    as_data,
    frame_chart,
    number_axis_without_outliers,
    thin_points,
)
from longwave.platform.figures.palette import family_colour

HEIGHT = 260


def best_so_far(progress: SearchProgress, family: str, metric: str, log: bool) -> Figure | None:
    """Return the best validation metric against the number of ended trials, and the median best with its band if the
    trials ended in a random order.

    Args:
        progress: The search.
        family: Family of its model.
        metric: Text of the metric.
        log: Whether the axis is logarithmic; values that are not positive are then left out.
    """
    steps: list[Mark] = [
        {"k": k, "value": best, "tip": f"best of the first {k} trials: {best:.4g}"}
        for k, best in enumerate(progress.best, 1)
        if best is not None and (best > 0 or not log)
    ]
    if not steps:
        return None
    curve: list[Mark] = [
        {
            "k": k,
            "value": e.value,
            "low": e.low,
            "high": e.high,
            "tip": f"the median search of {k} trials finds {e.value:.4g}",
        }
        for k, e in enumerate(() if progress.halved else progress.curve, 1)
        if e.low is not None and (e.low > 0 or not log)
    ]
    steps, curve = ([marks[k] for k in thin_points(len(marks))] for marks in (steps, curve))
    numbers = [float(m[end]) for m in curve for end in ("low", "high")] + [float(m["value"]) for m in steps]
    goal = progress.ended[0].about.goal
    y_axis = number_axis_without_outliers(f"best validation {metric}", numbers, goal, log)
    x = alt.X("k:Q", scale=alt.Scale(nice=False), axis=alt.Axis(title="search trials that ended", tickMinStep=1))
    tip = alt.Tooltip("tip:N", title=" ")
    base, colour = alt.Chart(as_data(curve)), family_colour(family)
    y, low = (alt.Y(f"{name}:Q", **y_axis) for name in ("value", "low"))
    chart = alt.layer(
        base.mark_area(opacity=0.18, color=FAINT, clip=True).encode(x=x, y=low, y2="high:Q"),
        base.mark_line(color=FAINT, strokeDash=[5, 4], clip=True).encode(x=x, y=y, tooltip=tip),
        alt.Chart(as_data(steps)).mark_line(
            interpolate="step-after", color=colour, point={"color": colour}, clip=True).encode(x=x, y=y, tooltip=tip),
    )  # fmt: skip
    summary = f"Best validation {metric} so far by trials that ended"
    if curve:
        summary += "; dashed: the median over all orders of these trials, with the band of 80 % of them"
    elif progress.halved:
        summary += ", without the median over all orders: successive halving ended the worse trials first"
    return frame_chart(chart, summary, HEIGHT)
