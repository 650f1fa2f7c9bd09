"""Sunspots: the oldest measured oscillation, month by month since 1749."""

from __future__ import annotations

import re

import numpy as np

from longwave.tasks.formats.monthly import from_statsmodels, monthly_task

FILE = "sunspots/src/sunspots_monthly.dat"
FILES = from_statsmodels(
    "sunspots", "Monthly mean sunspot numbers", FILE, "bbe7fc290bba1b4c999272f94f32b2f6", 3126, "public domain"
)
FIRST = {"train": 0, "valid": 12 * 152, "test": 12 * 202}
"""January of 1749, 1901 and 1951."""
WINDOW = 264
"""Months: two cycles of eleven years."""
YEAR = re.compile(r"^(?P<year>\d{4})(?P<months>(?: +\d+\.\d){1,12})\s*$", re.MULTILINE)


def read_numbers() -> np.ndarray:
    """Return the mean number of each month, January 1749 to June 2009.

    Raises:
        DataError: The file is missing, or not that of statsmodels 0.15.
    """
    text = (FILES.locate("sunspots") / FILE).read_text(encoding="ascii")
    values = [float(value) for year in YEAR.finditer(text) for value in year["months"].split()]
    FILES.check_count("months", len(values))
    return np.array(values)


TASK = monthly_task(
    FILES,
    read_numbers,
    FIRST,
    WINDOW,
    12,
    title="Monthly sunspots",
    summary="Real oscillation: predict the number of sunspots from its past, over two cycles of eleven years.",
    source="NOAA National Geophysical Data Center, 1749 to June 2009; file of statsmodels 0.15",
    lag="11 years, 132 steps",
    time_scales={"": 24},
)
