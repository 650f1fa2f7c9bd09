"""Figures, read as Vega-Lite's data, against numbers computed by hand."""

from __future__ import annotations

import xml.etree.ElementTree as ET
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from boards import printed, retrained, trials
from hypothesis import given
from hypothesis import strategies as some

from longwave.platform.boards.board import rows
from longwave.platform.boards.row import Row
from longwave.platform.figures.bars import BarPart, cost_bars
from longwave.platform.figures.curves import curves
from longwave.platform.figures.depth import LEAST, depth, measures_of, metric_of
from longwave.platform.figures.forest import forest, score_limits
from longwave.platform.figures.frame import POINTS, Figure, number_axis, thin_points
from longwave.platform.figures.grid import Square, grid
from longwave.platform.figures.palette import FAMILIES, NEUTRAL
from longwave.platform.figures.ratios import Ratio, ratios
from longwave.platform.figures.scatter import against_cost, against_length
from longwave.platform.records.run import Measure, Point
from longwave.platform.records.stored import Trial


def marks(figure: Figure, kind: str = "") -> list[dict[str, Any]]:
    """Return the data of all layers of a figure, which keeps Vega-Lite's schema; of a kind of mark, if it is named."""
    spec = figure.spec()
    type(figure.chart).from_dict(spec, validate=True)
    layers = spec.get("layer", [spec])
    sets = spec.get("datasets", {})
    unique: dict[str, dict[str, Any]] = {}
    for layer in layers:
        data = layer.get("data", {})
        for value in data.get("values") or sets.get(data.get("name"), []):
            if not kind or value.get("kind") == kind:
                unique[repr(value)] = value
    return list(unique.values())


def board() -> list[Row]:
    groups = [retrained("a", [1.0, 2.0, 3.0, 4.0, 5.0]), retrained("b", [4.0, 6.0, "diverged", "diverged", 8.0])]
    made = rows(groups, [printed("a", 0.5)])
    return [replace(row, family={"a": "gated", "b": "ODE"}.get(row.model, "")) for row in made]


@pytest.mark.integration
def test_a_forest_holds_medians_intervals_seeds_and_printed_numbers() -> None:
    made = forest(board(), ["A", "B"], log=False)
    assert sorted(m["value"] for m in marks(made, "seed")) == [1, 2, 3, 4, 4, 5, 6, 8]
    assert [(m["name"], m["value"]) for m in marks(made, "printed")] == [("A", 0.5)]
    assert [(m["name"], m["value"]) for m in marks(made, "median")] == [("A", 3.0), ("B", 8.0)]
    [a, b] = marks(made, "interval")
    assert (a["name"], a["low"], a["high"], a["tint"]) == ("A", 1.0, 5.0, FAMILIES["gated"])
    assert (b["name"], b["low"], b["high"]) == ("B", 4.0, 8.0), "to the worst number of the figure"
    [arrow] = marks(made, "open")
    assert (arrow["name"], arrow["value"]) == ("B", 8.0)


def test_where_large_is_good_an_open_interval_runs_to_the_least_number() -> None:
    made = forest(rows([retrained("a", [3.0, 4.0, 5.0, "diverged"], "max")], []), ["A"], log=False)
    [arrow], [bar] = marks(made, "open"), marks(made, "interval")
    assert arrow["value"] == 3.0 == bar["low"]


def test_a_row_of_which_most_diverged_says_so_in_place_of_a_median() -> None:
    made = forest(rows([retrained("a", [1.0, "diverged", "diverged"])], []), ["A"], log=False)
    assert marks(made, "median") == []
    assert [m["tip"] for m in marks(made, "none")] == ["no median: 1 ok, 2 diverged"]


def test_the_best_trivial_predictor_is_a_line_and_no_row() -> None:
    simple = [Row("t", "", "x", "X", "mse", "1", "min", mean, kind="trivial") for mean in (0.3, 0.9)]
    made = forest([*simple, *rows([retrained("a", [1.0, 2.0])], [])], ["X", "Y", "A"], log=False)
    assert [m["value"] for m in marks(made, "limit")] == [0.3]
    assert {m.get("name") for m in marks(made)} == {None, "A"}


def test_the_weakest_trivial_predictor_is_a_line_where_the_numbers_reach_it() -> None:
    simple = [Row("t", "", "x", "X", "mse", "1", "min", mean, kind="trivial") for mean in (0.3, 0.9, 1.5)]
    for scores, weakest in (([1.0, 2.0], [1.5]), ([0.4, 0.5], [])):
        made = forest([*simple, *rows([retrained("a", scores)], [])], ["X", "Y", "Z", "A"], log=False)
        assert [m["value"] for m in marks(made, "chance")] == weakest
    assert [m["kind"] for m in score_limits(simple, [])] == ["limit"], "without numbers there is no range"


