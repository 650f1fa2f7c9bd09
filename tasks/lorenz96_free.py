"""Lorenz 96 at F = 8, free run over five Lyapunov times from noisy states."""

from __future__ import annotations

from dataclasses import replace
from functools import cache, partial

import numpy as np

from longwave.tasks.base.cache import generated
from longwave.tasks.base.data import Data
from longwave.tasks.base.losses import FREE_RMSE, steps_ahead, valid_time
from longwave.tasks.base.sequences import Sequences
from longwave.tasks.base.spec import check_variant
from longwave.tasks.base.variants import split_fresh, with_fresh
from longwave.tasks.fitzhugh_nagumo_free import TASK as FREE_RUN
from longwave.tasks.formats.free import SIZES, FreeProtocol, free_runs
from longwave.tasks.formats.ode import solve
from longwave.tasks.lorenz96 import slope

FORCE = 8.0
EXPONENT = 0.475
"""The largest Lyapunov exponent of five sites at F = 8, in 1 / units of time, measured by the growth of small
differences, Benettin et al. 1980, over 40 trajectories of 500 units: 0.475 ± 0.005; a test measures it again."""
STEP, SUBSTEPS, FIRST = 0.1, 20, 200
"""Time units between two states, Runge-Kutta steps between them, and steps before the first that is kept."""
PROTOCOL = FreeProtocol(centre=2.3, spread=3.6, noise=0.05, warm=100, horizon=110)


def _generate(seed: int) -> dict[str, np.ndarray]:
    random = np.random.RandomState(seed)
    start = random.uniform(FORCE - 0.5, FORCE + 0.5, (sum(SIZES.values()), 5))
    path = solve(partial(slope, force=FORCE), start, STEP, FIRST + PROTOCOL.steps - 1, SUBSTEPS)
    return PROTOCOL.arrays(path[FIRST:], random)


@cache
def _load(variant: str) -> Data[Sequences]:
    check_variant("lorenz96_free", variant, with_fresh())
    return free_runs(generated("lorenz96_free-1", _generate, split_fresh(variant)[1]))


TASK = replace(
    FREE_RUN,
    name="lorenz96_free",
    title="Lorenz 96, free run",
    summary="Predict a chaotic system from its own predictions, over five Lyapunov times.",
    inputs=5,
    outputs=5,
    targets="at every step; scored over free runs of 110 steps, 5.2 Lyapunov times, after 100 given ones",
    load=_load,
    source="Lorenz 1996; noise and free runs are ours",
    length="209",
    lag="none without noise: the present state determines all later ones",
    horizon=110,
    further=(
        *(steps_ahead(FREE_RMSE, step) for step in (1, 10, 25, 50, 110)),
        valid_time(STEP * EXPONENT, "Lyapunov times"),
    ),
    time_scales={"": 3},
)
