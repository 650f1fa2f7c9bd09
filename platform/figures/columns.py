"""Names above the columns of a table of cells: slanted where there is room, else upright."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import altair as alt

from longwave.platform.figures.frame import LONGEST_LABEL, PAGE, ROOM, SLANT
from longwave.platform.figures.legend import LETTER

LONGEST_NAME = 320
"""Length from which the name of a column is cut, in pixels."""
BARE: dict[str, Any] = {"title": None, "ticks": False, "domain": False, "grid": False, "labelOverlap": False}
"""An axis of names alone."""


@dataclass(frozen=True)
class ColumnNames:
    """The layout of the names of lines and columns.

    Attributes:
        beside, above: Length of the longest name of a line and of a column, in pixels.
        count: Number of columns.
    """

    beside: float
    above: float
    count: int

    @classmethod
    def of(cls, lines: Sequence[str], columns: Sequence[str]) -> ColumnNames:
        """Return the layout for these names."""
        beside, above = (LETTER * max(map(len, names), default=0) for names in (lines, columns))
        return cls(min(LONGEST_LABEL, beside), min(LONGEST_NAME, above), len(columns))

    @property
    def name_overhang(self) -> float:
        """Width of the last name right of its column where names are slanted, in pixels."""
        return self.above * math.cos(math.radians(SLANT))

    @property
    def is_upright(self) -> str:
        """Expression of whether names are upright. It reads the width of the whole figure, because the inner width
        depends on these names.
        """
        return f"{PAGE} < {self.beside + ROOM * self.count + self.name_overhang:.0f}"

    @property
    def columns_width(self) -> str:
        """Expression of the width of the columns together."""
        return f"({PAGE} - {self.beside:.0f} - ({self.is_upright} ? 0 : {self.name_overhang:.0f}))"

    @property
    def column_axis(self) -> alt.Axis:
        """The axis of the columns."""
        angle = alt.ExprRef(f"{self.is_upright} ? -90 : {SLANT}")
        return alt.Axis(orient="top", labelAngle=angle, labelLimit=LONGEST_NAME, **BARE)

    @property
    def right_axis(self) -> alt.Axis:
        """An empty axis on the right that keeps the room of the last slanted name, which the layout underestimates."""
        return alt.Axis(
            orient="right",
            labels=False,
            minExtent=alt.ExprRef(f"{self.is_upright} ? 0 : {self.name_overhang:.0f}"),
            **BARE,
        )
