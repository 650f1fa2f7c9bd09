"""Niño 3.4: the measured sea surface temperature whose model is the task ``enso``."""

from __future__ import annotations

from functools import cache

import numpy as np

from longwave.tasks.base.data import Data
from longwave.tasks.base.losses import MSE, mean_squared_error
from longwave.tasks.base.raw import DataError
from longwave.tasks.base.sequences import Sequences
from longwave.tasks.base.spec import Recipe, TaskSpec, check_variant
from longwave.tasks.formats.monthly import by_time, from_statsmodels
from longwave.tasks.trivial.forecasts import FORECASTS

FILE = "elnino/src/elnino.dat"
FILES = from_statsmodels(
    "nino34", "Monthly El Niño indices", FILE, "d59cc7a747c2f33c8ee49096844b5c33", 732, "public domain"
)
FIRST = {"train": 0, "valid": 432, "test": 576}
"""January of 1950, 1986 and 1998."""
WINDOW = 48
HORIZONS = {"h=1": 1, "h=6": 6}


def anomalies() -> np.ndarray:
    """Return the anomaly of Niño 3.4 of each month, January 1950 to December 2010, °C.

    Raises:
        DataError: The file is missing, or not that of statsmodels 0.15.
    """
    path = FILES.locate("nino34") / FILE
    found = np.loadtxt(path, skiprows=1)
    FILES.check_count("months", len(found))
    if not np.array_equal(found[:, 0] * 12 + found[:, 1], found[0, 0] * 12 + 1 + np.arange(len(found))):
        raise DataError(f"{path}: each month must follow the one before.")
    return np.asarray(found[:, 9])


@cache
def _load(variant: str) -> Data[Sequences]:
    check_variant("nino34", variant, HORIZONS)
    return by_time(anomalies(), FIRST, WINDOW, HORIZONS[variant])


TASK = TaskSpec(
    name="nino34",
    title="Measured El Niño, 6 months ahead",
    family="measured series",
    summary="Real dynamics: predict the temperature of the Pacific from its own past, month by month.",
    inputs=1,
    outputs=1,
    asked="at every step",
    loss=mean_squared_error,
    metric=MSE,
    chance=None,
    load=_load,
    recipes={"": Recipe(hidden=16, batch=8, epochs=200, source="ours: no paper of these models has this series")},
    variant="h=6",
    variants="h=1 or h=6: months ahead",
    source="NOAA Climate Prediction Center, ERSST.V3B, anomaly of Niño 3.4, 1950 to 2010; file of statsmodels 0.15",
    licence=FILES.licence,
    length="48",
    lag="months to years",
    horizon=6,
    files=FILES,
    baselines=FORECASTS,
)
