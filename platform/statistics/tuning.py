"""Whether a search was long enough: the chance that as many draws again would find a clearly better setting."""

from __future__ import annotations

import math
from collections.abc import Sequence

FACTOR = 1.25
"""Ratio of errors that counts as clearly better."""
FEWEST = 8
"""Draws below which nothing is said."""


def chance_to_improve(errors: Sequence[float], factor: float = FACTOR) -> float | None:
    """Return the chance that as many further draws reach an error ``factor`` times smaller than the best so far.

    The smallest errors are taken to follow a power law, F(e) = (e / c)^k, as near the best point of a smooth surface; k
    is Hill's estimate from the best quarter. The best of n further draws is below e₁ / factor with probability
    1 / (1 + factor^k): one half at a factor of 1, as it must be among exchangeable draws.

    Args:
        errors: Validation errors of all draws; infinite where one diverged.

    Returns:
        None for fewer than ``FEWEST`` finite errors.
    """
    known = sorted(error for error in errors if math.isfinite(error))
    if len(known) < FEWEST:
        return None
    count = max(4, math.ceil(len(known) / 4))
    bound = known[count]
    if known[0] <= 0:
        return 0.0  # no error is left to improve
    total = math.fsum(math.log(bound / error) for error in known[:count])
    if total == 0:
        return 0.0  # all of them are equal: a floor
    return 1 / (1 + math.exp(min(count / total * math.log(factor), 700.0)))
