"""Whether a number that a search chose lies at an edge of the range that was searched."""

from __future__ import annotations

import math
from typing import Literal

NEAR = 0.05
"""Share of a range, of its logarithm where it is drawn so, that counts as an edge, at each end."""
End = Literal["low", "high"]


def edge_of(value: float, low: float, high: float, log: bool) -> End | None:
    """Return the end of a range, ``low`` below ``high``, within ``NEAR`` of which a value lies; None for no end."""
    bottom, top, at = (math.log(v) if log else v for v in (low, high, value))
    share = (at - bottom) / (top - bottom)
    return "low" if share <= NEAR else "high" if share >= 1 - NEAR else None
