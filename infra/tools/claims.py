"""What a simulation says of a claim: the line that ``make honesty`` prints of each case."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Line:
    """One simulated case.

    Attributes:
        case: What was drawn, of which shape.
        claimed: What is promised of it, as text: ``"<= .05 (± .01)"``.
        simulated: What came out, as text: ``".043"``.
        held: Whether the promise held.
    """

    case: str
    claimed: str
    simulated: str
    held: bool
