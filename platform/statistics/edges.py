"""Whether the result of a search is at an edge of its range."""

from __future__ import annotations

import math
from typing import Literal

NEAR = 0.05
"""Share of a range at each end that counts as an edge, on a logarithmic scale if it is sampled so."""
End = Literal["low", "high"]


def edge_of(value: float, low: float, high: float, log: bool) -> End | None:
    """Return the end of a range, ``low`` < ``high``, that a value is within ``NEAR`` of; None if neither."""
    bottom, top, position = (math.log(v) if log else v for v in (low, high, value))
    share = (position - bottom) / (top - bottom)
    return "low" if share <= NEAR else "high" if share >= 1 - NEAR else None
