"""Mackey-Glass: predict a chaotic series whose equation has a delay of 68 steps."""

from __future__ import annotations

from dataclasses import replace
from functools import cache

import numpy as np

from longwave.tasks.base.cache import generated
from longwave.tasks.base.data import Data
from longwave.tasks.base.sequences import Sequences
from longwave.tasks.base.spec import check_variant
from longwave.tasks.base.variants import split_fresh, with_fresh
from longwave.tasks.enso import FIRST, HORIZONS, POINTS, SIZES, STEPS, starts
from longwave.tasks.enso import TASK as ENSO
from longwave.tasks.formats.ode import States, forecast_data, solve_delayed, split_path

A, B, DELAY = 0.2, 0.1, 17.0
STEP = 0.25
"""Time units per step: 4000 steps reach time 1000, and values at times 500, 500.25, ..., 999.75 are kept."""


def slope(past: States, now: States) -> States:
    """Return x'(t) = a x(t−d) / (1 + x(t−d)¹⁰) − b x(t) for ``past`` x(t−d) and ``now`` x(t)."""
    square = past * past
    tenth = square * square * square * square * square  # a power would differ between machines
    return A * past / (1 + tenth) - B * now


def paths(start: States, step: float = STEP) -> States:
    """Return x at the times 0, step, ..., 1000, (T, *start.shape), float64, constant before the time 0."""
    return solve_delayed(slope, start, DELAY, step, round(STEPS * STEP / step))


def _generate(seed: int) -> dict[str, np.ndarray]:
    return split_path(paths(starts(seed))[FIRST : FIRST + POINTS], SIZES)


@cache
def _load(variant: str) -> Data[Sequences]:
    check_variant("mackey_glass", variant, with_fresh(HORIZONS))
    form, fresh = split_fresh(variant)
    return forecast_data(generated("mackey_glass-1", _generate, fresh), HORIZONS[form])


TASK = replace(
    ENSO,
    name="mackey_glass",
    title="Mackey–Glass",
    summary="Delay: predict a chaotic series whose equation has a delay of 68 steps.",
    load=_load,
    recipes={"": replace(ENSO.recipe(""), source="τ-GRU, Table 9; batch ours, not stated")},
    source="Mackey and Glass 1977; Erichson et al. 2022, τ-GRU, app. F.2: a 0.2, b 0.1, n 10, d 17, constant history",
    lag="68 steps",
    time_scales={"": 36},
)
