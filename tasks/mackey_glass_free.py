"""Mackey-Glass, free run: each series has its own production rate and delay, and is observed with noise."""

from __future__ import annotations

from dataclasses import replace
from functools import cache

import numpy as np

from longwave.tasks.base.cache import SEED, generated
from longwave.tasks.base.data import Data
from longwave.tasks.base.sequences import Sequences
from longwave.tasks.base.spec import check_variant
from longwave.tasks.base.variants import split_fresh, with_fresh
from longwave.tasks.fitzhugh_nagumo_free import TASK as FREE_RUN
from longwave.tasks.formats.free import SIZES, FreeProtocol, free_runs
from longwave.tasks.formats.ode import States, solve_delayed

A, B, DELAY = (0.18, 0.23), (0.09, 0.11), (60, 100)
"""Ranges from which a, b and the delay of a series are drawn, the delay in whole solver steps, both ends included."""
STEP, EVERY, FIRST = 0.25, 8, 1200
"""Time units per solver step, solver steps between two values kept, and solver steps before the first."""
PROTOCOL = FreeProtocol(centre=0.92, spread=0.24, noise=0.1, warm=100, horizon=100)


def draw_starts(n: int, seed: int = SEED) -> tuple[States, States, States, States, np.random.RandomState]:
    """Return a and b, (n, 1) each, the delays, (n,), the states until time 0, (n, 1), and the generator."""
    random = np.random.RandomState(seed)
    a, b = random.uniform(*A, (n, 1)), random.uniform(*B, (n, 1))
    delay = random.randint(DELAY[0], DELAY[1] + 1, n).astype(np.float64) * STEP
    return a, b, delay, random.uniform(0.5, 1.5, (n, 1)), random


def paths(start: States, a: States, b: States, delay: States, steps: int) -> States:
    """Return x at the times 0, 0.25, ..., (steps + 1, n, 1), float64; see ``mackey_glass.paths``."""

    def slope(past: States, now: States) -> States:
        square = past * past
        return a * past / (1 + square * square * square * square * square) - b * now

    return solve_delayed(slope, start, delay, STEP, steps)


def _generate(seed: int) -> dict[str, np.ndarray]:
    a, b, delay, start, random = draw_starts(sum(SIZES.values()), seed)
    path = paths(start, a, b, delay, FIRST + EVERY * (PROTOCOL.steps - 1))
    return PROTOCOL.arrays(path[FIRST::EVERY], random)


@cache
def _load(variant: str) -> Data[Sequences]:
    check_variant("mackey_glass_free", variant, with_fresh())
    return free_runs(generated("mackey_glass_free-1", _generate, split_fresh(variant)[1]))


TASK = replace(
    FREE_RUN,
    name="mackey_glass_free",
    title="Mackey–Glass, free run",
    summary="Predict eight swings of a chaotic delay model in free run, with constants known only from its past.",
    load=_load,
    source="the equation of Mackey and Glass 1977; parameters, noise and free runs are ours",
    lag="8 to 12 steps of delay; the parameters show within some 50 steps",
    time_scales={"": 5},
)
