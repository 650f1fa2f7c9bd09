"""FitzHugh-Nagumo: predict the next value of a fast-slow oscillator whose slow variable is hidden."""

from __future__ import annotations

from functools import cache

import numpy as np
import torch

from longwave.tasks.base.cache import generated
from longwave.tasks.base.data import Data
from longwave.tasks.base.losses import L2_ERROR, mean_squared_error
from longwave.tasks.base.sequences import Sequences
from longwave.tasks.base.spec import Recipe, TaskSpec, changes, check_variant, note
from longwave.tasks.base.variants import FRESH, split_fresh, with_fresh
from longwave.tasks.formats.ode import dormand_prince
from longwave.tasks.trivial.forecasts import FORECASTS

STEPS = 1000
"""Steps of a sequence, 0.4 time units each."""
SIZES = {"train": 128, "valid": 128, "test": 1024}
"""Sequences of each split, drawn in this order."""
TAU, CURRENT, A, B = 0.02, 0.5, 0.7, 0.8


def trajectory(start: float, rtol: float = 1e-3, atol: float = 1e-6) -> np.ndarray:
    """Return v at the 1001 times 0, 0.4, ..., 400 from (v, w) = (start, 0), float64.

    v' = v − v³/3 − w + I and w' = τ (v + a − b w), by scipy's RK45 at its default tolerances, as the authors' code
    does; smaller tolerances give the reference to compare with.
    """

    def slope(_: float, state: np.ndarray) -> tuple[float, float]:
        v, w = state.tolist()
        return v - v * v * v / 3 - w + CURRENT, TAU * (v + A - B * w)

    v, _ = dormand_prince(slope, [start, 0.0], np.linspace(0.0, 400.0, STEPS + 1), rtol, atol)
    return np.asarray(v)


def _generate(seed: int) -> dict[str, np.ndarray]:
    starts = np.random.RandomState(seed)
    return {
        split: np.stack([trajectory(c) for c in starts.uniform(-1, 1, n)]).astype(np.float32)
        for split, n in SIZES.items()
    }


def _split(paths: np.ndarray) -> Sequences:
    """Return paths (N, T + 1) as inputs (N, T, 1) and the values one step later."""
    v = torch.from_numpy(paths).unsqueeze(-1)
    return Sequences(v[:, :-1].contiguous(), v[:, 1:].contiguous())


@cache
def _load(variant: str) -> Data[Sequences]:
    check_variant("fitzhugh_nagumo", variant, with_fresh())
    paths = generated("fitzhugh_nagumo-2", _generate, split_fresh(variant)[1])
    return Data(train=_split(paths["train"]), valid=_split(paths["valid"]), test=_split(paths["test"]))


PRINTED = "LEM, Table 4 and the authors' code"


TASK = TaskSpec(
    name="fitzhugh_nagumo",
    title="FitzHugh–Nagumo",
    family="dynamics",
    version="2",
    summary="Fast and slow time scales: predict v one step (0.4) ahead while the slow variable w is hidden.",
    inputs=1,
    outputs=1,
    targets="at every step",
    loss=mean_squared_error,
    metric=L2_ERROR,
    chance=None,
    load=_load,
    recipes={
        "": Recipe(hidden=16, batch=32, epochs=400, source=PRINTED, paper="lem"),
        "cornn": changes(hidden=24, source=PRINTED, paper="lem"),
        "lipschitz_rnn": changes(hidden=24, source=PRINTED, paper="lem"),
        "exprnn": changes(hidden=50, source=PRINTED, paper="lem"),
        "fastgrnn": changes(hidden=34, source=PRINTED, paper="lem"),
    },
    variants=f"{FRESH}: other test sequences",
    source="Rusch et al. 2022, arXiv:2110.04744, §5; solved by scipy's RK45 at its default tolerances",
    licence="generated, none",
    length="1000",
    lag="the hidden variable changes over some 50 steps",
    horizon=1,
    protocols=(note("the authors' code scores the last 128 test sequences, this task all 1024", "lem", minor=True),),
    baselines=FORECASTS,
    time_scales={"": 50},
)
