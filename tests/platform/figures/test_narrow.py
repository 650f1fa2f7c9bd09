"""Figures as narrow as a phone: nothing is cut, and no word stands on a mark. Read from the pictures themselves."""

from __future__ import annotations

import math
import random
import re
import xml.etree.ElementTree as ET
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from itertools import combinations, pairwise

import altair as alt
import pytest
import vl_convert
from boards import printed, retrained, trials

from longwave.platform.boards.board import rows
from longwave.platform.boards.overview import overview
from longwave.platform.boards.pairs import pairs
from longwave.platform.boards.row import Row
from longwave.platform.figures.curves import curves
from longwave.platform.figures.forest import forest
from longwave.platform.figures.frame import LINE, ROOMY, SLANT, Figure, as_data, frame_chart
from longwave.platform.figures.grid import STATES, Square, grid
from longwave.platform.figures.heat_map import heat_map
from longwave.platform.figures.legend import line_styles, names_abreast
from longwave.platform.figures.matrix import matrix
from longwave.platform.figures.ratios import Ratio, ratios
from longwave.platform.figures.scatter import against_cost
from longwave.platform.records.run import Point

PHONE, EDITION, DESKTOP = 366, 480, 1200
MANY = 40
LETTER = 0.5
"""Of the height of a letter: its width, at least."""
SVG = "{http://www.w3.org/2000/svg}"
NAMES = [f"Antisymmetric RNN (hidden {k})" for k in range(10, 20)]


@dataclass(frozen=True)
class Box:
    """What a text or a dot takes of a picture, in pixels."""

    text: str
    left: float
    right: float
    y: float


def boxes(node: ET.Element, x: float = 0.0, y: float = 0.0, dots: bool = False) -> Iterator[Box]:
    """Yield texts and dots of a picture, as they stand."""
    transform = node.get("transform", "")
    if moved := re.search(r"translate\(([-\d.e]+)[, ]([-\d.e]+)\)", transform):
        x, y = x + float(moved[1]), y + float(moved[2])
    if node.get("opacity") == "0":
        return
    if dots:
        yield Box("", x, x, y)
    elif node.tag == f"{SVG}text" and (size := float((node.get("font-size") or "").rstrip("px"))):
        turned = re.search(r"rotate\(([-\d.]+)", transform)
        share = {"end": 1.0, "middle": 0.5}.get(node.get("text-anchor") or "", 0.0)
        for text in filter(None, (node.text, *(line.text for line in node))):
            wide = LETTER * size * len(text) * math.cos(math.radians(float(turned[1]) if turned else 0.0))
            yield Box(text, x - share * wide, x + (1 - share) * wide, y)
    for part in node:
        yield from boxes(part, x, y, "mark-symbol role-mark" in (node.get("class") or ""))


def read(figure: Figure | None, width: int) -> list[Box]:
    assert figure
    return list(boxes(ET.fromstring(vl_convert.vegalite_to_svg(figure.spec(width)))))


def learning() -> Figure:
    made = trials(retrained("a", [0.1 * k for k in range(1, 11)]))
    made = [replace(t, config=replace(t.config, seed=10**9 + t.config.seed)) for t in made]
    points = [Point(t.config.id, k, 1.0, 1.0 / k, 1.0, 0.0) for t in made for k in (1, 2, 3)]
    return curves(made, points, "", "valid", "validation mse", log=True)


def covered() -> Figure:
    return grid([Square(name, "adding", "done", "10", "") for name in NAMES], NAMES, ["adding"])


def printed_over() -> Figure:
    title = "error of Antisymmetric RNN over that of Lipschitz RNN: left of 1 is better"
    return ratios([Ratio(name, 2.0, 1.0, 3.0, "#000000", "") for name in NAMES], title)


def each_other() -> Figure | None:
    board = rows([retrained(f"m{k}", [k + 0.1 * j for j in range(5)]) for k in range(10)], [])
    return matrix(pairs(board, board), {row.key: name for row, name in zip(board, NAMES, strict=True)})


def costs() -> Figure | None:
    drawn = random.Random(1)
    board = rows([retrained(f"m{k}", [10 ** drawn.random()]) for k in range(MANY)], [])
    board = [replace(row, parameters=int(1000 * 10 ** drawn.random())) for row in board]
    return against_cost(board, [f"model {k}" for k in range(MANY)], "parameters", log=True)


@pytest.mark.parametrize("width", [PHONE, DESKTOP])
@pytest.mark.parametrize("draw", [learning, covered, printed_over, each_other, costs])
def test_no_text_is_cut_on_a_phone_and_on_a_desktop(draw: Callable[[], Figure | None], width: int) -> None:
    texts = [box for box in read(draw(), width) if box.text]
    assert texts
    assert not [box for box in texts if box.left < -1 or box.right > width + 1]


def test_a_file_laid_out_with_a_larger_font_has_room_for_each_name_of_its_legend() -> None:
    models = "τ-GRU,LEM,coRNN,GRU,UnICORNN,Mamba,LinOSS,LRU,Lipschitz RNN,DeltaNet,minGRU,tanh RNN,LSTM".split(",")
    marks = [{"model": name, "x": 1.0, "value": 12345.6} for name in models]
    lines = line_styles("model:N", dict.fromkeys(models, "#000000"))
    figure = frame_chart(alt.Chart(as_data(marks)).mark_line().encode(x="x:Q", y="value:Q", **lines), "", 200)
    spec = figure.spec()
    for part in ("legend", "axis"):
        spec["config"][part] |= {"labelFontSize": ROOMY, "titleFontSize": ROOMY}
    texts = [box for box in boxes(ET.fromstring(vl_convert.vegalite_to_svg({**spec, "width": 720}))) if box.text]
    assert {box.text for box in texts} >= {*models}
    assert not [box for box in texts if box.right > 720]


