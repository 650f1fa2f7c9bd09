"""Whether a task separates models: its best trivial predictor compared with the best published number."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from longwave.platform.literature.published import as_printed, names, published_rows
from longwave.platform.statistics.scale import Scale
from longwave.tasks.base.variants import split_fresh

ABOUT = 0.95
"""Share of the error at chance level from which on a score counts as chance."""


def printed_for(task: str, variant: str, metric: str) -> list[Mapping[str, Any]]:
    """Return the published numbers of a task's variant that are of ``metric``."""
    key = (task, split_fresh(variant)[0], metric)
    return [number for number in published_rows() if (number["task"], number["ours"], number["metric"]) == key]


def separation(
    scores: Mapping[str, float], printed: Iterable[Mapping[str, Any]], scale: Scale, chance: float | None = None
) -> str:
    """Return a sentence on the best trivial predictor, and on whether published numbers are better: a task is saturated
    if the error of its best trivial predictor is no larger than that of the best published number.

    Args:
        scores: Metric of each trivial predictor.
        printed: Published numbers of the same variant and metric.
        scale: Scale that turns metrics into errors.
        chance: Metric of a predictor that ignores its inputs; None if unknown.
    """
    if not scores:
        return "No trivial predictor can run here."
    name = min(scores, key=lambda predictor: scale.error(scores[predictor]))
    trivial_error = scale.error(scores[name])
    at_chance = chance is not None and trivial_error >= ABOUT * scale.error(chance)
    trivial_text = f"Best trivial predictor: {name}, {scores[name]:.4g}{', about chance' if at_chance else ''}."
    best = min(printed, key=lambda number: scale.error(number["value"]), default=None)
    if best is None:
        return f"{trivial_text} No published number is comparable; the task's board shows how much better models are."
    best_error, model = scale.error(best["value"]), names().get(best["model"], best["model"])
    best_text = f"{as_printed(best['printed'])} of {model}"
    if trivial_error <= best_error:
        return (
            f"{trivial_text} That is no worse than the best published number, {best_text}, so the task is saturated: "
            "it separates no models."
        )
    factor = f"{trivial_error / best_error:.3g} ×" if best_error > 0 else "above"
    return (
        f"{trivial_text} That is {factor} the error of the best published number, {best_text}, so the task still "
        "separates models."
    )
