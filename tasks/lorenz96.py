"""Lorenz 96: predict the whole state of a chaotic system 25 steps ahead."""

from __future__ import annotations

from functools import cache, partial

import numpy as np

from longwave.tasks.base.cache import generated
from longwave.tasks.base.data import Data
from longwave.tasks.base.losses import NRMSE, mean_squared_error
from longwave.tasks.base.sequences import Sequences
from longwave.tasks.base.spec import Recipe, TaskSpec, changes, check_variant, note
from longwave.tasks.base.variants import FRESH, split_fresh, with_fresh
from longwave.tasks.formats.ode import States, forecast_data, solve, split_path
from longwave.tasks.trivial.forecasts import FORECASTS
from longwave.tasks.trivial.linear import Iterated

FORCES = {"F=8": 8.0, "F=0.9": 0.9}
POINTS, STEP, HORIZON = 2000, 0.01, 25
"""States of a trajectory, time units between two of them, and steps ahead."""
SUBSTEPS = 5
"""Runge-Kutta steps between two states: the error over the horizon is then below 1e-6."""
SIZES = {"train": 128, "valid": 128, "test": 128}
"""Trajectories of each split, drawn in this order."""


def slope(x: States, force: float) -> States:
    """Return x_i' = (x_{i+1} − x_{i−2}) x_{i−1} − x_i + F for states (N, 5), i cyclic."""
    return (x[:, [1, 2, 3, 4, 0]] - x[:, [3, 4, 0, 1, 2]]) * x[:, [4, 0, 1, 2, 3]] - x + force


def trajectories(start: States, force: float, substeps: int = SUBSTEPS) -> States:
    """Return the states (2000, N, 5) at the times 0, 0.01, ..., 19.99 from ``start`` (N, 5), float64."""
    return solve(partial(slope, force=force), start, STEP, POINTS - 1, substeps)


def _generate(seed: int, force: float) -> dict[str, np.ndarray]:
    start = np.random.RandomState(seed).uniform(force - 0.5, force + 0.5, (sum(SIZES.values()), 5))
    return split_path(trajectories(start, force), SIZES)


@cache
def _load(variant: str) -> Data[Sequences]:
    check_variant("lorenz96", variant, with_fresh(FORCES))
    form, fresh = split_fresh(variant)
    return forecast_data(generated(f"lorenz96-1-{form}", partial(_generate, force=FORCES[form]), fresh), HORIZON)


TASK = TaskSpec(
    name="lorenz96",
    title="Lorenz 96",
    family="dynamics",
    summary="Expressive power: follow a system that is chaotic at F = 8 and not at F = 0.9.",
    inputs=5,
    outputs=5,
    targets="at every step",
    loss=mean_squared_error,
    metric=NRMSE,
    chance=None,
    load=_load,
    recipes={
        "": Recipe(
            hidden=64, batch=32, epochs=500, drops=(250,), source="ours, with the epochs of UnICORNN, thesis §3.7"
        ),
        "cornn": changes(
            source="units: coRNN, Table 6; batch and epochs ours, not stated",
            paper="cornn",
            unstated=("batch", "epochs"),
        ),
        "lstm": changes(
            hidden=44,
            source="units: coRNN, Table 6; batch and epochs ours, not stated",
            paper="cornn",
            unstated=("batch", "epochs"),
        ),
        "unicornn": changes(
            hidden=90,
            source="units: thesis, Table 3.6, with 2 layers; epochs: thesis §3.7; batch ours, not stated",
            paper="thesis",
            unstated=("batch",),
        ),
    },
    variant="F=8",
    variants=f"F=8 (chaotic) or F=0.9 (not chaotic); with ,{FRESH} on other test trajectories",
    source="Lorenz 1996; Rusch and Mishra 2021, arXiv:2010.00951, app. A; solved by classical Runge-Kutta, step 0.002",
    licence="generated, none",
    length="1975",
    lag="none: the present state determines all later ones",
    horizon=HORIZON,
    protocols=(
        note(
            "the papers name no solver and do not say whether the last 25 of the 2000 states are inputs; here"
            " they are not"
        ),
    ),
    baselines={
        **FORECASTS,
        "linear map": Iterated(HORIZON, 1),
        "quadratic map": Iterated(HORIZON, 2),
    },
    time_scales={"F=0.9": 88, "F=8": 24},
)
