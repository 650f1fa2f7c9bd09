"""Scores against length or lag: one line per row, through the medians of its retrainings."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, replace

import altair as alt

from longwave.platform.boards.errors import in_errors, to_error
from longwave.platform.boards.row import Row
from longwave.platform.boards.texts import measured
from longwave.platform.figures.frame import Figure, as_data, frame_chart, least_shown, number_axis
from longwave.platform.figures.legend import legend_height, line_styles
from longwave.platform.figures.palette import family_colour
from longwave.platform.records.run import Measure
from longwave.platform.records.stored import Trial
from longwave.platform.statistics.median import median
from longwave.platform.wording import describe_count

HEIGHT = 300


@dataclass(frozen=True)
class LagScore:
    """The score of a row at one length or lag.

    Attributes:
        row: The row.
        name: The model's name in print, with its settings if the board has several rows of it.
        axis, x: Name of the axis, such as ``"steps ahead"``, and the length or lag.
        median: Median over the retrainings, a diverged one counted as worst.
        n: Number of retrainings.
    """

    row: Row
    name: str
    axis: str
    x: float
    median: float
    n: int


def scores_by_lag(rows: Sequence[Row], trials: Sequence[Trial]) -> list[LagScore]:
    """Return the medians of each current row at each length or lag measured by its task; empty if it measures none. A
    row of which half of the seeds diverged has no median.

    Args:
        rows: Rows of one board.
        trials: Their retrainings.
    """
    ended = {trial.config.id: trial for trial in trials if trial.status == "ok"}
    shown, scores = [row for row in reversed(rows) if row.current and row.trials], []
    rows_of_model = Counter(row.model_title for row in shown)
    for row in shown:
        name = row.model_title if rows_of_model[row.model_title] == 1 else row.label
        values = defaultdict[tuple[str, float], list[float]](list)
        for measure in (measure for k in row.counted_trials if k in ended for measure in _along_axis(ended[k])):
            values[measure.x_name, measure.x].append(measure.value)
        diverged = [None for seed in row.seeds if seed is None]
        for lag, lag_values in sorted(values.items()):
            of_all = [*lag_values, *diverged]
            if (middle := median(of_all, row.scale).value) is not None:
                scores.append(LagScore(row, name, *lag, middle, len(of_all)))
    return scores


def against_lag(scores: Sequence[LagScore], log: bool) -> Figure | None:
    """Return a figure of the scores of one board with one line per row; None if there are none.

    Args:
        scores: Of one board.
        log: Whether the y axis is logarithmic; accuracies are then shown as errors.
    """
    if not scores:
        return None
    if log:
        scores = [replace(s, row=in_errors(s.row), median=to_error(s.row, s.median)) for s in scores]
    least = least_shown([score.median for score in scores], log)
    marks = [
        {"model": score.name, "x": score.x, "value": max(score.median, least), "tint": family_colour(score.row.family),
         "tip": f"{score.name}, {score.axis} {score.x:g}: median {score.median:.4g}"
                f" of {describe_count(score.n, 'seed')}"}
        for score in scores
    ]  # fmt: skip
    row, axis = scores[0].row, scores[0].axis
    metric = f"test {measured(row)}"
    ticks = alt.Axis(title=axis, values=sorted({score.x for score in scores}), format="~g", labelOverlap=True)
    x = alt.X("x:Q", scale=alt.Scale(type="log", nice=False, padding=10), axis=ticks)
    y = alt.Y("value:Q", **number_axis(metric, [score.median for score in scores], log))
    colour_by_model = {score.name: family_colour(score.row.family) for score in reversed(scores)}
    base = alt.Chart(as_data(marks))
    chart = alt.layer(
        base.mark_line(strokeWidth=1.75).encode(x=x, y=y, **line_styles("model:N", colour_by_model)),
        base.mark_point(size=40).encode(
            x=x, y=y, stroke=alt.Stroke("tint:N", scale=None), tooltip=alt.Tooltip("tip:N", title=" ")),
    )  # fmt: skip
    return frame_chart(
        chart, f"T{metric[1:]} against {axis}, one line per row", HEIGHT + legend_height(len(colour_by_model))
    )


def _along_axis(trial: Trial) -> list[Measure]:
    """Return what a retraining measured at several lengths or lags: of several quantities, the first."""
    measures = [measure for measure in (trial.run.measures if trial.run else ()) if measure.x_name]
    return [measure for measure in measures if measure.key == measures[0].key]
