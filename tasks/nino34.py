"""Niño 3.4: the measured sea surface temperature whose model is the task ``enso``."""

from __future__ import annotations

import numpy as np

from longwave.tasks.base.raw import DataError
from longwave.tasks.formats.monthly import from_statsmodels, monthly_task

FILE = "elnino/src/elnino.dat"
FILES = from_statsmodels(
    "nino34", "Monthly El Niño indices", FILE, "d59cc7a747c2f33c8ee49096844b5c33", 732, "public domain"
)
FIRST = {"train": 0, "valid": 432, "test": 576}
"""January of 1950, 1986 and 1998."""
WINDOW = 48


def read_anomalies() -> np.ndarray:
    """Return the anomaly of Niño 3.4 of each month, January 1950 to December 2010, °C.

    Raises:
        DataError: The file is missing, or not that of statsmodels 0.15.
    """
    path = FILES.locate("nino34") / FILE
    table = np.loadtxt(path, skiprows=1)
    FILES.check_count("months", len(table))
    if not np.array_equal(table[:, 0] * 12 + table[:, 1], table[0, 0] * 12 + 1 + np.arange(len(table))):
        raise DataError(f"{path}: each month must follow the one before.")
    return np.asarray(table[:, 9])


TASK = monthly_task(
    FILES,
    read_anomalies,
    FIRST,
    WINDOW,
    6,
    title="Measured El Niño",
    summary="Real dynamics: predict the temperature of the Pacific from its own past, month by month.",
    source="NOAA Climate Prediction Center, ERSST.V3B, anomaly of Niño 3.4, 1950 to 2010; file of statsmodels 0.15",
    lag="months to years",
    time_scales={"": 7},
)
