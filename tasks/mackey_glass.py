"""Mackey-Glass: predict a chaotic series whose law reads a value 68 steps back."""

from __future__ import annotations

from functools import cache

import numpy as np

from longwave.tasks.baselines import FORECASTS
from longwave.tasks.cache import cached
from longwave.tasks.data import Data
from longwave.tasks.losses import MSE, mean_squared_error
from longwave.tasks.ode import States, drawn, forecasts, solve_delayed
from longwave.tasks.spec import Recipe, TaskSpec

A, B, DELAY = 0.2, 0.1, 17.0
STEP, STEPS, FIRST, POINTS = 0.25, 4000, 2000, 2000
"""Units of time a step, steps to the time 1000, and the values kept: those at the times 500, 500.25, ..., 999.75."""
SIZES = {"train": 128, "valid": 128, "test": 1024}
"""Series of each split, drawn in this order."""
HORIZONS = {"h=1": 1, "h=25": 25}


def slope(past: States, now: States) -> States:
    """Return x'(t) = a x(t−d) / (1 + x(t−d)¹⁰) − b x(t) for ``past`` x(t−d) and ``now`` x(t)."""
    square = past * past
    tenth = square * square * square * square * square  # a power would not be the same on every machine
    return A * past / (1 + tenth) - B * now


def paths(start: States, step: float = STEP) -> States:
    """Return x at the times 0, step, ..., 1000, (T, *start.shape), float64, constant before the time 0."""
    return solve_delayed(slope, start, DELAY, step, round(STEPS * STEP / step))


def _generate() -> dict[str, np.ndarray]:
    start = np.random.RandomState(1234).uniform(0, 1, (sum(SIZES.values()), 1))
    return drawn(paths(start)[FIRST : FIRST + POINTS], SIZES)


@cache
def _load(variant: str) -> Data:
    if variant not in HORIZONS:
        raise ValueError(f"mackey_glass takes a variant h=1 or h=25, got {variant!r}.")
    return forecasts(cached("mackey_glass-1", _generate), HORIZONS[variant])


TASK = TaskSpec(
    name="mackey_glass",
    title="Mackey-Glass, 25 steps ahead",
    summary="Delay: predict a chaotic series whose law reads its own value 68 steps back.",
    inputs=1,
    outputs=1,
    every_step=True,
    loss=mean_squared_error,
    metric=MSE,
    chance=None,
    load=_load,
    recipes={
        "": Recipe(hidden=16, batch=32, epochs=400, source="tau-GRU, Table 8; batch ours, not stated"),
    },
    variant="h=25",
    variants="h=1 or h=25: steps ahead",
    published={"h=1": ""},
    source="Mackey and Glass 1977; Erichson et al. 2022, tau-GRU, app. F.2: a 0.2, b 0.1, n 10, d 17, constant history",
    licence="generated, none",
    length="1975, with h=1 1999",
    lag="68 steps",
    horizon=25,
    protocols=(
        "the paper states no horizon; its numbers stand beside h=1, where persistence beats all of them",
        "the paper states no number of series; 128 to train, 128 to validate and 1024 to test are ours",
        "the delayed value in the middle of a step is read by cubic interpolation, on which the paper is silent",
    ),
    baselines=FORECASTS,
)
