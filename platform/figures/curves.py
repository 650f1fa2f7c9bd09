"""Learning curves: one line per retraining, by epoch."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from statistics import quantiles

import altair as alt

from longwave.platform.figures.frame import Figure, Mark, as_data, frame_chart, number_axis, thin_points
from longwave.platform.figures.legend import legend_height, line_styles
from longwave.platform.figures.palette import family_colour
from longwave.platform.figures.panels import PAIR, points_by_trial
from longwave.platform.records.run import Point
from longwave.platform.records.stored import Trial
from longwave.platform.wording import describe_count

HEIGHT = 320
FEWEST = 3
"""Fewest retrainings for which the median is drawn."""
OF = {"valid": "validation", "loss": "training loss"}
"""Quantities that a curve can show."""


def curves(trials: Sequence[Trial], points: Sequence[Point], family: str, what: str, title: str, log: bool) -> Figure:
    """Return a thin line per retraining, and where three or more reached an epoch their median with the band of their
    middle half. A dot marks the best epoch of a retraining, a cross its last one if it diverged or failed. Points of
    long lines are thinned, but both ends and the best epoch are kept.

    Args:
        trials: Retrainings of one row.
        points: Their epochs, by trial and epoch.
        family: Family of their model.
        what: ``valid`` or ``loss``.
        title: Title of the axis.
        log: Whether the y axis is logarithmic; values that are not positive are then left out.
    """
    shown = _shown_by_trial(points, what, log)
    marks = [mark for trial in trials for mark in _line(trial, shown.get(trial.config.id, []))]
    numbers = [mark["value"] for mark in marks]
    lines, ends = ([m for m in marks if (m["mark"] == "") is plain] for plain in (True, False))
    y = alt.Y("value:Q", **number_axis(title, numbers, log))
    x = alt.X("epoch:Q", scale=alt.Scale(nice=False), axis=alt.Axis(title="epoch", grid=False, tickMinStep=1))
    median_marks = _middle_half([dict(shown.get(trial.config.id, [])) for trial in trials])
    width, faint = (0.8, 0.5) if median_marks else (1.75, 1.0)
    tip = alt.Tooltip("tip:N", title=" ")
    shape = alt.Shape("mark:N", scale=alt.Scale(domain=["best", "broken"], range=["circle", "cross"]), legend=None)
    chart = alt.layer(
        alt.Chart(as_data(median_marks)).mark_area(color=family_colour(family), opacity=0.2).encode(
            x=x, y=alt.Y("low:Q", **number_axis(title, numbers, log)), y2="high:Q"),
        alt.Chart(as_data(lines)).mark_line(color=family_colour(family), strokeWidth=width, opacity=faint).encode(
            x=x, y=y, detail="name:N", tooltip=tip),
        alt.Chart(as_data(median_marks)).mark_line(color=family_colour(family), strokeWidth=2.5).encode(
            x=x, y=y, tooltip=tip),
        alt.Chart(as_data(ends)).mark_point(
            filled=True, size=30 if median_marks else 80, opacity=1, color=family_colour(family)).encode(
            x=x, y=y, shape=shape, angle=alt.condition("datum.mark == 'broken'", alt.value(45), alt.value(0)),
            tooltip=tip),
    )  # fmt: skip
    middle_half = "; thick the median, the band the middle half" if median_marks else ""
    summary = (
        f"{title} by epoch, one line per retraining, a dot at its best epoch, a cross where it diverged{middle_half}"
    )
    return frame_chart(chart, summary, HEIGHT)


def running_curves(
    trials: Sequence[Trial], points: Sequence[Point], families: Mapping[str, str], title: str, log: bool
) -> Figure | None:
    """Return the validation metric by epoch of trials in training, one line each, in the colour of the model's family;
    None without epochs.

    Args:
        trials: Trials of one task.
        points: Their epochs, by trial and epoch.
        families: Families by model.
        title: Title of the axis.
        log: Whether the y axis is logarithmic; values that are not positive are then left out.
    """
    marks, shown_by_trial = list[Mark](), _shown_by_trial(points, "valid", log)
    for trial in trials:
        shown = shown_by_trial.get(trial.config.id, [])
        marks += [
            {"trial": trial.config.id, "model": trial.about.model_in_print, "epoch": epoch, "value": value,
             "tip": f"{trial.about.model_in_print}, trial {trial.config.id[:8]}, epoch {epoch}: {value:.5g}"}
            for epoch, value in (shown[k] for k in thin_points(len(shown)))
        ]  # fmt: skip
    if not marks:
        return None
    colours = {
        trial.about.model_in_print: family_colour(families.get(trial.config.model, ""))
        for trial in sorted(trials, key=lambda trial: trial.about.model_in_print)
        if any(mark["model"] == trial.about.model_in_print for mark in marks)
    }
    base = alt.Chart(as_data(marks)).encode(
        x=alt.X("epoch:Q", scale=alt.Scale(nice=False), axis=alt.Axis(title="epoch", grid=False, tickMinStep=1)),
        y=alt.Y("value:Q", **number_axis(title, [mark["value"] for mark in marks], log)),
        detail="trial:N", tooltip=alt.Tooltip("tip:N", title=" "),
    )  # fmt: skip
    chart = base.mark_line(strokeWidth=1.2, point=alt.OverlayMarkDef(size=12)).encode(**line_styles("model:N", colours))
    return frame_chart(
        chart,
        f"{title} by epoch of {describe_count(len(trials), 'trial')} in training",
        HEIGHT + legend_height(len(colours)),
    )


def _middle_half(lines: Sequence[Mapping[int, float]]) -> list[Mark]:
    """Return median and quartiles by epoch, over at least ``FEWEST`` retrainings with a value at that epoch.

    Args:
        lines: The values of each retraining by epoch.
    """
    counts = Counter(epoch for line in lines for epoch in line)
    epochs = sorted(epoch for epoch, count in counts.items() if count >= FEWEST)
    marks: list[Mark] = []
    for epoch in (epochs[k] for k in thin_points(len(epochs))):
        values = [line[epoch] for line in lines if epoch in line]
        low, median, high = quantiles(values, n=4, method="inclusive")
        tip = f"epoch {epoch}: median {median:.5g}, middle half {low:.5g} to {high:.5g}, {len(values)} seeds"
        marks.append({"mark": "median", "epoch": epoch, "value": median, "low": low, "high": high, "tip": tip})
    return marks


def _shown_by_trial(points: Sequence[Point], what: str, log: bool) -> dict[str, list[PAIR]]:
    """Return the epochs and values that the y axis can show, by trial."""
    values = ((point.trial, point.epoch, getattr(point, what)) for point in points)
    return points_by_trial(line for line in values if math.isfinite(line[2]) and (line[2] > 0 or not log))


def _line(trial: Trial, shown: Sequence[PAIR]) -> Iterator[Mark]:
    """Yield the points of a retraining's line, then its dot or cross."""
    name = f"seed {trial.config.seed}" + ("" if trial.status == "ok" else f" ({trial.status})")
    best = trial.run.best_epoch if trial.run and trial.status == "ok" else None
    best_index = next((k for k, (epoch, _) in enumerate(shown) if epoch == best), None)
    common = {"name": f"seed {trial.config.seed}"}
    for k in thin_points(len(shown), always=() if best_index is None else (best_index,)):
        epoch, value = shown[k]
        yield {**common, "mark": "", "epoch": epoch, "value": value, "tip": f"{name}, epoch {epoch}: {value:.5g}"}
    if best_index is not None:
        epoch, value = shown[best_index]
        yield {
            **common,
            "mark": "best",
            "epoch": epoch,
            "value": value,
            "tip": f"{name}, best epoch {epoch}: {value:.5g}",
        }
    elif shown and trial.status in ("diverged", "failed"):
        epoch, value = shown[-1]
        yield {**common, "mark": "broken", "epoch": epoch, "value": value, "tip": f"{name} in epoch {epoch}"}
