"""From which ranges the numbers of a row were drawn, by its sweeps' settings and by what the catalogue says."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from longwave.models.base.param import Param, ranges_on_task
from longwave.platform.records.group import SearchedRange


def list_ranges(
    model: str,
    task: str,
    contents: Iterable[Mapping[str, Any]],
    of_model: Mapping[str, Any],
    of_task: Mapping[str, Any],
) -> list[SearchedRange]:
    """Return the ranges from which searches of a model on a task drew its numbers.

    Args:
        model, task: Registry keys.
        contents: Settings of the sweeps that searched, as the store keeps them.
        of_model, of_task: What the catalogue says of them; empty where it says nothing.
    """
    ranges: dict[str, SearchedRange] = {}
    for content in contents:
        for drawn in _ranges_of_sweep(model, task, content, of_model, of_task):
            known = ranges.get(drawn.name, drawn)
            low, high = min(known.low, drawn.low), max(known.high, drawn.high)
            time_scale = known.time_scale or drawn.time_scale
            ranges[drawn.name] = SearchedRange(drawn.name, low, high, drawn.log, time_scale)
    return list(ranges.values())


def describe_time_scales(ranges: Sequence[SearchedRange]) -> list[str]:
    """Return which ranges follow from the task's time scale: ``range of dt from the task's time scale, 12 steps``."""
    names = [drawn.name for drawn in ranges if drawn.time_scale]
    scale = max((drawn.time_scale for drawn in ranges), default=0)
    plural = "s" if len(names) > 1 else ""
    return [f"range{plural} of {' and '.join(names)} from the task's time scale, {scale} steps"] if names else []


def _ranges_of_sweep(
    model: str, task: str, content: Mapping[str, Any], of_model: Mapping[str, Any], of_task: Mapping[str, Any]
) -> Iterable[SearchedRange]:
    """Yield the ranges of a sweep, then those of its second search."""
    in_time = content.get("rule") == 2 and task not in of_model.get("papers_tasks", ())
    time_scale = of_task.get("time_scale") if in_time else None
    params = [Param.from_dict(param) for param in of_model.get("params", ())]
    published = {name: tuple(ends) for name, ends in of_model.get("ranges", {}).get(task, {}).items()}
    known = {p.name: p for p in ranges_on_task(params, published, "", time_scale)}
    wished = content.get("space", {}).get(model, {})
    for before in params:
        p = known[before.name]
        if p.searched and p.name not in wished:
            yield SearchedRange(p.name, p.low, p.high, p.log, (time_scale or 0) if p != before else 0)
    wider = (content.get("wider") or {}).get("space", {}).get(model, {})
    for name, wish in (*wished.items(), *wider.items()):
        log = wish.get("log") if isinstance(wish, Mapping) else None
        if log is None and name in known:
            log = known[name].log
        if isinstance(wish, Mapping) and log is not None:
            yield SearchedRange(name, wish["low"], wish["high"], log)
