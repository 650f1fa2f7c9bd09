"""Result of a simulation for a claim: the line that ``make honesty`` prints for each case."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Line:
    """One simulated case.

    Attributes:
        case: Distribution and shape.
        claimed: The claim, as text: ``"<= .05 (± .01)"``.
        simulated: The result, as text: ``".043"``.
        holds: Whether the claim holds.
    """

    case: str
    claimed: str
    simulated: str
    holds: bool
