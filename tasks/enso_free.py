"""El Niño's delay model, free run: each series has its own constants and delay, and is observed with noise."""

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

C, GAMMA, DELAY = (0.86, 1.0), (0.4, 0.55), (36, 64)
"""Ranges from which c, γ and the delay of a series are drawn, the delay in whole solver steps, both ends included."""
STEP, EVERY, FIRST = 0.1, 5, 1000
"""Time units per solver step, solver steps between two values kept, and solver steps before the first."""
PROTOCOL = FreeProtocol(centre=0.0, spread=0.8, noise=0.1, warm=100, horizon=100)


def draw_starts(n: int, seed: int = SEED) -> tuple[States, States, States, States, np.random.RandomState]:
    """Return c and γ, (n, 1) each, the delays, (n,), the states until time 0, (n, 1), and the generator."""
    random = np.random.RandomState(seed)
    c, gamma = random.uniform(*C, (n, 1)), random.uniform(*GAMMA, (n, 1))
    delay = random.randint(DELAY[0], DELAY[1] + 1, n).astype(np.float64) * STEP
    return c, gamma, delay, random.uniform(0, 1, (n, 1)), random


def paths(start: States, c: States, gamma: States, delay: States, steps: int) -> States:
    """Return T at the times 0, 0.1, ..., (steps + 1, n, 1), float64, constant before the time 0; see ``enso``."""

    def slope(past: States, now: States) -> States:
        return now - now * now * now - c * past * (1 - gamma * past * past)

    return solve_delayed(slope, start, delay, STEP, steps)


def _generate(seed: int) -> dict[str, np.ndarray]:
    c, gamma, delay, start, random = draw_starts(sum(SIZES.values()), seed)
    path = paths(start, c, gamma, delay, FIRST + EVERY * (PROTOCOL.steps - 1))
    return PROTOCOL.arrays(path[FIRST::EVERY], random)


@cache
def _load(variant: str) -> Data[Sequences]:
    check_variant("enso_free", variant, with_fresh())
    return free_runs(generated("enso_free-1", _generate, split_fresh(variant)[1]))


TASK = replace(
    FREE_RUN,
    name="enso_free",
    title="El Niño delay model, free run",
    summary="Predict four cycles of a delay model from its own predictions, with parameters known only from its past.",
    load=_load,
    source="the equation of Erichson et al. 2022, τ-GRU, eq. 22; parameters, noise and free runs are ours",
    lag="7 to 12 steps of delay; the parameters show within a cycle of some 50 steps",
    time_scales={"": 9},
)
