"""Legends: colours by family, dashes within one, and as many names side by side as there is room for."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import altair as alt

from longwave.platform.figures.frame import LEGEND

DASHES: list[list[int]] = [[1, 0], [7, 3], [2, 3], [10, 3, 2, 3], [14, 4]]
"""Of the first, second, … line of one colour, in pixels drawn and left out."""
ABREAST = 3
"""Names side by side for which a figure leaves room."""
MOST = 8
"""Names side by side, at most."""
SIGN, LETTER = 42, 6.6
"""Pixels that a name's sign takes, with the gap to the next name, and a letter."""


def names_abreast(names: Sequence[str]) -> Any:
    """Return how many names stand side by side, as an expression of the width that a figure turns out to have."""
    expression = "1"
    for count in range(2, min(MOST, len(names)) + 1):
        need = sum(SIGN + LETTER * max(map(len, names[k::count])) for k in range(count))
        expression = f"width >= {need:.0f} ? {count} : {expression}"
    return alt.ExprRef(expression)


def told_apart(field: str, tints: Mapping[str, str]) -> dict[str, Any]:
    """Return colour and dashes of named lines: models of one family share a colour.

    Args:
        field: Of the names, as Altair writes it.
        tints: Colours by name.
    """
    names, shades = list(tints), list(tints.values())
    dashes = [DASHES[shades[:k].count(shade) % len(DASHES)] for k, shade in enumerate(shades)]
    look: dict[str, Any] = {"symbolType": "stroke", "symbolStrokeWidth": 2, "symbolSize": 300}
    legend = alt.Legend(title=None, columns=names_abreast(names), **look)
    return {
        "color": alt.Color(field, scale=alt.Scale(domain=names, range=shades), legend=legend),
        "strokeDash": alt.StrokeDash(field, scale=alt.Scale(domain=names, range=dashes), legend=legend),
    }


def legend_height(names: int) -> int:
    """Return the pixels that the legend of ``told_apart`` takes, or more."""
    return LEGEND * math.ceil(names / ABREAST)
