"""Legends: colours by family, dashes within a family, and as many columns as fit."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import altair as alt

from longwave.platform.figures.frame import LEGEND, ROOMY

DASHES: list[list[int]] = [
    [1, 0], [7, 3], [2, 3], [10, 3, 2, 3], [14, 4], [5, 2, 1, 2, 1, 2], [1, 6], [12, 3, 2, 3, 2, 3],
]  # fmt: skip
"""Dash patterns of the first, second, … line of one colour: pixels drawn and skipped."""
ABREAST = 3
"""Columns of names for which a figure reserves height."""
MOST = 8
"""Maximal columns of names."""
SIGN, LETTER = 42, 0.55 * ROOMY
"""Width of a name's symbol with the gap to the next name, and of a letter as files are laid out, in pixels."""


def names_abreast(names: Sequence[str], room: str = "width") -> Any:
    """Return the number of columns of names that fit into ``room``, an expression: by default the inner width."""
    expression = "1"
    for count in range(2, min(MOST, len(names)) + 1):
        width = sum(SIGN + LETTER * max(map(len, names[k::count])) for k in range(count))
        expression = f"{room} >= {width:.0f} ? {count} : {expression}"
    return alt.ExprRef(expression)


def line_styles(field: str, tints: Mapping[str, str]) -> dict[str, Any]:
    """Return colours and dashes of named lines: models of one family share a colour.

    Args:
        field: Field of the names, in Altair's notation.
        tints: Colours by name.
    """
    names, colours = list(tints), list(tints.values())
    dashes = [DASHES[colours[:k].count(shade) % len(DASHES)] for k, shade in enumerate(colours)]
    symbol_options: dict[str, Any] = {"symbolType": "stroke", "symbolStrokeWidth": 2, "symbolSize": 300}
    legend = alt.Legend(title=None, columns=names_abreast(names), **symbol_options)
    return {
        "color": alt.Color(field, scale=alt.Scale(domain=names, range=colours), legend=legend),
        "strokeDash": alt.StrokeDash(field, scale=alt.Scale(domain=names, range=dashes), legend=legend),
    }


def legend_height(names: int) -> int:
    """Return an upper bound on the height of the legend of ``line_styles``, in pixels."""
    return LEGEND * math.ceil(names / ABREAST)
