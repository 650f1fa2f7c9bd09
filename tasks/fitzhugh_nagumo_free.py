"""FitzHugh-Nagumo, free run: each series has its own current and slow time scale, and is observed with noise."""

from __future__ import annotations

from functools import cache

import numpy as np

from longwave.tasks.base.cache import SEED, generated
from longwave.tasks.base.data import Data
from longwave.tasks.base.losses import FREE_RMSE, mean_squared_error, steps_ahead, valid_time
from longwave.tasks.base.sequences import Sequences
from longwave.tasks.base.spec import Recipe, TaskSpec, check_variant
from longwave.tasks.base.variants import FRESH, split_fresh, with_fresh
from longwave.tasks.formats.free import SIZES, FreeProtocol, free_runs
from longwave.tasks.formats.ode import States, solve
from longwave.tasks.trivial.free import FREE

CURRENT, TAU, A, B = (0.45, 1.0), (0.03, 0.12), (0.6, 0.8), (0.6, 0.85)
"""Ranges from which I, τ, a and b of a series are drawn, uniformly."""
STEP, SUBSTEPS, FIRST = 1.0, 20, 100
"""Time units between two values, Runge-Kutta steps between them, and steps before the first that is kept."""
PROTOCOL = FreeProtocol(centre=-0.15, spread=1.4, noise=0.1, warm=100, horizon=100)


def draw_starts(n: int, seed: int = SEED) -> tuple[States, States, np.random.RandomState]:
    """Return I, τ, a and b, (4, n), the states (v, w) at time 0, (n, 2), and the random numbers that follow."""
    random = np.random.RandomState(seed)
    parameters = np.stack([random.uniform(*each, n) for each in (CURRENT, TAU, A, B)])
    return parameters, random.uniform((-1, -0.5), (1, 1.5), (n, 2)), random


def paths(start: States, parameters: States, steps: int, substeps: int = SUBSTEPS) -> States:
    """Return (v, w) at the times 0, 1, ..., steps, (steps + 1, n, 2), float64.

    v' = v − v³/3 − w + I and w' = τ (v + a − b w), by the classical Runge-Kutta method.
    """
    current, tau, a, b = parameters

    def slope(state: States) -> States:
        v, w = state[:, 0], state[:, 1]
        return np.stack([v - v * v * v / 3 - w + current, tau * (v + a - b * w)], 1)

    return solve(slope, start, STEP, steps, substeps)


def _generate(seed: int) -> dict[str, np.ndarray]:
    parameters, start, random = draw_starts(sum(SIZES.values()), seed)
    path = paths(start, parameters, FIRST + PROTOCOL.steps - 1)
    return PROTOCOL.arrays(path[FIRST:, :, :1], random)


@cache
def _load(variant: str) -> Data[Sequences]:
    check_variant("fitzhugh_nagumo_free", variant, with_fresh())
    return free_runs(generated("fitzhugh_nagumo_free-1", _generate, split_fresh(variant)[1]))


TASK = TaskSpec(
    name="fitzhugh_nagumo_free",
    title="FitzHugh–Nagumo, free run",
    family="dynamics",
    summary="Predict three cycles of an oscillator from its own predictions, with parameters known only from its past.",
    inputs=1,
    outputs=1,
    targets="at every step; scored over free runs of 100 steps after 100 given ones",
    loss=mean_squared_error,
    metric=FREE_RMSE,
    chance=None,
    load=_load,
    recipes={"": Recipe(hidden=32, batch=16, epochs=200, schedule="cosine", source="ours")},
    variants=f"{FRESH}: other test series",
    source="the equation of Rusch et al. 2022, arXiv:2110.04744, §5; parameters, noise and free runs are ours",
    licence="generated, none",
    length="199",
    lag="the hidden variable and the parameters show within some 30 steps",
    horizon=100,
    baselines=FREE,
    further=(*(steps_ahead(FREE_RMSE, step) for step in (1, 10, 25, 50, 100)), valid_time(1.0, "steps")),
    time_scales={"": 7},
)
