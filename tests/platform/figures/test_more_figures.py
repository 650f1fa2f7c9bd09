"""Surfaces, matrices, seeds and the best so far, read as Vega-Lite's data, against numbers computed by hand."""

from __future__ import annotations

import math
from dataclasses import replace
from itertools import pairwise
from typing import Any

import pytest
from boards import retrained, trials
from hypothesis import given
from hypothesis import strategies as some

from longwave.platform.boards.board import rows
from longwave.platform.boards.budget import SearchCurve
from longwave.platform.boards.pairs import pairs
from longwave.platform.boards.progress import progress
from longwave.platform.boards.row import Row
from longwave.platform.figures.curves import running_curves
from longwave.platform.figures.frame import Figure, ends_without_outliers
from longwave.platform.figures.legend import DASHES, legend_height, line_styles
from longwave.platform.figures.matrix import matrix
from longwave.platform.figures.palette import FAMILIES, NEUTRAL
from longwave.platform.figures.progress import best_so_far
from longwave.platform.figures.search import importance_bars, median_bests, parallel_coordinates
from longwave.platform.figures.seeds import seeds
from longwave.platform.figures.surface import Bins, surface
from longwave.platform.records.run import Point
from longwave.platform.records.stored import Trial
from longwave.platform.statistics.stats import Estimate


def layers(figure: Figure | None) -> list[list[dict[str, Any]]]:
    """Return the data of each layer of a figure."""
    assert figure
    spec = figure.spec()
    sets = spec.get("datasets", {})
    parts = [part.get("data") or spec["data"] for part in spec["layer"]]
    return [data.get("values") or sets.get(data.get("name"), []) for data in parts]


def drawn(*points: tuple[float, float, float | str]) -> list[Trial]:
    """Return search trials: settings dt and lr, and the metric or how it ended."""
    made = trials(retrained("a", [score for _, _, score in points]))
    return [
        replace(trial, config=replace(trial.config, phase="search", params={"dt": dt, "lr": lr}))
        for trial, (dt, lr, _) in zip(made, points, strict=True)
    ]


def test_a_surface_has_the_median_of_each_cell_and_is_hatched_where_half_diverged() -> None:
    made = surface(
        drawn((1, 1, 2.0), (1, 1, 4.0), (1, 1, 9.0), (2, 2, "diverged"), (2, 1, 7.0), (2, 1, "diverged"),
              (1, 2, 5.0), (1, 2, 6.0), (1, 2, "diverged")), "dt", "lr", "min", "mse")  # fmt: skip
    full, empty, strokes, good, bad = layers(made)
    medians = {(mark["x"] > 1.3, mark["y"] > 1.3): (mark["valid"], mark["lost"]) for mark in full}
    assert medians == {
        (False, False): (4.0, 0), (True, False): (7.0, 0.5), (False, True): (5.5, pytest.approx(1 / 3)),
    }  # fmt: skip
    assert [(mark["x"] > 1.3, mark["y"] > 1.3, mark["tip"]) for mark in empty] == [(True, True, "1 of 1 diverged")]
    assert len(strokes) == 8, "two cells, four strokes each"
    assert all(mark["x"] >= 1.6 - 1e-9 for mark in strokes), "both lie to the right"
    assert len(good) == 6 and len(bad) == 3
    assert surface(drawn((1, 1, 2.0)), "dt", "lr", "min", "mse") is None


@pytest.mark.parametrize("goal", ["min", "max"])
def test_the_colour_of_the_best_setting_is_one_whether_errors_or_accuracies_are_shown(goal: str) -> None:
    made = surface(drawn((1, 1, 2.0), (2, 2, 4.0)), "dt", "lr", goal, "score")
    assert made and made.spec()["layer"][0]["encoding"]["color"]["scale"]["reverse"] is (goal == "min")


