"""Learning curves in panels, read back from their SVG, against the numbers they were drawn from."""

from __future__ import annotations

import math
import re
import xml.etree.ElementTree as ET

import pytest
from hypothesis import given
from hypothesis import strategies as some

from longwave.platform.figures.panels import DEEP, PLOT, CurveLine, Panel, draw_panels

SVG = "{http://www.w3.org/2000/svg}"
VALUES = some.lists(some.floats(1e-6, 1e6), min_size=2, max_size=120)


def drawn(svg: str) -> list[list[tuple[float, float]]]:
    """Return the points of each line of a picture, in half pixels."""
    lines = []
    for start, steps in re.findall(r"M(-?\d+,-?\d+)(?:l|h0)((?:-?\d+,-?\d+ ?)*)", svg):
        x, y = map(float, start.split(","))
        points = [(x, y)]
        for step in steps.split():
            dx, dy = map(float, step.split(","))
            points.append((points[-1][0] + dx, points[-1][1] + dy))
        lines.append(points)
    return lines


def axis_ends(svg: str) -> list[str]:
    """Return the texts at the upper and the lower end of the y axis."""
    return [text.text or "" for text in ET.fromstring(svg).findall(f"{SVG}defs//{SVG}text")][:2]


def one(values: list[float], log: bool, points: int = 64, best: int | None = None) -> str:
    return draw_panels([Panel("a", "#000", [CurveLine([*enumerate(values, 1)], best)])], "mse", log, points=points)


@given(VALUES, some.booleans())
def test_every_point_lies_within_half_a_step_of_its_number(values: list[float], log: bool) -> None:
    line = drawn(one(values, log, points=1000))[0]
    scaled = [math.log(min(v, 10 * min(values))) if log else v for v in values]
    low, high = min(scaled), max(scaled)
    for k, (x, y) in enumerate(line):
        assert abs(x - 2 * PLOT * k / (len(values) - 1)) <= 0.5
        up = (scaled[k] - low) / (high - low) if high > low else 0.5
        assert abs(y - 2 * DEEP * (1 - up)) <= 0.51


@given(VALUES, some.integers(8, 64), some.integers(1, 120))
def test_a_line_keeps_its_ends_its_best_epoch_and_few_points(values: list[float], points: int, best: int) -> None:
    svg = one(values, False, points, best)
    line, full = drawn(svg)[0], drawn(one(values, False, 1000))[0]
    assert line[0] == full[0] and line[-1] == full[-1] and len(line) <= points + 1
    dots = re.findall(r"M(\d+),(\d+)h0\"", svg)
    assert best > len(values) or full[best - 1] in line
    wanted = [tuple(str(int(v)) for v in full[best - 1])] if best <= len(values) else []
    assert dots == wanted


def test_a_line_that_broke_ends_in_a_cross_and_one_that_has_no_number_is_not_drawn() -> None:
    lines = [CurveLine([(1, 1.0), (2, 4.0)], None, True), CurveLine([(1, math.nan), (2, math.inf)]), CurveLine([])]
    svg = draw_panels([Panel("a", "#000", lines), Panel("b", "#000", [])], "mse", False)
    assert svg.count("m-6,-6l12,12m0,-12l-12,12") == 1 and len(drawn(svg)) == 1
    assert [text.text for text in ET.fromstring(svg).iter(f"{SVG}text")][-2:] == ["a", "b"]


def test_what_is_not_positive_has_no_place_on_a_logarithmic_axis() -> None:
    [line] = drawn(one([0.0, 1.0, -1.0, 4.0], log=True))
    assert [y for _, y in line] == [2 * DEEP, 0]


@pytest.mark.parametrize(("diverged", "top"), [([9.0], "9"), ([1e14, 25.0], "≥ 20"), ([20.0], "20")])
def test_an_epoch_that_blew_up_does_not_flatten_all_others(diverged: list[float], top: str) -> None:
    better, worse = (CurveLine([*enumerate([*diverged, best], 1)]) for best in (0.2, 2.0))
    svg = draw_panels([Panel("a", "#000", [better]), Panel("b", "#000", [worse])], "mse", True)
    assert axis_ends(svg)[0] == top
    assert all(0 <= y <= 2 * DEEP for line in drawn(svg) for _, y in line)
    straight = draw_panels([Panel("a", "#000", [better, worse])], "accuracy", False)
    assert axis_ends(straight)[0] == f"{diverged[0]:g}".replace("e+", "e")


@pytest.mark.parametrize(("limit", "top"), [(None, "≥ 5e−4"), (0.168, "≥ 0.168"), (1e3, "9")])
def test_an_axis_reaches_from_the_best_error_to_the_trivial_predictor(limit: float | None, top: str) -> None:
    svg = draw_panels([Panel("a", "#000", [CurveLine([(1, 9.0), (2, 0.17), (3, 5e-5)])])], "mse", True, limit)
    assert axis_ends(svg) == [top, "5e−5"] and ("dasharray" in svg) is (limit == 0.168)


@pytest.mark.parametrize("value", [1e-300, -1.234e-5, 0.012345, 5.0, 99.951, 12345.6, -123456.0])
def test_an_end_of_an_axis_is_short_enough_to_stand_left_of_the_plot(value: float) -> None:
    svg = draw_panels([Panel("a", "#000", [CurveLine([(1, value), (2, value + abs(value))])])], "mse", False)
    assert max(map(len, axis_ends(svg))) <= 8


@pytest.mark.parametrize(("limit", "y"), [(10.0, 65.0), (1e3, None), (-1.0, None), (None, None)])
def test_the_trivial_predictor_is_a_line_where_a_curve_comes_near(limit: float | None, y: float | None) -> None:
    svg = draw_panels(
        [Panel("a", "#000", [CurveLine([(1, 1.0), (2, 100.0)]), CurveLine([(1, 100.0)])])], "mse", True, limit
    )
    heights = re.findall(r'M56,([\d.]+)H230" [^>]*dasharray', svg)
    assert [float(at) for at in heights] == ([] if y is None else [y])


def test_each_panel_has_a_view_of_its_own_and_all_have_one_pair_of_axes() -> None:
    root = ET.fromstring(
        draw_panels([Panel(f"<m{k}>", "#000", [CurveLine([(1, k + 1.0)])]) for k in range(5)], "mse ↓", False)
    )
    views = [view.attrib for view in root.iter(f"{SVG}view")]
    assert [view["id"] for view in views] == [f"p{k}" for k in range(5)]
    assert len({view["viewBox"] for view in views}) == 5 == len([*root.iter(f"{SVG}use")])
    axes = [text.text for text in root.findall(f"{SVG}defs//{SVG}text")]
    assert axes == ["5", "1", "1", "1", "epoch"]
    assert root.get("aria-label") == "Mse ↓ by epoch, one panel a row: <m0>, <m1>, <m2>, <m3>, <m4>"


def test_a_long_title_ends_in_dots() -> None:
    texts = [
        t.text for t in ET.fromstring(draw_panels([Panel("x" * 300, "#000", [])], "mse", False)).iter(f"{SVG}text")
    ]
    assert texts[-1] == "x" * 29 + "…"
