"""The page's figures. Plain plotly; each takes records and returns a figure."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

import plotly.graph_objects as go  # type: ignore[import-untyped]

from longwave.dashboard.cells import measured
from longwave.platform.boards.row import Row
from longwave.platform.boards.texts import median, quoted, result, seeds
from longwave.platform.records.identity import digest
from longwave.platform.records.run import Point
from longwave.platform.records.stored import Trial

COLOURS = {
    "lem": "#2B83C6",
    "cornn": "#DD6A1F",
    "unicornn": "#B8860B",
    "lstm": "#1E9E77",
    "chrono_lstm": "#7FB069",
    "gru": "#B565A7",
}
"""Colour of a model, the same everywhere; told apart by the colour-blind too."""
OTHERS = ("#8C6D46", "#5D8AA8", "#A0526B", "#7A7F2E")
NEUTRAL = "#868E97"
FONT = {"size": 13}
DASHES = ("solid", "dash", "dot", "dashdot", "longdash")


def colour(model: str, trivial: bool = False) -> str:
    """Return the fixed colour of a model; trivial predictors are grey."""
    return NEUTRAL if trivial else COLOURS.get(model, OTHERS[int(digest(model), 16) % len(OTHERS)])


def forest(rows: Sequence[Row], names: Sequence[str], trials: Mapping[str, Trial], chosen: int, log: bool) -> go.Figure:
    """Return the medians with their intervals, each retraining as a dash, published numbers as hollow diamonds.

    An interval that ends at a diverged seed runs to the worst number of the figure, where an arrow stands.

    Args:
        rows: Rows of one board, best first; names: Their labels.
        trials: Retrainings by id.
        chosen: Place of the row whose label is bold.
        log: Whether the axis is logarithmic.
    """
    figure = go.Figure()
    ticks = [f"<b>{name}</b>" if k == chosen else name for k, name in enumerate(names)]
    values = [v for row in rows for v in _numbers(row, trials) if v > 0 or not log]
    edge = (max if rows[0].goal == "min" else min)(values, default=0.0)
    for place, row in enumerate(rows):
        _row(figure, row, place, trials, edge)
    for name, symbol in (("median with its interval", "circle"), ("one retraining", "line-ns-open")):
        figure.add_scatter(x=[None], y=[None], mode="markers", name=name, marker=_marker(symbol, NEUTRAL))
    if any(row.published for row in rows):
        marker = _marker("diamond-open", NEUTRAL)
        figure.add_scatter(x=[None], y=[None], mode="markers", name="published", marker=marker)
    figure.update_yaxes(
        tickvals=list(range(len(rows))), ticktext=ticks, range=[len(rows) - 0.5, -0.5], showgrid=False, zeroline=False
    )
    figure.update_xaxes(title=f"test {measured(rows[0])}", showgrid=True, zeroline=False, **_axis(values, log))
    _layout(figure, 100 + 32 * len(rows), f"forest {len(rows)} {log}")
    return figure


def curves(trials: Sequence[Trial], points: Sequence[Point], what: str, title: str, log: bool) -> go.Figure:
    """Return one line a retraining by epoch: a dot marks the best epoch, a cross where one diverged or failed.

    Args:
        trials: Retrainings of one row.
        points: Their epochs.
        what: ``valid`` or ``loss``; title: How the axis is named.
        log: Whether the y axis is logarithmic.
    """
    figure = go.Figure()
    by_trial: dict[str, list[Point]] = {}
    for point in points:
        if math.isfinite(getattr(point, what)):
            by_trial.setdefault(point.trial, []).append(point)
    for place, trial in enumerate(trials):
        _curve(figure, trial, place, by_trial.get(trial.config.id, []), what)
    figure.update_xaxes(
        title="epoch (dot: best on validation, cross: diverged or failed)", showgrid=False, zeroline=False
    )
    values = [getattr(p, what) for kept in by_trial.values() for p in kept]
    figure.update_yaxes(title=title, zeroline=False, **_axis(values, log))
    _layout(figure, 400, f"curves {what} {log} {trials[0].config.row}")
    return figure


def _row(figure: go.Figure, row: Row, place: int, trials: Mapping[str, Trial], edge: float) -> None:
    """Draw one line of the forest plot; see ``_middle`` for ``edge``."""
    tint, scores = colour(row.model, row.trivial), _scores(row, trials)
    figure.add_scatter(
        x=scores, y=[place] * len(scores), mode="markers", showlegend=False, opacity=0.75,
        marker={"symbol": "line-ns-open", "size": 13, "color": tint, "line": {"width": 1.5, "color": tint}},
        hovertemplate=f"{row.title}, one retraining<br>%{{x:.5g}}<extra></extra>",
    )  # fmt: skip
    for number in row.published:
        figure.add_scatter(
            x=[number["value"]], y=[place], mode="markers", showlegend=False, marker=_marker("diamond-open", tint),
            hovertemplate=f"{row.title}, published: {quoted(number)}<extra></extra>",
        )  # fmt: skip
    if row.kind != "published":
        _middle(figure, row, place, tint, edge)


def _middle(figure: go.Figure, row: Row, place: int, tint: str, edge: float) -> None:
    """Draw a row's median with its interval, to ``edge`` where that ends at a diverged seed; or say that none is."""
    middle = row.mean if row.trivial else row.median
    if middle is None:
        figure.add_annotation(
            text=f"no median: {seeds(row)}",
            x=0.01,
            xref="paper",
            y=place,
            showarrow=False,
            xanchor="left",
            font=FONT,
        )
        return
    bars: dict[str, object] = {}
    if row.median_level is not None:
        ends = [edge if end is None else end for end in (row.median_best, row.median_worst)]
        bars = {"type": "data", "symmetric": False, "thickness": 2, "width": 6, "color": tint}
        bars |= {"array": [max(ends) - middle], "arrayminus": [middle - min(ends)]}
    figure.add_scatter(
        x=[middle], y=[place], error_x=bars, mode="markers", showlegend=False, marker=_marker("circle", tint),
        hovertemplate=f"{row.title}<br>{result(row) if row.trivial else median(row)}<extra></extra>",
    )  # fmt: skip
    if bars and row.median_worst is None:
        arrow = "triangle-right" if row.goal == "min" else "triangle-left"
        figure.add_scatter(
            x=[edge], y=[place], mode="markers", showlegend=False, marker=_marker(arrow, tint),
            hovertemplate=f"{row.title}<br>ends at a diverged seed<extra></extra>",
        )  # fmt: skip