def test_a_trial_that_nearly_diverged_leaves_room_for_the_others() -> None:
    trials = drawn((1, 1, 0.2), (1, 2, 0.4), (2, 1, 0.1), (2, 2, 1e22))
    made = surface(trials, "dt", "lr", "min", "mse")
    assert made
    scale = made.spec()["layer"][0]["encoding"]["color"]["scale"]
    assert scale["domain"] == [0.1, pytest.approx(30.0)] and scale["clamp"] is True
    so_far = best_so_far(progress(trials, "min", False), "gated", "mse", log=True)
    assert so_far
    for layer in so_far.spec()["layer"]:
        assert layer["mark"]["clip"] and layer["encoding"]["y"]["scale"]["domain"] == [0.1, pytest.approx(10.0)]


def test_the_axis_of_search_budgets_ends_before_a_trial_that_nearly_diverged() -> None:
    [row] = rows([retrained("a", [1.0])], [])
    curve = [Estimate(0.4, 0.1, 1e17), Estimate(0.2, 0.1, 0.4), Estimate(0.1, 0.1, 0.1)]
    figure = median_bests([SearchCurve(row, curve)], {"a": "A"}, "mse", log=True)
    assert figure
    for layer in figure.spec()["layer"]:
        axis = layer["encoding"]["y"]
        assert layer["mark"]["clip"] and axis["scale"]["domain"] == [0.1, pytest.approx(10.0)]
        assert axis["axis"]["title"] == "median best validation mse" and max(axis["axis"]["values"]) <= 10


@given(some.lists(some.floats(1e-6, 1e6), min_size=1, max_size=12), some.integers(2, 8))
def test_each_number_lies_in_the_part_of_the_axis_that_holds_it(numbers: list[float], count: int) -> None:
    bins = Bins.of(numbers, count)
    for value in numbers:
        k = bins.part(value)
        assert 0 <= k < bins.count
        assert bins.at(k) <= value * (1 + 1e-6) and value <= bins.at(k + 1) * (1 + 1e-6)
    assert bins.log == (max(numbers) > 10 * min(numbers))


def test_a_matrix_says_of_each_pair_the_factor_and_whether_it_is_sure() -> None:
    good, bad = [1.0, 1.1, 1.2, 1.3, 1.4, 1.5], [9.0, 9.1, 9.2, 9.3, 9.4, 9.5]
    board = rows([retrained("a", good), retrained("b", bad)], [])
    [cells, *_] = layers(matrix(pairs(board, board), {row.key: row.title for row in board}))
    words = {(c["line"], c["column"]): (c["word"], c["factor"]) for c in cells}
    ratio = math.exp(sum(map(math.log, good)) / 6 - sum(map(math.log, bad)) / 6)
    assert words["A", "B"] == ("better", f"{ratio:.2g}") and words["B", "A"][0] == "worse"
    assert "A is better than B: a seed of A is the better one with probability 1.00" in cells[0]["tip"]
    assert matrix([], {}) is None


def test_each_retraining_is_a_dot_and_each_that_diverged_a_cross_at_the_worst_number() -> None:
    made = rows([retrained("a", [1.0, 2.0, 3.0]), retrained("b", [4.0, "diverged", 5.0])], [])
    made = [replace(row, family="gated") for row in made]
    limit, middles, good, below, bad = layers(seeds(made, ["A", "B"], log=False))
    assert sorted(dot["value"] for dot in good) == [1, 2, 3, 4, 5] and {d["tint"] for d in good} == {FAMILIES["gated"]}
    assert [(dot["name"], dot["value"]) for dot in bad] == [("B", 5.0)]
    assert [(m["name"], m["value"]) for m in middles] == [("A", 2.0), ("B", 5.0)] and not limit and not below
    assert len({dot["off"] for dot in good if dot["name"] == "A"}) == 3, "equal numbers are told apart"
    assert seeds(rows([retrained("a", ["failed"])], []), ["A"], log=False) is None