def test_on_a_logarithmic_axis_what_is_not_positive_is_an_arrow_at_its_left_end() -> None:
    made = forest(rows([retrained("a", [0.0, 0.0]), retrained("b", [0.0, 1.0, 2.0])], []), ["A", "B"], log=True)
    assert sorted(m["value"] for m in marks(made, "seed")) == [1, 2]
    arrows = {(m["name"], m["value"], m["tip"].partition(": ")[2]) for m in marks(made, "below")}
    assert arrows == {("A", 1.0, "0"), ("A", 1.0, "0 [0, 0] (50 %)"), ("B", 1.0, "0")}
    made = forest(rows([retrained("a", [0.0, -1.0])], []), ["A"], log=True)
    assert sorted(m["value"] for m in marks(made, "seed")) == [-1, 0], "without a positive number the axis is linear"


def test_a_curve_keeps_its_ends_its_best_epoch_and_where_it_broke() -> None:
    [one, two] = trials(retrained("a", [1.0, "diverged"]))
    one = replace(one, run=replace(one.run, best_epoch=333)) if one.run else one
    points = [Point(t.config.id, k, 1.0, 1 / k, 0.0, 0.0) for t in (one, two) for k in range(1, 1001)]
    made = marks(curves([one, two], points, "gated", "valid", "validation", log=True))
    for trial, mark, at in ((one, "best", 333), (two, "broken", 1000)):
        mine = [m for m in made if m["name"] == f"seed {trial.config.seed}"]
        line = [m["epoch"] for m in mine if not m["mark"]]
        assert line[0] == 1 and line[-1] == 1000 and len(line) <= 65
        assert [(m["mark"], m["epoch"], m["value"]) for m in mine if m["mark"]] == [(mark, at, 1 / at)]


@given(some.integers(0, 500), some.integers(2, 80), some.integers(0, 499))
def test_thinning_keeps_the_ends_and_what_is_asked_for_and_no_more_than_most(n: int, limit: int, index: int) -> None:
    shown = thin_points(n, limit, (index,) if index < n else ())
    assert shown == sorted(set(shown)) and len(shown) <= limit + 1
    assert n == 0 or {0, n - 1} <= set(shown)
    assert index >= n or index in shown


@given(some.lists(some.floats(1e-9, 1e9), min_size=1, max_size=20))
def test_a_logarithmic_axis_has_ticks_inside_its_numbers_or_leaves_them_to_vega(numbers: list[float]) -> None:
    made = number_axis("x", numbers, log=True)
    ticks = made["axis"].to_dict().get("values", [])
    assert made["scale"].to_dict()["type"] == "log"
    inside = [tick for tick in ticks if min(numbers) <= tick <= max(numbers)]
    assert not ticks or len(inside) > 1 or len({*numbers}) == 1
    assert "type" not in number_axis("x", [0.0, -1.0], log=True)["scale"].to_dict(), "there is nothing to show"


def test_a_single_number_on_a_logarithmic_axis_has_a_tick_of_four_digits() -> None:
    assert number_axis("x", [156.760467884] * 2, log=True)["axis"].to_dict()["values"] == [156.8]


def test_the_front_joins_the_rows_that_none_is_cheaper_and_better_than() -> None:
    sizes = {"a": 10, "b": 20, "c": 30, "d": 40}
    scores = {"a": 4.0, "b": 5.0, "c": 2.0, "d": 3.0}
    made = [replace(r, parameters=sizes[r.model]) for r in rows([retrained(m, [s]) for m, s in scores.items()], [])]
    figure = against_cost(made, [row.model for row in made], "parameters", log=False)
    assert figure
    front = [value["name"] for value in _data(figure, 0)]
    assert front == ["a", "c"]
    assert sorted(value["name"] for value in _data(figure, 1)) == ["a", "b", "c", "d"]
    assert against_cost([replace(row, parameters=None) for row in made], ["w"] * 4, "parameters", log=False) is None


def test_the_time_to_train_a_seed_is_shared_by_all_runs_that_took_it() -> None:
    [row] = rows([retrained("a", [4.0, 5.0, "diverged", "failed", "missing"])], [])
    figure = against_cost([replace(row, train_seconds=8.0)], ["a"], "train", log=False)
    assert [value["cost"] for value in _data(figure, 1)] == [2.0], "a missing run took no time"


