"""Sunspots: the oldest measured oscillation, month by month since 1749."""

from __future__ import annotations

import re
from functools import cache

import numpy as np

from longwave.tasks.base.data import Data
from longwave.tasks.base.losses import MSE, mean_squared_error
from longwave.tasks.base.sequences import Sequences
from longwave.tasks.base.spec import Recipe, TaskSpec, check_variant
from longwave.tasks.formats.monthly import by_time, from_statsmodels
from longwave.tasks.trivial.forecasts import FORECASTS

FILE = "sunspots/src/sunspots_monthly.dat"
FILES = from_statsmodels(
    "sunspots", "Monthly mean sunspot numbers", FILE, "bbe7fc290bba1b4c999272f94f32b2f6", 3126, "public domain"
)
FIRST = {"train": 0, "valid": 12 * 152, "test": 12 * 202}
"""January of 1749, 1901 and 1951."""
WINDOW = 264
"""Months: two cycles of eleven years."""
HORIZONS = {"h=1": 1, "h=12": 12}
YEAR = re.compile(r"^(?P<year>\d{4})(?P<months>(?: +\d+\.\d){1,12})\s*$", re.MULTILINE)


def numbers() -> np.ndarray:
    """Return the mean number of each month, January 1749 to June 2009.

    Raises:
        DataError: The file is missing, or not that of statsmodels 0.15.
    """
    text = (FILES.locate("sunspots") / FILE).read_text(encoding="ascii")
    found = [float(value) for year in YEAR.finditer(text) for value in year["months"].split()]
    FILES.check_count("months", len(found))
    return np.array(found)


@cache
def _load(variant: str) -> Data[Sequences]:
    check_variant("sunspots", variant, HORIZONS)
    return by_time(numbers(), FIRST, WINDOW, HORIZONS[variant])


TASK = TaskSpec(
    name="sunspots",
    title="Monthly sunspots, 12 months ahead",
    family="measured series",
    summary="Real oscillation: predict the number of sunspots from its past, over two cycles of eleven years.",
    inputs=1,
    outputs=1,
    asked="at every step",
    loss=mean_squared_error,
    metric=MSE,
    chance=None,
    load=_load,
    recipes={"": Recipe(hidden=16, batch=8, epochs=200, source="ours: no paper of these models has this series")},
    variant="h=12",
    variants="h=1 or h=12: months ahead",
    source="NOAA National Geophysical Data Center, 1749 to June 2009; file of statsmodels 0.15",
    licence=FILES.licence,
    length="264",
    lag="11 years, 132 steps",
    horizon=12,
    files=FILES,
    baselines=FORECASTS,
)