def test_seeds_without_an_error_are_triangles_at_the_left_end_of_a_logarithmic_axis() -> None:
    simple = [Row("t", "", "x", "X", "mse", "1", "min", mean, kind="trivial") for mean in (0.0, 0.9)]
    made = [*simple, *rows([retrained("a", [0.0, 0.0]), retrained("b", [0.5, "diverged"])], [])]
    figure = seeds(made, ["X", "Y", "A", "B"], log=True)
    limit, _, good, below, bad = layers(figure)
    assert [(dot["name"], dot["value"]) for dot in below] == [("A", 0.5)] * 2 and below[0]["tip"].endswith(": 0")
    assert [dot["name"] for dot in good] == ["B"] and [(dot["name"], dot["value"]) for dot in bad] == [("B", 0.5)]
    assert not limit, "the best trivial predictor is the first, whatever the axis shows"
    assert figure and figure.spec()["layer"][1]["encoding"]["y"]["scale"]["domain"] == ["A", "B"]
    [worst] = layers(seeds(rows([retrained("a", [3.0, 4.0, "diverged"], "max")], []), ["A"], log=False))[-1]
    assert worst["value"] == 3.0, "where large is good, the least number is the worst"


def test_lines_outside_the_ranges_are_faint_and_wide_axes_are_logarithmic() -> None:
    searched = drawn((0.01, 1, 2.0), (0.1, 2, 3.0), (1.0, 3, 4.0))
    others, bad, good, _, ticks, *_, heads = layers(
        parallel_coordinates(searched, "min", "mse", {searched[1].config.id})
    )
    assert {m["trial"] for m in good} == {searched[1].config.id} and len({m["trial"] for m in others}) == 2 and not bad
    assert [m["at"] for m in good if m["axis"] == 0] == [pytest.approx(0.5)], "the middle by logarithm"
    assert [m["text"] for m in ticks if m["axis"] == 0] == ["0.01", "0.1", "1"] and heads[0]["text"] == "dt"
    assert all(m["kept"] for m in layers(parallel_coordinates(searched, "min", "mse"))[2])


def test_values_at_an_axis_stand_apart_from_each_other() -> None:
    near = parallel_coordinates(drawn((1.0, 1, 2.0), (1.01, 2, 3.0), (2.0, 3, 4.0)), "min", "mse")
    assert [m["text"] for m in layers(near)[4] if m["axis"] == 0] == ["1", "2"], "1.01 would overlap with 1"


@pytest.mark.parametrize(("settings", "heights"), [(6, 1), (7, 2)])
def test_names_of_neighbouring_axes_stand_at_two_heights_if_there_are_many(settings: int, heights: int) -> None:
    searched = [
        replace(trial, config=replace(trial.config, params={f"setting {k}": float(n + k) for k in range(settings)}))
        for n, trial in enumerate(drawn((1, 1, 2.0), (2, 2, 3.0)))
    ]
    heads = [m["at"] for m in layers(parallel_coordinates(searched, "min", "mse"))[-1]]
    assert len(heads) == settings and len({*heads}) == heights
    assert heights == 1 or all(a != b for a, b in pairwise(heads))


def test_the_best_so_far_stands_beside_what_was_expected() -> None:
    search = progress(drawn((1, 1, 4.0), (1, 1, 2.0), (1, 1, 3.0)), "min", False)
    band, line, steps = layers(best_so_far(search, "gated", "mse", log=False))
    assert [mark["value"] for mark in steps] == list(search.best)
    assert band == line and line[0]["value"] == pytest.approx(3.0) and line[-1]["value"] == 2.0
    halved = progress(
        [replace(trial, status="stopped") for trial in search.ended[:1]] + [*search.ended[1:]], "min", False
    )
    figure = best_so_far(halved, "gated", "mse", log=False)
    band, line, steps = layers(figure)
    assert not band and not line and [mark["value"] for mark in steps] == list(search.best)
    assert figure and figure.title.endswith("successive halving ended the worse trials first")
    assert best_so_far(progress(drawn((1, 1, "diverged")), "min", False), "gated", "mse", log=False) is None