def test_scores_against_length_take_the_number_of_the_variant_and_the_best_row_there() -> None:
    made = [
        replace(row, variant=variant, model=model, title=model)
        for variant, model, score in (("N=10", "m", 2.0), ("N=100", "m", 3.0), ("N=100", "m", 1.0), ("other", "m", 9.0))
        for row in rows([retrained("m", [score])], [])
    ]
    figure = against_length(made, log=False)
    assert figure and [(m["cost"], m["value"]) for m in _data(figure, 0)] == [(10.0, 2.0), (100.0, 1.0)]
    assert figure.title == "Test MSE ↓ against length"
    assert against_length(made[1:], log=False) is None, "one length is no figure"
    again = [replace(made[0], variant="N=10,test=2", scores=[7.0], median=7.0), *made[1:]]
    newer = against_length([made[0], *again], log=False)
    assert newer and [(m["cost"], m["value"]) for m in _data(newer, 0)] == [(10.0, 7.0), (100.0, 1.0)]
    for first, second, axis in (("h=1", "h=25 test=2", "steps ahead"), ("T=5", "T=9,test=2", "length")):
        named = against_length([replace(made[0], variant=first), replace(made[1], variant=second)], log=False)
        assert named and named.title == f"Test MSE ↓ against {axis}"
    for other in ("F=8", "seed=12008", "h75", "T=64,kv=4", "h=25"):
        assert against_length([made[0], replace(made[1], variant=other)], log=False) is None, f"{other} is no length"


def test_ratios_have_a_line_at_one_and_a_band_for_the_margin() -> None:
    lines = [Ratio("x", 2.0, 1.5, 2.5, "#000000", "twice"), Ratio("y", 0.5, None, None, "#000000", "half")]
    drawn = marks(ratios(lines, "ratio", 1.25))
    assert {"value": 1.0, "tip": "equal errors"} in drawn and {"low": 0.8, "high": 1.25} in drawn
    assert [(m["value"], m["low"], m["high"]) for m in drawn if "name" in m] == [(2.0, 1.5, 2.5), (0.5, 0.5, 0.5)]
    [low] = [m["low"] for m in marks(ratios([Ratio("x", 0.5, 0.0, 2.0, "#000000", "")], "ratio")) if "name" in m]
    assert low == 0.5, "an interval from 0 begins at the smallest number of the axis"


def test_hostile_names_are_data_and_never_markup() -> None:
    name = "<script>alert(1)</script> & =1+1 \u202e"
    drawn = [
        forest(rows([retrained("a", [1.0, 2.0])], []), [name], log=False),
        cost_bars([BarPart(name, "search", 1.0, name)], name),
        grid([Square(name, name, "done", name, name)], [name], [name]),
    ]
    for figure in drawn:
        root = ET.fromstring(figure.svg())
        assert not [tag for tag in root.iter() if tag.tag.endswith("script")]
        assert "<script>alert(1)</script> & =1+1" in "".join(root.itertext())


def test_a_picture_takes_the_colour_of_the_page_and_says_what_it_shows() -> None:
    made = forest(board(), ["A", "B"], log=False)
    root = ET.fromstring(made.svg(500))
    assert root.get("role") == "img" and root.get("aria-label") == made.title and root.get("width") == "500"
    assert {text.get("fill") for text in root.iter("{http://www.w3.org/2000/svg}text")} == {"currentColor"}
    assert made.png(200, 1.0).startswith(b"\x89PNG")


def test_bars_say_hours_of_each_phase_longest_first() -> None:
    figure = cost_bars(
        [BarPart("a", "search", 1.0, ""), BarPart("b", "search", 2.0, ""), BarPart("a", "retrain", 4.0, "")], "hours"
    )
    assert figure.title == "hours, most first: a, b"
    assert figure.spec()["encoding"]["y"]["sort"] == ["a", "b"]


def _data(figure: Figure, layer: int) -> list[dict[str, Any]]:
    spec = figure.spec()
    data = spec["layer"][layer]["data"]
    return list(data.get("values") or spec["datasets"][data["name"]])


@pytest.mark.parametrize("family", ["", "gated"])
def test_a_row_of_no_family_is_grey(family: str) -> None:
    made = forest([replace(row, family=family) for row in rows([retrained("a", [1.0])], [])], ["A"], log=False)
    assert {m["tint"] for m in marks(made)} == {FAMILIES[family] if family else NEUTRAL}


