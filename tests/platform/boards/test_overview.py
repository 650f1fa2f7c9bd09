"""The overview of all tasks: which row stands for a model, what was never run, one score and one mean rank a model."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
from boards import printed, retrained

from longwave.platform.boards.board import rows
from longwave.platform.boards.overview import ModelLine, best_on_validation, overview, state
from longwave.platform.boards.row import Row
from longwave.platform.records.group import EVERYBODY, Group, Pool
from longwave.platform.render import board as render_board
from longwave.platform.render.export import Format
from longwave.platform.statistics.overall import mean_ranks, normalised, overall_score

LEM, GRU = [9.0, 9.1, 9.2], [7.0, 7.1, 7.2]


def on(task: str, model: str, tests: Sequence[float | str], goal: str = "max", **changes: Any) -> Group:
    return retrained(model, tests, goal, task=task, trivial={"mean": 1.0, "last": 2.0}, **changes)


@pytest.fixture
def two_tasks() -> list[Row]:
    """LEM and GRU on tasks u and v; LSTM on v alone."""
    groups = [on("u", "lem", LEM), on("u", "gru", GRU), on("v", "lem", [8.0, 8.2, "diverged"]), on("v", "gru", GRU)]
    return rows([*groups, on("v", "lstm", [9.9, 9.8, 9.7])], [printed("lem", 99.0, task="u")])


def test_scores_and_ranks_are_those_of_the_models_that_ran_on_every_task(two_tasks: list[Row]) -> None:
    found = overview(two_tasks)
    assert found.tasks == [("u", ""), ("v", "")]
    assert [line.model for line in found.lines] == ["lem", "gru", "lstm"]
    tasks = [normalised([LEM, GRU], "max", 2.0), normalised([[8.0, 8.2, None], GRU], "max", 2.0)]
    ranks = mean_ranks([[LEM, GRU], [[8.0, 8.2, 2.0], GRU]])
    for k, line in enumerate(found.lines[:2]):
        assert line.score == overall_score([task[k] for task in tasks], np.random.default_rng(0))
        assert line.rank == ranks[k]
    lstm = found.lines[2]
    assert (lstm.score, lstm.rank, lstm.ran) == (None, None, 1)


def test_a_model_is_shown_by_its_row_that_is_best_on_validation_and_not_on_test() -> None:
    worse = on("u", "lem", [5.0, 5.1], valid=3.0, hidden=1)
    better = on("u", "lem", [4.0, 4.1], valid=4.0, hidden=2)
    assert best_on_validation(rows([worse, better], [])).hidden == 2
    smaller = [retrained("a", [1.0], valid=3.0, hidden=1), retrained("a", [2.0], valid=2.0, hidden=2)]
    assert best_on_validation(rows(smaller, [])).hidden == 2
    lost = on("u", "lem", ["diverged"], hidden=3)
    assert best_on_validation(rows([lost, worse], [])).hidden == 1


def test_missing_failed_diverged_and_not_run_are_four_things() -> None:
    ends = {"a": ["diverged"], "b": ["failed"], "c": ["planned"], "d": [1.0]}
    groups = [on("u", model, list(end)) for model, end in ends.items()] + [on("v", "d", [1.0])]
    lines = {line.model: line for line in overview(rows(groups, [])).lines}
    assert [state(lines[model].cells[0]) for model in "abcd"] == ["diverged", "failed", "missing", "ok"]
    assert [state(lines[model].cells[1]) for model in "abcd"] == ["not run"] * 3 + ["ok"]
    assert [lines[model].ran for model in "abcd"] == [1, 0, 0, 2]


def test_a_model_that_diverged_everywhere_has_the_score_of_the_trivial_predictor() -> None:
    groups = [on("u", "lem", LEM), on("u", "gru", ["diverged", "diverged"])]
    scores = {line.model: line.score for line in overview(rows(groups, [])).lines}
    assert scores["gru"] is not None and scores["gru"].value == 0.0
    assert scores["lem"] is not None and scores["lem"].value == pytest.approx(1.0)


def test_models_that_lose_to_a_trivial_predictor_are_still_ranked_among_each_other() -> None:
    groups = [on("u", "lem", [1.5, 1.6, 2.1]), on("u", "gru", [0.5, 0.6, 0.7]), on("u", "lstm", [-9.0, -9.1, -9.2])]
    lines = overview(rows(groups, [])).lines
    assert [(line.model, line.score.value, line.rank.value) for line in lines if line.score and line.rank] == [
        ("lem", 0.0, 1.0),
        ("gru", 0.0, 2.0),
        ("lstm", 0.0, 3.0),
    ]
    assert [line.ranks for line in lines] == [(1.0,), (2.0,), (3.0,)]


def test_without_a_trivial_predictor_there_are_mean_ranks_alone() -> None:
    found = overview(rows([retrained("a", [1.0, 1.1], "max"), retrained("b", [2.0, 2.1], "max")], []))
    assert [line.score for line in found.lines] == [None, None]
    assert [(line.model, line.rank.value if line.rank else None) for line in found.lines] == [("b", 1.0), ("a", 2.0)]


def test_an_empty_board_has_an_empty_overview(capsys: pytest.CaptureFixture[str]) -> None:
    found = overview([])
    assert (found.tasks, found.lines) == ([], [])
    render_board.overview(found, EVERYBODY, Format.markdown)
    assert "| model | score [95 %] | mean rank |" in capsys.readouterr().out


def test_the_overview_is_printed_with_every_cell_in_one_of_its_states(
    two_tasks: list[Row], capsys: pytest.CaptureFixture[str]
) -> None:
    render_board.overview(overview(two_tasks), Pool(min_seeds=2), Format.markdown)
    lines = capsys.readouterr().out.splitlines()
    assert lines[2] == "| model | score [95 %] | mean rank | u | v |"
    lem, gru, lstm = lines[4:7]
    assert lem.startswith("| LEM | ") and "8.10 ± 0.14 (2 of 3)" in lem and "**9.10 ± 0.10 (3)**" in lem
    assert lstm == "| LSTM | — (1 of 2 tasks) | — | not run | **9.80 ± 0.10 (3)** |"
    assert lines[-1].endswith("Ranked among rows with at least 2 retrainings alone.")
    render_board.overview(overview(two_tasks), EVERYBODY, Format.json)
    records = json.loads(capsys.readouterr().out)
    assert records[0]["model"] == "lem" and records[0]["u mean"] == pytest.approx(9.1)
    assert (records[2]["u state"], records[2]["v state"], records[2]["score"]) == ("not run", "ok", None)


def test_a_terminal_shows_a_few_tasks_at_a_time(capsys: pytest.CaptureFixture[str]) -> None:
    groups = [on(f"task{k}", "lem", LEM) for k in range(7)]
    render_board.overview(overview(rows(groups, [])), EVERYBODY, Format.table)
    out = capsys.readouterr().out
    assert out.count("7 tasks") == 2 and out.count("LEM") == 2
    assert out.index("task4") < out.index("task5") and out.count("stratified") == 1


def test_a_line_counts_the_tasks_with_a_result() -> None:
    [row] = [r for r in rows([on("u", "lem", LEM)], []) if r.kind == "reproduced"]
    assert ModelLine("lem", "LEM", [row, None]).ran == 1


def test_models_that_no_score_tells_apart_stand_in_the_order_of_their_means() -> None:
    ends = {"a": [1.9], "b": [0.5], "c": [1.5], "d": ["diverged"]}  # none is above the trivial predictor's 2
    found = overview(rows([on("u", model, list(end)) for model, end in ends.items()], []))
    assert [line.model for line in found.lines] == ["a", "c", "b", "d"]
    assert {line.score.value for line in found.lines if line.score} == {0.0}