@pytest.mark.parametrize(("goal", "end"), [("min", 100.0), ("max", 1000.0)])
def test_an_axis_ends_before_an_error_that_is_far_off_but_never_before_the_best_accuracy(goal: str, end: float) -> None:
    assert ends_without_outliers([1.0, 1.0, 1000.0], goal) == [1.0, end]


def test_lines_of_one_colour_are_told_apart_by_their_dashes() -> None:
    made = line_styles("name:N", {"a": "red", "b": "blue", "c": "red", "d": "red"})
    scale = made["strokeDash"].to_dict()["scale"]
    assert scale["domain"] == ["a", "b", "c", "d"] and made["color"].to_dict()["scale"]["range"][0] == "red"
    assert scale["range"] == [DASHES[0], DASHES[0], DASHES[1], DASHES[2]]
    assert [legend_height(n) for n in (1, 3, 4)] == [30, 30, 60]
    eight = line_styles("name:N", dict.fromkeys("abcdefgh", "red"))["strokeDash"].to_dict()["scale"]["range"]
    assert len({*map(tuple, eight)}) == 8, "as many as the largest family has models"


def test_trials_in_training_have_the_colour_of_their_models_family() -> None:
    running = drawn((1, 1, 2.0), (1, 2, 3.0))
    points = [Point(trial.config.id, epoch, 1.0, 0.5, 0.0, 0.0) for trial in running for epoch in (1, 2)]
    for families, colour in (({"a": "oscillator"}, FAMILIES["oscillator"]), ({}, NEUTRAL)):
        figure = running_curves(running, points, families, "validation mse", log=True)
        assert figure and figure.spec()["encoding"]["color"]["scale"]["range"] == [colour]


def test_a_trial_that_failed_is_no_line_of_the_search() -> None:
    searched = drawn((0.01, 1, 2.0), (0.1, 2, 3.0), (1.0, 3, 4.0))
    figure = parallel_coordinates([*searched[:2], replace(searched[2], status="failed")], "min", "mse")
    assert {mark["trial"] for layer in layers(figure)[:3] for mark in layer} == {t.config.id for t in searched[:2]}
    assert figure and figure.title.startswith("Settings of 2 search trials")


def test_a_setting_that_all_trials_share_has_a_cell_around_it() -> None:
    [cells, *_] = layers(surface(drawn((0.5, 1, 2.0), (0.5, 2, 3.0)), "dt", "lr", "min", "mse"))
    assert {(mark["x"], mark["x2"]) for mark in cells} == {(0.25, 0.75)}


def test_a_brush_over_an_axis_leaves_the_trials_that_have_a_setting_there() -> None:
    figure = parallel_coordinates(drawn((0.01, 1, 2.0), (0.1, 2, 3.0), (1.0, 3, 4.0)), "min", "mse")
    assert figure
    [brush] = [param for param in figure.spec()["params"] if param["name"] == "brush"]
    assert brush["select"]["encodings"] == ["x", "y"]
    good = layers(figure)[2]
    middle = [m["trial"] for m in good if m["axis"] == 0 and 0.4 <= m["at 0"] <= 0.6]
    assert len(middle) == 1 and all(m["at 0"] == pytest.approx(0.5) for m in good if m["trial"] == middle[0])
    assert "inrange(datum['at ' + brush.axis[0]], brush.at)" in str(figure.spec()["layer"][2])


def test_the_importance_of_settings_stands_in_their_order() -> None:
    made = importance_bars({"lr": 0.7, "dt": 0.3}, "fanova")
    assert made and made.spec()["encoding"]["y"]["sort"] == ["lr", "dt"] and importance_bars({}, "fanova") is None
