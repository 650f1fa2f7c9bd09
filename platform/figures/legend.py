"""Named lines in one figure: colours by family, dashes within one, and one legend for both."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import altair as alt

from longwave.platform.figures.frame import LEGEND

DASHES: list[list[int]] = [[1, 0], [7, 3], [2, 3], [10, 3, 2, 3], [14, 4]]
"""Of the first, second, … line of one colour, in pixels drawn and left out."""
ABREAST = 3
"""Names side by side in a legend: as many as a phone has room for."""


def told_apart(field: str, tints: Mapping[str, str]) -> dict[str, Any]:
    """Return colour and dashes of named lines: models of one family share a colour.

    Args:
        field: Of the names, as Altair writes it.
        tints: Colours by name.
    """
    names, shades = list(tints), list(tints.values())
    dashes = [DASHES[shades[:k].count(shade) % len(DASHES)] for k, shade in enumerate(shades)]
    legend = alt.Legend(title=None, columns=ABREAST, symbolType="stroke", symbolStrokeWidth=2, symbolSize=300)
    return {
        "color": alt.Color(field, scale=alt.Scale(domain=names, range=shades), legend=legend),
        "strokeDash": alt.StrokeDash(field, scale=alt.Scale(domain=names, range=dashes), legend=legend),
    }


def legend_height(names: int) -> int:
    """Return the pixels that the legend of ``told_apart`` takes."""
    return LEGEND * math.ceil(names / ABREAST)