def _curve(figure: go.Figure, trial: Trial, place: int, points: Sequence[Point], what: str) -> None:
    """Draw one retraining: its line, and a mark where it ended or was best."""
    name = f"seed {trial.config.seed}" + ("" if trial.status == "ok" else f" ({trial.status})")
    tint, ok = colour(trial.config.model), trial.status == "ok"
    line = {"color": tint, "width": 2, "dash": DASHES[place % len(DASHES)]}
    figure.add_scatter(
        x=[p.epoch for p in points], y=[getattr(p, what) for p in points], name=name, line=line,
        mode="lines" if len(points) > 1 else "lines+markers", legendgroup=name, opacity=1 if ok else 0.6,
        hovertemplate=f"{name}<br>epoch %{{x}}: %{{y:.5g}}<extra></extra>",
    )  # fmt: skip
    best = [p for p in points if trial.run and p.epoch == trial.run.best_epoch] if ok else []
    broken = points[-1:] if trial.status in ("diverged", "failed") else []
    for marked, symbol, word in ((best, "circle", "best epoch"), (broken, "x", trial.status)):
        if marked:
            figure.add_scatter(
                x=[marked[0].epoch], y=[getattr(marked[0], what)], mode="markers", legendgroup=name, showlegend=False,
                marker=_marker(symbol, tint), hovertemplate=f"{name}<br>{word} %{{x}}: %{{y:.5g}}<extra></extra>",
            )  # fmt: skip


def _scores(row: Row, trials: Mapping[str, Trial]) -> list[float]:
    runs = [trials[k].run for k in row.trials if k in trials]
    return [run.test for run in runs if run and run.status == "ok" and run.test is not None]


def _numbers(row: Row, trials: Mapping[str, Trial]) -> list[float]:
    trivial = [row.mean] if row.trivial and row.mean is not None else []
    return [*_scores(row, trials), *trivial, *(float(p["value"]) for p in row.published)]


def _axis(values: Sequence[float], log: bool) -> dict[str, object]:
    """Return an axis; a logarithmic one has ticks at 1, 2 and 5 of each decade, or at decades where there are many."""
    positive = [v for v in values if v > 0]
    if not log or not positive:
        return {"type": "linear"}
    decades = range(math.floor(math.log10(min(positive))), math.floor(math.log10(max(positive))) + 2)
    steps = (1, 2, 5) if len(decades) <= 4 else (1,)
    ticks = [float(f"{step}e{decade}") for decade in decades for step in steps]
    return {"type": "log", "tickvals": ticks, "ticktext": [f"{tick:g}" for tick in ticks]}


def _marker(symbol: str, tint: str) -> dict[str, object]:
    return {
        "symbol": symbol,
        "size": 15 if symbol == "diamond-open" else 9,
        "color": tint,
        "line": {"width": 2, "color": tint},
    }


def _layout(figure: go.Figure, height: int, revision: str) -> None:
    """Set what all figures share; ``revision`` keeps a reader's zoom while fresh data comes in."""
    figure.update_layout(
        height=height, margin={"l": 8, "r": 8, "t": 36, "b": 8}, uirevision=revision, hovermode="closest",
        legend={"orientation": "h", "y": 1.0, "yanchor": "bottom", "x": 0, "xanchor": "left", "font": FONT},
    )  # fmt: skip
    figure.update_xaxes(tickfont=FONT, title_font=FONT)
    figure.update_yaxes(tickfont=FONT, title_font=FONT)
