"""ENSO: predict the sea surface temperature of a delay model of El Niño.

A series is determined by one number, and many tend to one orbit: the median test series has a training neighbour at a
root mean squared distance of 0.0025, where the temperature varies by 0.8.
"""

from __future__ import annotations

from functools import cache

import numpy as np

from longwave.tasks.base.cache import SEED, generated
from longwave.tasks.base.data import Data
from longwave.tasks.base.losses import MSE, mean_squared_error
from longwave.tasks.base.sequences import Sequences
from longwave.tasks.base.spec import Recipe, TaskSpec, check_variant, note
from longwave.tasks.base.variants import FRESH, split_fresh, with_fresh
from longwave.tasks.formats.ode import States, forecast_data, solve_delayed, split_path
from longwave.tasks.trivial.forecasts import FORECASTS

C, GAMMA, DELAY = 0.93, 0.49, 4.8
STEP, STEPS, FIRST, POINTS = 0.1, 4000, 2000, 2000
"""Time units per step, steps up to time 400, and the values kept: those at times 200, 200.1, ..., 399.9."""
SIZES = {"train": 128, "valid": 128, "test": 1024}
"""Series of each split, drawn in this order."""
HORIZONS = {"h=1": 1, "h=25": 25}


def slope(past: States, now: States) -> States:
    """Return T'(t) = T(t) − T(t)³ − c T(t−d) (1 − γ T(t−d)²) for ``past`` T(t−d) and ``now`` T(t)."""
    return now - now * now * now - C * past * (1 - GAMMA * past * past)


def paths(start: States, step: float = STEP) -> States:
    """Return T at the times 0, step, ..., 400, (steps + 1, *start.shape), float64, constant before the time 0."""
    return solve_delayed(slope, start, DELAY, step, round(STEPS * STEP / step))


def starts(seed: int = SEED) -> np.ndarray:
    """Return the state before the time 0 of all series, uniform in [0, 1), (N, 1)."""
    return np.random.RandomState(seed).uniform(0, 1, (sum(SIZES.values()), 1))


def _generate(seed: int) -> dict[str, np.ndarray]:
    return split_path(paths(starts(seed))[FIRST : FIRST + POINTS], SIZES)


@cache
def _load(variant: str) -> Data[Sequences]:
    check_variant("enso", variant, with_fresh(HORIZONS))
    form, fresh = split_fresh(variant)
    return forecast_data(generated("enso-1", _generate, fresh), HORIZONS[form])


TASK = TaskSpec(
    name="enso",
    title="El Niño delay model",
    family="dynamics",
    summary="Delay: predict a temperature whose equation has a delay of 48 steps.",
    inputs=1,
    outputs=1,
    targets="at every step",
    loss=mean_squared_error,
    metric=MSE,
    chance=None,
    load=_load,
    recipes={
        "": Recipe(
            hidden=16,
            batch=32,
            epochs=400,
            source="τ-GRU, Table 9; batch ours, not stated",
            paper="taugru",
            unstated=("batch",),
        ),
    },
    variant="h=25",
    variants=f"h=1 or h=25: steps ahead; with ,{FRESH} on other test series",
    source="Erichson et al. 2022, τ-GRU, eq. 22: c 0.93, gamma 0.49, d 4.8, constant history; classical Runge-Kutta",
    licence="generated, none",
    length="1975, with h=1 1999",
    lag="48 steps",
    horizon=25,
    protocols=(
        note(
            "the paper states no horizon; its numbers are listed with h=1, where persistence beats all of them",
            "taugru",
        ),
        note("the paper states no number of series; 128 to train, 128 to validate and 1024 to test are ours", "taugru"),
        note(
            "the delayed value in the middle of a step is interpolated cubically; the paper does not say how",
            "taugru",
            minor=True,
        ),
    ),
    baselines=FORECASTS,
    time_scales={"h=1": 44, "h=25": 45},
)
