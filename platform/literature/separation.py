"""Whether a task still tells models apart: its best trivial predictor beside the best number that papers print."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from longwave.platform.literature.published import as_printed, published_rows
from longwave.platform.statistics.scale import Scale


def printed_for(task: str, variant: str, metric: str) -> list[Mapping[str, Any]]:
    """Return the published numbers of a task's variant that are of ``metric``."""
    place = (task, variant, metric)
    return [number for number in published_rows() if (number["task"], number["ours"], number["metric"]) == place]


def separation(scores: Mapping[str, float], printed: Iterable[Mapping[str, Any]], scale: Scale) -> str:
    """Return in a sentence how far trivial gets, and whether the task still separates models.

    The rule: a task is saturated where the error of its best trivial predictor is no larger than that of the best
    printed number.

    Args:
        scores: Metric of each trivial predictor.
        printed: Published numbers of the same variant and metric.
        scale: How metrics become errors.
    """
    if not scores:
        return "No trivial predictor can run here."
    name = min(scores, key=lambda each: scale.error(scores[each]))
    far = f"Trivial gets to {scores[name]:.4g}, by {name}"
    best = min(printed, key=lambda number: scale.error(number["value"]), default=None)
    if best is None:
        return f"{far}; there is no printed number to compare."
    ours, theirs = scale.error(scores[name]), scale.error(best["value"])
    beside = f"the best printed number, {as_printed(best['printed'])} of {best['model']},"
    if ours <= theirs:
        return f"{far}: no worse than {beside} so the task is saturated by {name} and separates no models."
    times = f" {ours / theirs:.3g} ×" if theirs > 0 else ""
    return f"{far}:{times or ' above'} the error of {beside} so the task still separates models."