def deep(
    model: str, layers: int, tests: list[float | str], energy: float = 1.0, **options: Any
) -> tuple[Row, list[Trial]]:
    """A row of a model with so many layers, and its retrainings, each with an energy."""
    [row], group = rows([made := retrained(model, tests, "max")], []), made
    own = [replace(t, config=replace(t.config, options={"layers": layers, **options})) for t in trials(group)]
    ended = [
        replace(t, run=t.run and replace(t.run, trial=t.config.id, measures=(Measure("energy", "1", energy),)))
        for t in own
    ]
    row = replace(row, layers=layers, options={"layers": layers, **options}, trials=[t.config.id for t in ended])
    return replace(row, family="gated", title=f"{row.title} (layers {layers})"), ended


@pytest.mark.integration
def test_depth_joins_the_medians_of_a_models_rows_and_leaves_out_models_of_one_depth() -> None:
    groups = [deep("a", 2, [90.0, 80.0, 85.0]), deep("a", 64, [30.0, 50.0, "diverged"], 0.0), deep("b", 2, [70.0])]
    board, ran = [row for row, _ in groups], [t for _, own in groups for t in own]
    made = depth(board, ran, metric_of(board))
    assert made is not None
    line = [(m["layers"], m["value"]) for m in marks(made) if "median" in m["tip"]]
    assert line == [(2, 85.0), (64, 30.0)], "a diverged seed counts as worst, as on the board"
    assert {m["model"] for m in marks(made)} == {board[0].title.partition(" (")[0]}
    assert sorted(m["value"] for m in marks(made) if "median" not in m["tip"]) == [30, 50, 80, 85, 90]
    assert measures_of(ran) == ["energy"]
    energies = depth(board, ran, "energy")
    assert energies is not None and {m["value"] for m in marks(energies)} == {1.0, LEAST}, "0 stands at the axis' end"
    tips = {m["tip"].partition(" layers: ")[2] for m in marks(energies)}
    assert tips == {"1", "0", "median 1 of 3 seeds", "median 0 of 2 seeds"}
    assert depth(board[2:], ran, metric_of(board)) is None and depth(board, ran, "no such measure") is None


def test_forms_of_a_model_have_a_line_each() -> None:
    groups = [deep("a", n, [50.0 + n], coupling=c) for c in ("gcn", "gat") for n in (2, 4)]
    made = depth([row for row, _ in groups], [t for _, own in groups for t in own], "mse")
    assert made is not None and len({m["model"] for m in marks(made)}) == 2


def test_the_median_of_three_retrainings_and_their_quartiles_are_those_of_numpy() -> None:
    made = trials(retrained("a", [1.0, 2.0, 3.0, 4.0]))
    values = {t.config.id: value for t, value in zip(made, (0.1, 0.5, 0.2, 0.9), strict=True)}
    points = [Point(t.config.id, epoch, 1.0, values[t.config.id] / epoch, 0.0, 0.0) for t in made for epoch in (1, 2)]
    middle = [m for m in marks(curves(made, points, "", "valid", "validation", log=False)) if m["mark"] == "median"]
    for epoch in (1, 2):
        mine = next(m for m in middle if m["epoch"] == epoch)
        expected = np.quantile([value / epoch for value in values.values()], [0.25, 0.5, 0.75])
        assert [mine["low"], mine["value"], mine["high"]] == pytest.approx(list(expected))
    assert not [m for m in marks(curves(made[:2], points, "", "valid", "v", log=False)) if m["mark"] == "median"]


def test_seeds_that_ended_at_different_epochs_share_a_median_wherever_three_were_trained() -> None:
    made = trials(retrained("a", [1.0, 2.0, 3.0, 4.0]))
    lengths = {t.config.id: length for t, length in zip(made, (400, 410, 430, 440), strict=True)}
    points = [Point(t.config.id, k, 1.0, 2.0, 0.0, 0.0) for t in made for k in range(1, lengths[t.config.id] + 1)]
    middle = [m for m in marks(curves(made, points, "", "valid", "v", log=False)) if m["mark"] == "median"]
    assert len(middle) == POINTS and (middle[0]["epoch"], middle[-1]["epoch"]) == (1, 410)
    seeds = [int(m["tip"].rpartition(", ")[2].partition(" ")[0]) for m in middle]
    assert seeds == [4 if m["epoch"] <= 400 else 3 for m in middle]


def test_a_forest_on_a_log_axis_shows_a_row_one_of_whose_seeds_has_no_error() -> None:
    made = forest(
        rows([retrained("a", [0.0, 0.1, 0.2, 0.3, 0.4]), retrained("b", [1.0, 2.0, 3.0])], []), ["A", "B"], log=True
    )
    assert "NaN" not in made.svg(600)
    assert [(m["name"], m["value"]) for m in marks(made, "median")] == [("A", 0.2), ("B", 2.0)]
