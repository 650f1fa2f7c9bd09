"""Numbers for display: three digits each, and one power of ten per column."""

from __future__ import annotations

import math
import sys
from collections.abc import Iterable

from longwave.platform.boards.row import Row
from longwave.platform.literature.published import EXPONENTS

SMALLEST, LARGEST = 0.01, 100_000.0
"""Columns whose smallest median is between these have no power of ten."""
TINY = 1e-4
"""In sentences, smaller numbers have a power of ten."""
MOST_PLACES = 12
"""Most places before or after the point that are written in full; other numbers have a power of ten of their own."""
MINUS = str.maketrans("-", "−")


def column_power(rows: Iterable[Row]) -> int:
    """Return the common power of ten of some rows' numbers: that of the smallest median, or 0 if that is readable."""
    medians = [abs(row.median) for row in rows if row.median]
    smallest = min(medians, default=1.0)
    return _power(smallest, SMALLEST)


def power_text(power: int) -> str:
    """Return a power of ten: ``10⁻³``; empty for the power 0."""
    return f"10{str(power).translate(EXPONENTS)}" if power else ""


def number_text(value: float) -> str:
    """Return a number for a sentence: ``0.00136``, ``8.56 × 10⁻⁸``."""
    power = _power(value, TINY) if value else 0
    return f"{three_digits(value, power)} × {power_text(power)}" if power else three_digits(value)


def three_digits(value: float, power: int = 0) -> str:
    """Return a value in units of ``10 ** power`` with three digits: ``1.36``, ``0.0123``.

    From 1000 on all digits are written, ``1,480``, but of more than ``MOST_PLACES`` only three, ``1.48 × 10²⁰``; the
    sign is U+2212, and zero is ``0``.
    """
    if not value:
        return "0"
    if abs(exponent := _exponent(value) - power) >= MOST_PLACES:
        return f"{f'{value:.2e}'.partition('e')[0].translate(MINUS)} × {power_text(exponent)}"
    scaled = value / 10.0**power
    return f"{scaled:,.{max(0, 2 - _exponent(scaled))}f}".translate(MINUS)


def score_text(value: float, perfect: float | None, power: int = 0) -> str:
    """Return a score with three digits; only a perfect one is written as such: 99.97 % is ``99.9``, not ``100``.

    Args:
        value: The score.
        perfect: The largest possible score; None if there is none.
        power: As in ``three_digits``.
    """
    text = three_digits(value, power)
    if perfect is None or value >= perfect or text != three_digits(perfect, power):
        return text
    unit = 10.0 ** (_exponent(perfect) - 3)  # of the third digit of a number just below
    return three_digits(math.floor(value / unit) * unit, power)


def factor_text(value: float) -> str:
    """Return a factor with three digits; with two below 0.1, and without decimals from 100 on."""
    if value < 0.1:
        return f"{value:.2g}"
    return three_digits(value) if value >= 100 else f"{value:,.{2 if value < 10 else 1}f}"


def _power(value: float, smallest: float) -> int:
    """Return the power of ten that a value is written with: none from `smallest` to `LARGEST`."""
    rounded = abs(float(f"{value:.2e}"))
    return 0 if smallest <= rounded < LARGEST else max(_exponent(value), sys.float_info.min_10_exp)


def _exponent(value: float) -> int:
    """Return the exponent of a value once it is rounded to three digits: 2 for 99.97, which is written 100."""
    return int(f"{value:.2e}".partition("e")[2])