def test_names_above_columns_read_upwards_to_the_right() -> None:
    one = grid([Square("LEM", name, "done", "10", "") for name in NAMES], ["LEM"], NAMES)
    for width, angle in ((DESKTOP, SLANT), (PHONE, -90)):
        assert set(re.findall(r"rotate\(([-\d.]+)", one.svg(width))) == {f"{angle}"}


@pytest.mark.parametrize("width", [PHONE, 720, DESKTOP])
@pytest.mark.parametrize("count", [1, 5, 9, 18])
def test_a_grid_has_room_for_its_legend_its_names_and_its_lines(count: int, width: int) -> None:
    models, boards = ([f"{name} {k}" for k in range(n)] for name, n in (("model", 13), ("A board with a name", count)))
    squares = [Square(model, board, "done", "10", "") for model in models for board in boards]
    texts = {box.text: box for box in read(grid(squares, models, boards), width) if box.text}
    assert {*STATES, *models, *boards} <= texts.keys()
    assert not [box for box in texts.values() if box.y < 0 or box.left < -1 or box.right > width + 1]
    assert texts["model 1"].y - texts["model 0"].y > LINE - 6


@pytest.mark.parametrize("width", [PHONE, DESKTOP])
@pytest.mark.parametrize("count", [1, 3])
def test_a_heat_map_of_few_models_has_room_for_its_cells_below_long_names(count: int, width: int) -> None:
    tasks = [f"A board with a very long name {k}" for k in range(12)]
    groups = [retrained(f"m{k}", [1.0], task=task, trivial={"mean": 2.0}) for task in tasks for k in range(count)]
    made = [replace(row, task_title=row.task) for row in rows(groups, [])]
    texts = read(heat_map(overview(made)), width)
    assert not [box for box in texts if box.text and (box.y < 0 or box.left < -1 or box.right > width + 1)]
    lines = [box.y for box in texts if re.fullmatch(r"M\d", box.text)]
    assert len(lines) == count and all(b - a > LINE - 6 for a, b in pairwise(sorted(lines)))
    assert max(box.y for box in texts if box.text in tasks) < min(lines) - LINE / 3


def test_a_legend_stands_in_fewer_lines_where_there_is_more_room() -> None:
    def lines(width: int) -> int:
        return len({box.y for box in read(covered(), width) if box.text in STATES})

    assert lines(PHONE) > lines(DESKTOP)


def test_names_of_one_letter_stand_abreast_and_a_single_name_alone() -> None:
    assert names_abreast(["a"]).to_dict() == {"expr": "1"}
    assert names_abreast(["a", "b"]).to_dict()["expr"].endswith("? 2 : 1")


@pytest.mark.parametrize("number", [0.02, 0.9])
def test_no_median_is_said_beside_a_printed_number_and_never_on_it(number: float) -> None:
    groups = [retrained("a", ["diverged"] * 5), retrained("b", [0.01, 0.02, 0.5, 0.8, 1.0])]
    board = rows(groups, [printed("a", number)])
    for width in (PHONE, DESKTOP):
        boxes_ = read(forest(board, [row.label for row in board], log=True), width)
        [word] = [box for box in boxes_ if box.text == "no median"]
        dots = [box for box in boxes_ if not box.text and abs(box.y - word.y) < 8]
        assert len(dots) == 1 and (word.left > dots[0].left) == (number < 0.1), "where there is more room"
        assert not word.left - 8 < dots[0].left < word.right + 8
        assert word.left >= 0 and word.right <= width


@pytest.mark.parametrize("width", [PHONE, EDITION, DESKTOP])
def test_names_beside_dots_stand_on_no_dot_and_on_no_other_name(width: int) -> None:
    read_boxes = read(costs(), width)
    names = [box for box in read_boxes if box.text.startswith("model")]
    dots = [box for box in read_boxes if not box.text]
    assert names and len(dots) == MANY
    assert not [(n, d) for n in names for d in dots if n.left < d.left < n.right and abs(n.y - 4 - d.y) < 6]
    assert not [p for p in combinations(names, 2) if p[0].left < p[1].right and p[1].left < p[0].right
                and abs(p[0].y - p[1].y) < 8]  # fmt: skip


@pytest.mark.parametrize("width", [PHONE, DESKTOP])
def test_names_beside_dots_that_a_far_line_presses_together_stand_on_no_other_name(width: int) -> None:
    simple = Row("t", "", "x", "X", "mse", "1", "min", 1000.0, kind="trivial")
    board = [replace(r, parameters=1000) for r in rows([retrained(f"m{k}", [k + 1.0]) for k in range(4)], [])]
    figure = against_cost([simple, *board], ["X", *(f"model {k}" for k in range(4))], "parameters", log=False)
    names = [box for box in read(figure, width) if box.text.startswith("model")]
    assert len(names) == 1, "their dots stand on each other"


def test_more_names_stand_beside_dots_where_there_is_more_room() -> None:
    on_phone, in_edition, on_desktop = (
        len([box for box in read(costs(), width) if box.text.startswith("model")])
        for width in (PHONE, EDITION, DESKTOP)
    )
    assert on_desktop > in_edition > on_phone > 0
