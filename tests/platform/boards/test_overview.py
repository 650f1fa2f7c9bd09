"""The overview of all tasks: which row stands for a model, what was never run, one score and one mean rank a model."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

import networkx
import numpy as np
import pytest
from boards import printed, retrained
from hypothesis import given
from hypothesis import strategies as some

from longwave.platform.boards.board import rows
from longwave.platform.boards.overview import ModelLine, best_on_validation, overview, overviews, sharing, state
from longwave.platform.boards.row import Row
from longwave.platform.records.group import EVERYBODY, Group, Pool
from longwave.platform.render import board as render_board
from longwave.platform.render.export import Format
from longwave.platform.statistics.overall import TaskScores, mean_ranks, overall_score
from longwave.platform.statistics.scale import Scale

LEM, GRU = [8.9, 9.0, 9.1, 9.2, 9.3], [7.0, 7.1, 7.2, 7.3, 7.4]
HIGH = Scale("max", None)
LOST: list[float | str] = [8.0, 8.2, 8.4, 8.6, "diverged"]


def on(task: str, model: str, tests: Sequence[float | str], goal: str = "max", **changes: Any) -> Group:
    return retrained(model, tests, goal, task=task, trivial={"mean": 1.0, "last": 2.0}, **changes)


@pytest.fixture
def two_tasks() -> list[Row]:
    """LEM and GRU on tasks u and v; LSTM on v alone."""
    groups = [on("u", "lem", LEM), on("u", "gru", GRU), on("v", "lem", LOST), on("v", "gru", GRU)]
    return rows([*groups, on("v", "lstm", [9.9, 9.8, 9.7, 9.6, 9.5])], [printed("lem", 99.0, task="u")])


def test_scores_and_ranks_are_those_of_the_models_that_ran_on_every_task(two_tasks: list[Row]) -> None:
    actual = overview(two_tasks)
    assert actual.tasks == [("u", ""), ("v", "")]
    assert [line.model for line in actual.lines] == ["lem", "gru", "lstm"]
    seeds = [[LEM, GRU], [[8.0, 8.2, 8.4, 8.6, None], GRU]]
    tasks = [[TaskScores("", rows, HIGH, 2.0).gains(row) for row in rows] for rows in seeds]
    ranks = mean_ranks(seeds, [HIGH, HIGH])
    for k, line in enumerate(actual.lines[:2]):
        assert line.score == overall_score([task[k] for task in tasks], np.random.default_rng(0))
        assert (line.rank, line.why) == (ranks[k], "")
    lem, gru, lstm = actual.lines
    assert lem.medians == [1.0, 1.0] and gru.medians == pytest.approx([5.2 / 7.1, 5.2 / 6.2])
    assert (lem.ranks, gru.ranks) == ([1.0, 1.0], [2.0, 2.0])
    assert (lstm.score, lstm.rank, lstm.ran, lstm.why) == (None, None, 1, "1 of 2 tasks")


def test_a_score_has_an_interval_from_five_tasks_on() -> None:
    for tasks in (4, 5):
        groups = [on(f"t{k}", model, tests) for k in range(tasks) for model, tests in (("lem", LEM), ("gru", GRU))]
        for line in overview(rows(groups, [])).lines:
            assert line.score is not None and (line.score.low is not None) == (tasks == 5)


def test_few_seeds_or_no_rival_leave_neither_score_nor_rank_and_say_why() -> None:
    four: list[float | str] = [7.0, 7.1, 7.2, "diverged", "failed"]
    groups = [on("u", "lem", LEM), on("v", "lem", LEM), on("u", "gru", GRU), on("v", "gru", four)]
    lines = {line.model: line for line in overview(rows(groups, [])).lines}
    assert {model: line.why for model, line in lines.items()} == {
        "lem": "no other model has",
        "gru": "4 of 5 seeds on v",
    }
    assert all((line.score, line.rank, line.medians) == (None, None, ()) for line in lines.values())
    lost = [on("v", "gru", [*four[:4], "diverged"])]
    assert {line.why for line in overview(rows([*groups[:3], *lost], [])).lines} == {""}, "a diverged seed ended"


def test_a_model_is_shown_by_its_row_that_is_best_on_validation_and_not_on_test() -> None:
    worse = on("u", "lem", [5.0, 5.1], valid=3.0, hidden=1)
    better = on("u", "lem", [4.0, 4.1], valid=4.0, hidden=2)
    assert best_on_validation(rows([worse, better], [])).hidden == 2
    smaller = [retrained("a", [1.0], valid=3.0, hidden=1), retrained("a", [2.0], valid=2.0, hidden=2)]
    assert best_on_validation(rows(smaller, [])).hidden == 2
    lost = on("u", "lem", ["diverged"], hidden=3)
    assert best_on_validation(rows([lost, worse], [])).hidden == 1
    lucky = on("u", "lem", [9.0, "diverged", "diverged"], hidden=4)
    assert best_on_validation(rows([lucky, worse], [])).hidden == 1, "most of its seeds diverged"


def test_missing_failed_diverged_and_not_run_are_four_things() -> None:
    ends = {"a": ["diverged"], "b": ["failed"], "c": ["planned"], "d": [1.0]}
    groups = [on("u", model, list(end)) for model, end in ends.items()] + [on("v", "d", [1.0])]
    lines = {line.model: line for line in overview(rows(groups, [])).lines}
    assert [state(lines[model].cells[0]) for model in "abcd"] == ["diverged", "failed", "missing", "ok"]
    assert [state(lines[model].cells[1]) for model in "abcd"] == ["not run"] * 3 + ["ok"]
    assert [lines[model].ran for model in "abcd"] == [1, 0, 0, 2]


def test_a_model_that_diverged_everywhere_has_the_score_of_the_trivial_predictor() -> None:
    groups = [on("u", "lem", LEM), on("u", "gru", ["diverged"] * 5)]
    scores = {line.model: line.score for line in overview(rows(groups, [])).lines}
    assert scores["gru"] is not None and scores["gru"].value == 0.0
    # The best median, 9.1, counts 1, and no seed more.
    assert scores["lem"] is not None and scores["lem"].value == pytest.approx((6.9 / 7.1 + 7.0 / 7.1 + 3) / 5)


def test_the_overview_can_rank_by_medians_what_means_would_rank_otherwise() -> None:
    fails: list[float | str] = [9.5, 9.6, 9.7, 2.0, 2.1]
    lines = overview(rows([on("u", "lem", LEM), on("u", "gru", fails)], [])).lines
    assert [(line.model, line.rank.value) for line in lines if line.rank] == [("lem", 2.0), ("gru", 1.0)]
    assert lines[1].score is not None and lines[1].score.value < 0.65, "the score is the mean gain"


def test_models_that_lose_to_a_trivial_predictor_are_still_ranked_among_each_other() -> None:
    groups = [
        on("u", "lem", [1.5, 1.6, 1.7, 2.1, 2.2]),
        on("u", "gru", [0.5, 0.6, 0.7, 0.8, 0.9]),
        on("u", "lstm", [-9.0, -9.1, -9.2, -9.3, -9.4]),
    ]
    lines = overview(rows(groups, [])).lines
    assert [(line.model, line.score, line.rank.value) for line in lines if line.rank] == [
        ("lem", None, 1.0),
        ("gru", None, 2.0),
        ("lstm", None, 3.0),
    ]
    assert [line.ranks for line in lines] == [[1.0], [2.0], [3.0]]


def test_without_a_trivial_predictor_there_are_mean_ranks_alone() -> None:
    actual = overview(rows([retrained("a", GRU, "max"), retrained("b", LEM, "max")], []))
    assert [line.score for line in actual.lines] == [None, None]
    assert [(line.model, line.rank.value if line.rank else None) for line in actual.lines] == [("b", 1.0), ("a", 2.0)]


def test_an_empty_board_has_an_empty_overview(capsys: pytest.CaptureFixture[str]) -> None:
    actual = overview([])
    assert (actual.tasks, actual.lines) == ([], [])
    render_board.print_overviews([actual], EVERYBODY, Format.markdown)
    assert "| model | score | mean rank |" in capsys.readouterr().out


def test_the_overview_is_printed_with_every_cell_in_one_of_its_states(
    two_tasks: list[Row], capsys: pytest.CaptureFixture[str]
) -> None:
    render_board.print_overviews([overview(two_tasks)], Pool(min_seeds=2), Format.markdown)
    lines = capsys.readouterr().out.splitlines()
    assert lines[2] == "| model | score | mean rank | u | v |"
    lem, gru, lstm = lines[4:7]
    assert lem.startswith("| LEM | ") and "8.20 [diverged, 8.60]" in lem and "**9.10 [8.90, 9.30]**" in lem
    assert lstm == "| LSTM | — (1 of 2 tasks) | — | not run | **9.70 [9.50, 9.90]** |"
    assert lines[-1].endswith("Ranked among rows with at least 2 retrainings alone.")
    render_board.print_overviews([overview(two_tasks)], EVERYBODY, Format.json)
    records = json.loads(capsys.readouterr().out)
    assert records[0]["model"] == "lem" and records[0]["u median"] == 9.1
    assert (records[0]["v diverged"], records[0]["v median_worst"], records[0]["v n"]) == (1, None, 4)
    assert (records[2]["u state"], records[2]["v state"], records[2]["score"]) == ("not run", "ok", None)


def test_a_terminal_shows_as_many_tasks_at_a_time_as_there_is_room_for(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    groups = [on(f"task{k}", "lem", LEM) for k in range(7)]
    for width, times in (("80", 3), ("120", 2), ("400", 1)):
        monkeypatch.setenv("COLUMNS", width)
        render_board.print_overviews([overview(rows(groups, []))], EVERYBODY, Format.table)
        out = capsys.readouterr().out
        lines = out.splitlines()
        assert max(map(len, lines)) <= int(width) and sum(line.startswith("LEM") for line in lines) == times, out
        assert [f"task{k}" in out for k in range(7)] == [True] * 7
        assert (
            out.startswith("No model is ranked over all tasks")
            and " ".join(out.split()).count("Mean rank: of the") == 1
        )


def test_a_line_counts_the_tasks_with_a_result() -> None:
    [row] = [r for r in rows([on("u", "lem", LEM)], []) if r.kind == "reproduced"]
    assert ModelLine("lem", "LEM", [row, None]).ran == 1


def test_models_that_no_score_tells_apart_stand_in_the_order_of_their_medians() -> None:
    ends = {"a": 1.9, "b": 0.5, "c": 1.5, "d": "diverged"}  # none is above the trivial predictor's 2
    actual = overview(rows([on("u", model, [end] * 5) for model, end in ends.items()], []))
    assert [line.model for line in actual.lines] == ["a", "c", "b", "d"]
    assert {line.score for line in actual.lines} == {None}, "no gain is measured"


@given(some.dictionaries(some.integers(0, 9), some.sets(some.sampled_from("abcdefg"), min_size=1, max_size=3)))
def test_places_are_in_one_group_if_models_lead_from_one_to_the_other(models: dict[int, set[str]]) -> None:
    graph = networkx.Graph()
    graph.add_nodes_from(models)
    graph.add_edges_from((a, b) for a in models for b in models if models[a] & models[b])
    actual = sharing(models)
    assert sorted(map(sorted, actual)) == sorted(map(sorted, networkx.connected_components(graph)))
    assert [len(group) for group in actual] == sorted(map(len, actual), reverse=True)
    assert all(group == sorted(group, key=[*models].index) for group in actual)


def test_models_of_graphs_are_ranked_among_themselves_beside_those_of_sequences(two_tasks: list[Row]) -> None:
    graphs = rows([on("g", "gcn", LEM), on("g", "gat", GRU)], [])
    actual = overviews([*graphs, *two_tasks])
    assert actual == [overview(two_tasks), overview(graphs)]
    assert [line.model for one in actual for line in one.lines if line.rank] == ["lem", "gru", "gcn", "gat"]
    assert overviews([]) == [overview([])]


def test_boards_without_a_model_in_common_are_tables_one_above_the_other(
    two_tasks: list[Row], capsys: pytest.CaptureFixture[str]
) -> None:
    graphs = rows([on("g", "gcn", LEM), on("g", "gat", GRU)], [])
    render_board.print_overviews(overviews([*graphs, *two_tasks]), EVERYBODY, Format.table)
    output = capsys.readouterr().out
    assert output.index("2 tasks") < output.index("LEM") < output.index("1 task\n") < output.index("GCN")
    assert output.count("Each cell is the model's row") == 1 and output.index("Each cell") > output.index("GAT")
