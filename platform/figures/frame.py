"""What all figures share: their frame, their axes, and how one becomes a picture."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import altair as alt
from altair.utils import schemapi

from longwave.platform.figures.svg import compact_svg, escape_text, to_json

INK = "#010203"
"""Stands for the reader's text colour until a picture is written."""
FAINT = "#868E97"
LINE = 28
"""Pixels that a row of a figure takes."""
AXIS, LEGEND = 60, 30
"""Pixels that an axis with its title takes, and a legend."""
POINTS = 64
"""Most points that a line keeps: more cannot be told apart on a page."""
TOLD = 8
"""Names that are read out in place of a figure; of more it says how many."""
ROOM = 36
"""Pixels that a column of cells needs for a word and for a slanted name above it."""
SLANT = -40
"""Degrees by which names above columns are turned: they read upwards to the right."""
LETTERS, ROOMY = 12, 14
"""Pixels of an axis' letters, and as they are measured: a reader's font may be wider than the one here."""
FONT = "system-ui, sans-serif"
"""Of a picture; on a page a figure takes the page's."""
CONFIG: dict[str, Any] = {
    "mark": {"aria": False},
    "view": {"stroke": None},
    "axis": {"labelFontSize": LETTERS, "titleFontSize": LETTERS, "titleFontWeight": "normal", "labelLimit": 240,
             "gridColor": FAINT, "gridOpacity": 0.25, "domainColor": FAINT, "tickColor": FAINT},
    "axisYDiscrete": {"labelFlush": False},
    "legend": {"labelFontSize": LETTERS, "titleFontSize": LETTERS, "labelLimit": 240, "orient": "top", "title": None},
}  # fmt: skip


schemapi.DEBUG_MODE = False
"""Altair would check each part of a figure against Vega-Lite's schema as it is made: half of the time. Tests do."""

AnyChart = alt.Chart | alt.LayerChart
Mark = dict[str, Any]
"""One mark: where it stands, in which colour, and what it says when it is pointed at."""


@dataclass(frozen=True)
class Figure:
    """A figure and what it shows.

    Attributes:
        chart: Vega-Lite, with its data.
        title: What it shows, in words: read out in place of it.
        height: Pixels, its axes and legend included.
    """

    chart: AnyChart
    title: str
    height: int

    def sized(self, width: int) -> AnyChart:
        """Return Altair's chart, so many pixels wide, as a notebook shows it: its data are lists."""
        plain = json.loads(json.dumps({**self.spec(), "width": width}))
        return alt.Chart.from_dict(plain)

    def spec(self) -> dict[str, Any]:
        """Return it as Vega-Lite's JSON; texts are data, and hold nothing that XML has no place for."""
        return dict(to_json(self.chart.to_dict(validate=False, context={"pre_transform": False})))

    def svg(self, width: int = 720) -> str:
        """Return it as SVG, a file of its own: dark on light or light on dark, as the reader has it.

        Args:
            width: Pixels.
        """
        return compact_svg(_to_svg(json.dumps({**self.spec(), "width": width}))).replace(
            "<svg ", f'<svg role="img" aria-label="{escape_text(self.title)}" ', 1
        )

    def png(self, width: int = 720, scale: float = 2.0) -> bytes:
        """Return it as PNG on white."""
        import vl_convert

        return bytes(vl_convert.vegalite_to_png({**self.spec(), "width": width, "background": "white"}, scale=scale))


def frame_chart(chart: Any, title: str, height: int) -> Figure:
    """Return a chart in the frame that all have.

    Args:
        chart: Of Altair.
        title: What it shows, in words.
        height: Pixels, its axes and legend included.
    """
    fit = alt.AutoSizeParams(type="fit", contains="padding")
    return Figure(chart.properties(height=height, width="container", autosize=fit).configure(**CONFIG), title, height)


def as_data(marks: Iterable[Mapping[str, Any]]) -> alt.InlineData:
    """Return marks as a chart's data: as a tuple, which Altair does not copy with each part that they become."""
    return alt.InlineData(values=tuple(dict(mark) for mark in marks))


def width_condition(count: int, roomy: float, narrow: float) -> Any:
    """Return one of two numbers, as an expression: the first where each of ``count`` columns is ``ROOM`` wide."""
    return alt.ExprRef(f"width < {ROOM * count} ? {narrow} : {roomy}")


def number_axis(title: str | list[str], values: Iterable[float], log: bool, **more: Any) -> dict[str, Any]:
    """Return scale and axis of a number: logarithmic if that is asked for and there are positive numbers.

    Ticks stand at 1, 2 and 5 of each decade, at decades alone where there are more than four.
    """
    positive = [v for v in values if v > 0]
    if not log or not positive:
        return {"scale": alt.Scale(zero=False, nice=True), "axis": alt.Axis(title=title, **more)}
    first, last = math.floor(math.log10(min(positive))), math.floor(math.log10(max(positive))) + 1
    steps = (1, 2, 5) if last - first <= 4 else (1,)
    ticks = [float(f"{step}e{decade}") for decade in range(first, last + 1) for step in steps]
    inside = [tick for tick in ticks if min(positive) <= tick <= max(positive)]
    chosen = {"values": ticks} if len(inside) > 1 else {"tickCount": 5}
    return {
        "scale": alt.Scale(type="log", nice=False, padding=10),
        "axis": alt.Axis(title=title, format="~g", labelOverlap=True, labelBound=8, **chosen, **more),
    }


def thin_points(count: int, limit: int = POINTS, always: Sequence[int] = ()) -> list[int]:
    """Return the places of a line's points that are drawn: the ends, those to be kept, and some between."""
    if count <= limit:
        return list(range(count))
    even = {round(k * (count - 1) / (limit - 1)) for k in range(limit)}
    return sorted(even | set(always))


def list_names(names: Sequence[str]) -> str:
    """Return names as a list that is read out: the first few, and how many more there are."""
    return ", ".join(names[:TOLD]) + (f" and {len(names) - TOLD} more" if len(names) > TOLD else "")


@lru_cache(maxsize=256)
def _to_svg(text: str) -> str:
    """Return the SVG of Vega-Lite's JSON, its text in the colour of what is around it."""
    import vl_convert

    spec = json.loads(text)
    spec["config"] |= {"background": "transparent", "font": FONT, "aria": False, "text": {"color": INK}}
    sizes = {"labelFontSize": ROOMY, "titleFontSize": ROOMY, "labelLimit": spec["width"] // 3}
    for part in ("axis", "legend"):
        spec["config"][part] |= {**sizes, "labelColor": INK, "titleColor": INK}
    drawn = str(vl_convert.vegalite_to_svg(spec)).replace(INK, "currentColor")
    return drawn.replace(f'font-size="{ROOMY}px"', f'font-size="{LETTERS}px"')
