"""A search while it runs: the best so far, and what a search of as many trials is expected to find."""

from __future__ import annotations

import altair as alt

from longwave.platform.boards.progress import SearchProgress
from longwave.platform.figures.frame import FAINT, Figure, Mark, as_data, frame_chart, number_axis, thin_points
from longwave.platform.figures.palette import family_colour

HEIGHT = 260


def best_so_far(progress: SearchProgress, family: str, metric: str, log: bool) -> Figure | None:
    """Return the best validation metric by the number of trials that ended, and the expected best with its band.

    Args:
        progress: The search.
        family: Of its model.
        metric: How the metric is written.
        log: Whether the axis is logarithmic; what is not positive is left out then.
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
            "tip": f"{k} trials are expected to find {e.value:.4g}",
        }
        for k, e in enumerate(progress.expected, 1)
        if e.low is not None and (e.low > 0 or not log)
    ]
    steps, curve = ([marks[k] for k in thin_points(len(marks))] for marks in (steps, curve))
    numbers = [float(m[end]) for m in curve for end in ("low", "high")] + [float(m["value"]) for m in steps]
    of_y = number_axis(f"best validation {metric}", numbers, log)
    x = alt.X("k:Q", scale=alt.Scale(nice=False), axis=alt.Axis(title="search trials that ended", tickMinStep=1))
    tip = alt.Tooltip("tip:N", title=" ")
    base, tint = alt.Chart(as_data(curve)), family_colour(family)
    made = alt.layer(
        base.mark_area(opacity=0.18, color=FAINT).encode(x=x, y=alt.Y("low:Q", **of_y), y2="high:Q"),
        base.mark_line(color=FAINT, strokeDash=[5, 4]).encode(x=x, y=alt.Y("value:Q", **of_y), tooltip=tip),
        alt.Chart(as_data(steps)).mark_line(interpolate="step-after", color=tint, point={"color": tint}).encode(
            x=x, y=alt.Y("value:Q", **of_y), tooltip=tip),
    )  # fmt: skip
    summary = f"Best validation {metric} so far by trials that ended; dashed, with the band of 80 %: what is expected"
    return frame_chart(made, summary, HEIGHT)
