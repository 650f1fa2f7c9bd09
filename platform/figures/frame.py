"""What all figures share: frame, axes, and conversion to SVG and PNG."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from statistics import median
from typing import Any

import altair as alt
from altair.utils import schemapi

from longwave.platform.figures.svg import compact_svg, escape_text, to_json
from longwave.platform.wording import list_first

INK = "#010203"
"""Placeholder for the page's text colour, replaced when an SVG is written."""
FAINT = "#868E97"
LINE = 28
"""Height of a row of a figure, in pixels."""
AXIS, LEGEND = 60, 30
"""Height of an axis with its title, and of a legend, in pixels."""
POINTS = 64
"""Maximal points of a line: more cannot be distinguished on a page."""
FAR = 100.0
"""Largest ratio of a scale's end to the median of its values, where a figure cuts outliers off."""
TOLD = 8
"""Names in the text alternative of a figure; it counts the others."""
ROOM = 36
"""Width of a column of cells, for a word and a slanted name above it, in pixels."""
SLANT = -40
"""Angle in degrees of slanted names above columns, which read upwards to the right."""
LETTERS, ROOMY = 12, 15
"""Font size of axes, and the larger one used for layout, because a reader's font may be wider; in pixels."""
LONGEST_LABEL = 240
"""Length from which a name at an axis or in a legend is cut, in pixels."""
PAGE = "page"
"""Name of the whole figure's width in expressions: unlike ``width``, that of its inner part, no layout changes it."""
FONT = "system-ui, sans-serif"
"""Font of an SVG file; a figure on a page uses the page's."""
CONFIG: dict[str, Any] = {
    "mark": {"aria": False},
    "view": {"stroke": None},
    "axis": {"labelFontSize": LETTERS, "titleFontSize": LETTERS, "titleFontWeight": "normal",
             "labelLimit": LONGEST_LABEL,
             "gridColor": FAINT, "gridOpacity": 0.25, "domainColor": FAINT, "tickColor": FAINT},
    "axisYDiscrete": {"labelFlush": False},
    "legend": {"labelFontSize": LETTERS, "titleFontSize": LETTERS, "labelLimit": LONGEST_LABEL, "orient": "top",
               "title": None},
}  # fmt: skip


schemapi.DEBUG_MODE = False
"""Validation of each part against Vega-Lite's schema takes half of the time, so only tests validate."""

AnyChart = alt.Chart | alt.LayerChart
Mark = dict[str, Any]
"""One mark: its position, colour and tooltip."""


@dataclass(frozen=True)
class Figure:
    """A figure and what it shows.

    Attributes:
        chart: Vega-Lite, with its data.
        title: Its text alternative.
        height: Pixels, with axes and legend.
    """

    chart: AnyChart
    title: str
    height: int

    def sized(self, width: int) -> AnyChart:
        """Return an Altair chart of this width in pixels, with plain lists as data, for notebooks."""
        plain = json.loads(json.dumps(self.spec(width)))
        return alt.Chart.from_dict(plain)

    def spec(self, width: int | None = None) -> dict[str, Any]:
        """Return Vega-Lite JSON; texts contain no characters that XML does not allow.

        Args:
            width: Pixels; None: as wide as the container on a page.
        """
        spec = dict(to_json(self.chart.to_dict(validate=False, context={"pre_transform": False})))
        page = (
            {"expr": "isFinite(containerSize()[0]) ? containerSize()[0] : width"} if width is None else {"value": width}
        )
        spec["params"] = [*spec.get("params", ()), {"name": PAGE, **page}]
        return spec if width is None else {**spec, "width": width}

    def svg(self, width: int = 720) -> str:
        """Return a standalone SVG: dark on light or light on dark, as the reader prefers.

        Args:
            width: Pixels.
        """
        return compact_svg(_to_svg(json.dumps(self.spec(width)))).replace(
            "<svg ", f'<svg role="img" aria-label="{escape_text(self.title)}" ', 1
        )

    def png(self, width: int = 720, scale: float = 2.0) -> bytes:
        """Return a PNG on white."""
        import vl_convert

        return bytes(vl_convert.vegalite_to_png({**self.spec(width), "background": "white"}, scale=scale))


def frame_chart(chart: Any, title: str, height: int) -> Figure:
    """Return a chart in the frame that all figures share.

    Args:
        chart: Altair chart.
        title: Its text alternative.
        height: Pixels, with axes and legend.
    """
    fit = alt.AutoSizeParams(type="fit", contains="padding")
    return Figure(chart.properties(height=height, width="container", autosize=fit).configure(**CONFIG), title, height)


