"""Numbers of a sweep's cells, for trials that come without a plan, as in bundles: by their settings."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from itertools import chain, count, product
from typing import Any

from longwave.platform.records.trial import FIELDS, TrialConfig
from longwave.platform.sweeps.file.schema import SweepFile


def cell_key(file: SweepFile, config: TrialConfig) -> tuple[Any, ...]:
    """Return what identifies the cell of a trial within a file: task, model, and the values that a grid varies."""
    chosen = {**config.params, **config.options}
    varied = (getattr(config, n) if n in FIELDS else chosen.get(n) for n in file.names_in_grid(config.model))
    return (config.task, config.model, *varied)


def number_cells(
    file: SweepFile, keys: Iterable[tuple[Any, ...]], known: Mapping[tuple[Any, ...], int]
) -> dict[tuple[Any, ...], int]:
    """Return the numbers of cells by ``cell_key``: their positions in the file, or another number if that is taken.

    Args:
        file: The sweep file.
        keys: Of the cells; a value that equals its default may be missing, None.
        known: Numbers that cells of the sweep have already.
    """
    in_file = [
        (task, model, *values)
        for task in file.variant_by_task
        for model in file.models
        for values in product(*file.grid_of(model).values())
    ]
    numbers, new = {**known}, [key for key in dict.fromkeys(keys) if key not in known]
    for key in new:
        if key in in_file and in_file.index(key) not in numbers.values():
            numbers[key] = in_file.index(key)
    for key in new:
        fitting = (
            number
            for number, other in enumerate(in_file)
            if len(key) == len(other) and all(a is None or a == b for a, b in zip(key, other, strict=True))
        )
        numbers.setdefault(key, next(k for k in chain(fitting, count()) if k not in numbers.values()))
    return numbers
