"""Whether a search was long enough: the probability that doubling it would find a clearly better setting."""

from __future__ import annotations

import math
from collections.abc import Sequence

FACTOR = 1.25
"""Ratio of errors that counts as clearly better."""
FEWEST = 8
"""Fewest draws for an estimate."""


def chance_to_improve(errors: Sequence[float], factor: float = FACTOR) -> float | None:
    """Return the probability that as many further draws reach an error ``factor`` times smaller than the best so far.
    The smallest errors are assumed to follow a power law, F(e) = (e / c)^k, as near the minimum of a smooth function; k
    is Hill's estimate from the best quarter. The best of n further draws is below e₁ / factor with probability 1 / (1 +
    factor^k), which is ½ for a factor of 1, as for any exchangeable draws.

    Args:
        errors: Validation errors of all draws; infinite for a diverged one.

    Returns:
        None for fewer than ``FEWEST`` finite errors.
    """
    finite = sorted(error for error in errors if math.isfinite(error))
    if len(finite) < FEWEST:
        return None
    count = max(4, math.ceil(len(finite) / 4))
    bound = finite[count]
    if finite[0] <= 0:
        return 0.0  # the best error is zero
    total = math.fsum(math.log(bound / error) for error in finite[:count])
    if total == 0:
        return 0.0  # all are equal, at a floor
    return 1 / (1 + math.exp(min(count / total * math.log(factor), 700.0)))