def as_data(marks: Iterable[Mapping[str, Any]]) -> alt.InlineData:
    """Return marks as a chart's data: as a tuple, because Altair copies lists for each layer."""
    return alt.InlineData(values=tuple(dict(mark) for mark in marks))


def width_condition(count: int, roomy: float, narrow: float) -> Any:
    """Return an expression for one of two numbers: ``roomy`` if each of ``count`` columns is at least ``ROOM`` wide."""
    return alt.ExprRef(f"width < {ROOM * count} ? {narrow} : {roomy}")


def number_axis(title: str | list[str], values: Iterable[float], log: bool, **axis_options: Any) -> dict[str, Any]:
    """Return scale and axis of a number: logarithmic if ``log`` and there are positive numbers. Ticks are at 1, 2 and 5
    of each decade, or only at decades if there are more than four; if all numbers are equal, there.
    """
    positive = [v for v in values if v > 0]
    if not log or not positive:
        return {"scale": alt.Scale(zero=False, nice=True), "axis": alt.Axis(title=title, **axis_options)}
    first, last = math.floor(math.log10(min(positive))), math.floor(math.log10(max(positive))) + 1
    steps = (1, 2, 5) if last - first <= 4 else (1,)
    ticks = [float(f"{step}e{decade}") for decade in range(first, last + 1) for step in steps]
    inside = [tick for tick in ticks if min(positive) <= tick <= max(positive)]
    tick_options = {"values": ticks} if len(inside) > 1 else {"tickCount": 5}
    if len({*positive}) == 1:  # Vega would write it with all its digits
        tick_options = {"values": [float(f"{positive[0]:.4g}")]}
    return {
        "scale": alt.Scale(type="log", nice=False, padding=10),
        "axis": alt.Axis(title=title, format="~g", labelOverlap=True, labelBound=8, **tick_options, **axis_options),
    }


def least_shown(values: Iterable[float], log: bool) -> float:
    """Return the least number that ``number_axis`` can show, where marks of smaller ones are drawn: the smallest
    positive one on a logarithmic axis, −∞ on a linear one.
    """
    return min((value for value in values if value > 0), default=-math.inf) if log else -math.inf


def ends_without_outliers(values: Sequence[float], goal: str) -> list[float]:
    """Return the smallest and the largest value of a scale; the largest error is at most ``FAR`` times the median:
    that of a trial that nearly diverged would leave no room for the others.
    """
    far = FAR * median(values) if goal == "min" else math.inf
    return [min(values), max(min(values), min(max(values), far))]


def number_axis_without_outliers(title: str, values: Sequence[float], goal: str, log: bool) -> dict[str, Any]:
    """Return ``number_axis`` of a scale that ends where ``ends_without_outliers`` says; its marks must be clipped."""
    ends = ends_without_outliers(values, goal)
    cut_axis = number_axis(title, [value for value in values if value <= ends[1]], log)
    if ends[0] < ends[1]:
        cut_axis["scale"].domain = ends
    return cut_axis


def thin_points(count: int, limit: int = POINTS, always: Sequence[int] = ()) -> list[int]:
    """Return the indices of a line's points to draw: both ends, those in ``always``, and some between."""
    if count <= limit:
        return list(range(count))
    even = {round(k * (count - 1) / (limit - 1)) for k in range(limit)}
    return sorted(even | set(always))


def list_names(names: Sequence[str]) -> str:
    """Return the first few names for a text alternative, and the number of others."""
    return list_first(names, TOLD)


@lru_cache(maxsize=256)
def _to_svg(text: str) -> str:
    """Return the SVG of Vega-Lite JSON, with text in ``currentColor``."""
    import vl_convert

    spec = json.loads(text)
    spec["config"] |= {"background": "transparent", "font": FONT, "aria": False, "text": {"color": INK}}
    sizes = {"labelFontSize": ROOMY, "titleFontSize": ROOMY, "labelLimit": spec["width"] // 2}
    for part in ("axis", "legend"):
        spec["config"][part] |= {**sizes, "labelColor": INK, "titleColor": INK}
    svg = str(vl_convert.vegalite_to_svg(spec)).replace(INK, "currentColor")
    return svg.replace(f'font-size="{ROOMY}px"', f'font-size="{LETTERS}px"')
