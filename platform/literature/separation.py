"""Whether a task separates models: its best trivial predictor compared with the best published number."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from longwave.platform.literature.published import as_printed, names, published_rows
from longwave.platform.statistics.scale import Scale
from longwave.tasks.base.searched import Searched
from longwave.tasks.base.variants import split_fresh

ABOUT = 0.95
"""Share of the error at chance level from which on a score counts as chance."""


def printed_for(task: str, variant: str, metric: str) -> list[Mapping[str, Any]]:
    """Return the published numbers of a task's variant that are of ``metric``."""
    key = (task, split_fresh(variant)[0], metric)
    return [number for number in published_rows() if (number["task"], number["ours"], number["metric"]) == key]


def separation(
    scores: Mapping[str, float],
    printed: Iterable[Mapping[str, Any]],
    scale: Scale,
    searched: Searched | None = None,
    chance: float | None = None,
) -> str:
    """Return a sentence on the best trivial predictor, and on whether the task separates models. A task is saturated if
    the error of its best trivial predictor is no larger than that of the best published number, or, if there is none,
    of the best model of a declared short search.

    Args:
        scores: Metric of each trivial predictor.
        printed: Published numbers of the same variant and metric.
        scale: Scale that turns metrics into errors.
        searched: The short search.
        chance: Metric of a predictor that ignores its inputs; None if unknown.
    """
    if not scores:
        return "No trivial predictor can run here."
    name = min(scores, key=lambda predictor: scale.error(scores[predictor]))
    trivial_error = scale.error(scores[name])
    at_chance = chance is not None and trivial_error >= ABOUT * scale.error(chance)
    trivial_text = f"Best trivial predictor: {name}, {scores[name]:.4g}{', about chance' if at_chance else ''}"
    best = min(printed, key=lambda number: scale.error(number["value"]), default=None)
    if best is not None:
        best_error = scale.error(best["value"])
        best_printed, note = (
            f"the best published number, {as_printed(best['printed'])} of {_called(best['model'])},",
            "",
        )
    elif searched is not None:
        best_error = scale.error(searched.score)
        best_printed, note = _reached(searched), f" {searched.remark}".rstrip()
    else:
        return f"{trivial_text}. No published number shows how much better models are; a sweep does."
    if trivial_error <= best_error:
        verdict = "so the task is saturated: it separates no models"
        return f"{trivial_text}. That is no worse than {best_printed} {verdict}.{note}"
    factor, verdict = (
        f" {trivial_error / best_error:.3g} ×" if best_error > 0 else "",
        "so the task still separates models",
    )
    return f"{trivial_text}. That is{factor or ' above'} the error of {best_printed} {verdict}.{note}"


def _reached(search: Searched) -> str:
    best, *others = map(_called, search.models)
    score = f"{search.score:.3g} ({search.low:.3g} to {search.high:.3g}) of {best}"
    return (
        f"the best of a short search ({search.sweep}, {search.seeds} seeds), {score}, ahead of {' and '.join(others)},"
    )


def _called(model: str) -> str:
    return names().get(model, model)
