"""The ranges from which a row's numbers were drawn, by the settings of its sweeps and the catalogue."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from longwave.models.base.param import Param, ranges_on_task
from longwave.platform.records.group import SearchedRange


def list_ranges(
    model: str,
    task: str,
    contents: Iterable[Mapping[str, Any]],
    model_facts: Mapping[str, Any],
    task_facts: Mapping[str, Any],
) -> list[SearchedRange]:
    """Return the ranges from which searches of a model on a task drew its numbers.

    Args:
        model, task: Registry keys.
        contents: Settings of the sweeps that searched, as the store keeps them.
        model_facts, task_facts: Their facts in the catalogue; empty if it has none.
    """
    ranges: dict[str, SearchedRange] = {}
    for content in contents:
        for searched in _ranges_of_sweep(model, task, content, model_facts, task_facts):
            earlier = ranges.get(searched.name, searched)
            low, high = min(earlier.low, searched.low), max(earlier.high, searched.high)
            time_scale = earlier.time_scale or searched.time_scale
            ranges[searched.name] = SearchedRange(searched.name, low, high, searched.log and low > 0, time_scale)
    return list(ranges.values())


def list_params(model_facts: Mapping[str, Any]) -> list[Param]:
    """Return the hyper-parameters of a model in the catalogue, with their ranges."""
    return [Param.from_dict(param) for param in model_facts.get("params", ())]


def describe_time_scales(ranges: Sequence[SearchedRange]) -> list[str]:
    """Return which ranges follow from the task's time scale: ``range of dt from the task's time scale, 12 steps``."""
    names = [searched.name for searched in ranges if searched.time_scale]
    scale = max((searched.time_scale for searched in ranges), default=0)
    plural = "s" if len(names) > 1 else ""
    return [f"range{plural} of {' and '.join(names)} from the task's time scale, {scale} steps"] if names else []


def _ranges_of_sweep(
    model: str, task: str, content: Mapping[str, Any], model_facts: Mapping[str, Any], task_facts: Mapping[str, Any]
) -> Iterable[SearchedRange]:
    """Yield the ranges of a sweep, then those of its second search."""
    uses_time_scale = content.get("rule") == 2 and task not in model_facts.get("papers_tasks", ())
    time_scale = task_facts.get("time_scale") if uses_time_scale else None
    params = list_params(model_facts)
    published = {name: tuple(ends) for name, ends in model_facts.get("ranges", {}).get(task, {}).items()}
    param_by_name = {p.name: p for p in ranges_on_task(params, published, "", time_scale)}
    file_space = content.get("space", {}).get(model, {})
    for declared in params:
        p = param_by_name[declared.name]
        if p.searched and p.name not in file_space:
            yield SearchedRange(p.name, p.low, p.high, p.log, (time_scale or 0) if p != declared else 0)
    wider = (content.get("wider") or {}).get("space", {}).get(model, {})
    for name, choice in (*file_space.items(), *wider.items()):
        log = choice.get("log") if isinstance(choice, Mapping) else None
        if log is None and name in param_by_name:
            log = param_by_name[name].log
        if isinstance(choice, Mapping) and log is not None:
            yield SearchedRange(name, choice["low"], choice["high"], log)
