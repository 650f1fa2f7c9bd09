"""Numbers of one column as people read them: three digits each, and one power of ten for the whole column."""

from __future__ import annotations

import math
from collections.abc import Iterable

from longwave.platform.boards.row import Row

SMALLEST, LARGEST = 0.01, 100_000.0
"""Columns whose smallest median lies between these have no power of ten."""
TINY = 1e-4
"""Smaller numbers have a power of ten in a sentence."""
SUPERSCRIPTS = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")
MINUS = str.maketrans("-", "−")


def column_power(rows: Iterable[Row]) -> int:
    """Return the power of ten that the numbers of some rows are written in: that of the smallest median, 0 if handy."""
    medians = [abs(row.median) for row in rows if row.median]
    least = min(medians, default=1.0)
    return 0 if SMALLEST <= least < LARGEST else math.floor(math.log10(least))


def power_text(power: int) -> str:
    """Return a power of ten: ``10⁻³``; empty for the power 0."""
    return f"10{str(power).translate(SUPERSCRIPTS)}" if power else ""


def number_text(value: float) -> str:
    """Return a number for a sentence: ``0.00136``, ``8.56 × 10⁻⁸``."""
    power = 0 if not value or TINY <= abs(value) < LARGEST else math.floor(math.log10(abs(value)))
    return f"{three_digits(value, power)} × {power_text(power)}" if power else three_digits(value)


def three_digits(value: float, power: int = 0) -> str:
    """Return a value in units of ``10 ** power`` with three digits: ``1.36``, ``0.0123``.

    Numbers from 1000 on are in full, ``1,480``; the sign is a minus; and 0 is ``0``.
    """
    scaled = value / 10.0**power
    if not scaled:
        return "0"
    decimals = max(0, 2 - math.floor(math.log10(abs(scaled))))
    return f"{scaled:,.{decimals}f}".translate(MINUS)
