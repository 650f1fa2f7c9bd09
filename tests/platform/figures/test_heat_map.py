"""Models by boards: the ratio of each model's error to that of the best trivial predictor, saturated boards pale."""

from __future__ import annotations

import math
from dataclasses import replace

import pytest
from boards import retrained

from longwave.platform.boards.board import rows
from longwave.platform.boards.overview import overview
from longwave.platform.figures.heat_map import heat_map


def cells(
    tests: dict[str, dict[str, list[float | str]]], goal: str = "min", **about: object
) -> dict[str, dict[str, object]]:
    """Return the marks of a heat map by board and model, of boards with the medians given."""
    groups = [
        retrained(model, scores, goal, task=task, **about)
        for task, by_model in tests.items()
        for model, scores in by_model.items()
    ]
    figure = heat_map(overview(rows(groups, [])))
    assert figure
    values = (
        next(iter(figure.spec()["datasets"].values()))
        if "datasets" in figure.spec()
        else figure.spec()["layer"][0]["data"]["values"]
    )
    return {f"{mark['board']} {mark['model']}": mark for mark in values}


def test_a_cell_is_the_error_of_the_median_over_that_of_the_best_trivial_predictor() -> None:
    tests = {"u": {"a": [1.0, 2.0, 1.0], "b": [0.001] * 3}, "v": {"a": [400.0] * 5, "b": [8.0] * 5}}
    marks = cells(tests, trivial={"mean": 9.0, "last": 4.0})
    assert {name: mark["text"] for name, mark in marks.items()} == {
        "u A": "0.25", "u B": "<0.01", "v A": ">99", "v B": "2",
    }  # fmt: skip
    assert {name: mark["ratio"] for name, mark in marks.items()} == {"u A": -2.0, "u B": -3.0, "v A": 3.0, "v B": 1.0}
    assert {name: mark["opacity"] for name, mark in marks.items()} == {"u A": 1.0, "u B": 1.0, "v A": 0.4, "v B": 0.4}
    assert "last" in str(marks["u A"]["tip"])


def test_an_accuracy_has_the_error_that_lacks_to_100() -> None:
    marks = cells({"u": {"a": [90.0] * 3}, "v": {"a": [50.0] * 3}}, "max", unit="%", trivial={"majority": 60.0})
    assert {name: mark["ratio"] for name, mark in marks.items()} == pytest.approx(
        {"u A": -2.0, "v A": math.log2(50 / 40)}
    )


def test_without_a_trivial_predictor_a_score_or_a_perfect_score_there_is_nothing_to_draw() -> None:
    for group in (
        retrained("a", [1.0]),
        retrained("a", ["diverged"], trivial={"mean": 1.0}),
        retrained("a", [-1.0], "max", trivial={"mean": -2.0}),
    ):
        assert heat_map(overview(rows([group], []))) is None


def test_errors_of_zero_are_compared_as_the_smallest_that_counts() -> None:
    marks = cells({"u": {"a": [0.0] * 3, "b": [2.0] * 3}}, trivial={"persistence": 0.0})
    assert {name: mark["text"] for name, mark in marks.items()} == {"T A": "1", "T B": ">99"}
    assert cells({"u": {"a": [0.0] * 3}}, trivial={"mean": 1.0})["T A"]["text"] == "<0.01"


def test_a_long_name_of_a_board_is_whole() -> None:
    name = "Noise-padded digits, T=500, noise per sample"
    made = rows([retrained("a", [1.0] * 5, trivial={"mean": 2.0})], [])
    figure = heat_map(overview([replace(row, task_title=name) for row in made]))
    assert figure and f">{name}<" in figure.svg(720)
