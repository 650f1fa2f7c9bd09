"""The overview of all tasks: which row stands for a model, what was never run, one score and one mean rank a model."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import networkx
import numpy as np
import pytest
from boards import printed, retrained
from hypothesis import given
from hypothesis import strategies as some

from longwave.platform.boards.answer import answer, over_all
from longwave.platform.boards.board import rows
from longwave.platform.boards.overview import ModelLine, best_on_validation, overview, overviews, sharing, state
from longwave.platform.boards.row import Row
from longwave.platform.records.group import EVERYBODY, Group, Pool
from longwave.platform.render.export import Format
from longwave.platform.render.overview import overview_table, print_overviews
from longwave.platform.statistics.overall import TaskScores, mean_ranks, overall_score
from longwave.platform.statistics.scale import Scale

LEM, GRU = [8.9, 9.0, 9.1, 9.2, 9.3], [7.0, 7.1, 7.2, 7.2, 7.3, 7.4]
HIGH = Scale("max", None)
LOST: list[float | str] = [8.0, 8.2, 8.4, 8.6, "diverged"]


def on(task: str, model: str, tests: Sequence[float | str], goal: str = "max", **changes: Any) -> Group:
    return retrained(model, tests, goal, task=task, trivial={"mean": 1.0, "last": 2.0}, **changes)


@pytest.fixture
def two_tasks() -> list[Row]:
    """LEM and GRU on tasks u and v; LSTM on v alone."""
    groups = [on("u", "lem", LEM), on("u", "gru", GRU), on("v", "lem", LOST), on("v", "gru", GRU)]
    return rows([*groups, on("v", "lstm", [9.9, 9.8, 9.7, 9.7, 9.6, 9.5])], [printed("lem", 99.0, task="u")])


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
    assert lem.medians == pytest.approx([1.0, 1.0]) and gru.medians == pytest.approx([5.2 / 7.1, 5.2 / 6.2])
    assert (lem.ranks, gru.ranks) == ([1.0, 1.0], [2.0, 2.0])
    assert (lstm.score, lstm.rank, lstm.ran, lstm.why) == (None, None, 1, "1 of 2 separating boards")


def test_a_row_of_another_form_than_most_of_its_model_is_named_with_its_board(
    capsys: pytest.CaptureFixture[str],
) -> None:
    bare = [on(task, model, GRU) for task in "uv" for model in ("lem", "gru")]
    print_overviews(rows(bare, []), EVERYBODY, Format.table)
    assert "Other forms" not in capsys.readouterr().out
    block = on("w", "gru", GRU, title="GRU (block pre)")
    print_overviews(rows([*bare, block, on("w", "lem", LEM)], []), EVERYBODY, Format.table)
    assert "Other forms by board: GRU (block pre) on 3." in " ".join(capsys.readouterr().out.split())


def test_a_task_that_fewer_than_half_of_the_models_ran_counts_neither_in_scores_nor_in_ranks(
    capsys: pytest.CaptureFixture[str],
) -> None:
    everywhere = [on(task, model, GRU) for task in "uv" for model in ("lem", "gru", "lstm", "lru", "mingru")]
    few = [on("a", "lem", LEM), on("a", "gru", GRU)]
    alone, actual = overview(rows(everywhere, [])), overview(rows([*everywhere, *few], []))
    assert actual.counted_tasks == [("u", ""), ("v", "")] and actual.tasks == [*actual.counted_tasks, ("a", "")]
    assert actual.too_few_models == [("a", "")] and not alone.too_few_models
    assert [(line.model, line.rank, line.score) for line in actual.lines] == [
        (line.model, line.rank, line.score) for line in alone.lines
    ]
    assert "of 5 models on 2 of the 3 separating boards: " in over_all(actual)
    assert "Ranks and scores leave out boards on which fewer than half of the models ran: a." in over_all(actual)
    print_overviews(rows([*everywhere, *few], []), EVERYBODY, Format.table)
    assert "Board 3 does not count in the mean: fewer than half of" in " ".join(capsys.readouterr().out.split())
    print_overviews(rows([*everywhere, *few, on("b", "lem", LEM)], []), EVERYBODY, Format.table)
    assert "Boards 3 and 4 do not count in the mean: fewer than" in " ".join(capsys.readouterr().out.split())
    without_lru = [group for group in everywhere if group.config.model != "lru"]
    half = overview(rows([*without_lru, *few], []))
    assert half.counted_tasks == half.of_word("separates") and [line.why for line in half.lines].count("") == 2


def test_where_fewer_than_half_of_the_models_ran_each_task_all_count_and_no_model_is_ranked() -> None:
    pairs = {"u": "ab", "v": "bc", "w": "cd", "x": "de"}
    actual = overview(rows([on(task, model, GRU) for task, models in pairs.items() for model in models], []))
    assert actual.counted_tasks == [(task, "") for task in pairs] and not actual.too_few_models
    assert not any(line.rank for line in actual.lines) and "No model is ranked over all boards" in over_all(actual)


def test_the_one_board_that_counts_is_named() -> None:
    pairs = {"u": "ab", "v": "bc", "w": "cde"}
    actual = overview(rows([on(task, model, GRU) for task, models in pairs.items() for model in models], []))
    assert actual.counted_tasks == [("w", "")] and "on the one separating board that counts, w: " in over_all(actual)


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
    groups[1] = on("v", "lem", [*LEM, 9.1])  # alone it would do with one seed less
    lost = [on("v", "gru", [*four[:4], "diverged"])]
    assert {line.why for line in overview(rows([*groups[:3], *lost], [])).lines} == {""}, "a diverged seed ended"


def test_a_model_is_shown_by_its_row_that_is_best_on_validation_and_not_on_test() -> None:
    def find_shown(*groups: Group) -> int:
        return best_on_validation([row for row in rows(groups, []) if not row.trivial]).hidden

    worse = on("u", "lem", [5.0, 5.1], valid=3.0, hidden=1)
    better = on("u", "lem", [4.0, 4.1], valid=4.0, hidden=2)
    assert find_shown(worse, better) == 2
    assert find_shown(retrained("a", [1.0], valid=3.0, hidden=1), retrained("a", [2.0], valid=2.0, hidden=2)) == 2
    assert find_shown(on("u", "lem", ["diverged"], hidden=3), worse) == 1
    assert find_shown(on("u", "lem", [9.0, "diverged", "diverged"], hidden=4), worse) == 1, "most of its seeds diverged"


@given(some.permutations([(467, 96.0), (1011, 95.0), (2099, 91.0), (None, 99.0)]))
def test_of_rows_that_are_equal_on_validation_the_one_of_fewest_parameters_speaks(
    sizes: list[tuple[int | None, float]],
) -> None:
    [*tied] = rows([on("u", "gcn", [test], valid=98.0, hidden=k) for k, (_, test) in enumerate(sizes)], [])
    tied = [replace(row, parameters=sizes[row.hidden][0]) for row in tied if not row.trivial]
    assert best_on_validation(tied).parameters == 467
    better = replace(tied[0], valid=98.5, parameters=9999)
    assert best_on_validation([*tied, better]).parameters == 9999, "validation comes first"


def test_missing_failed_diverged_and_not_run_are_four_things() -> None:
    ends = {"a": ["diverged"], "b": ["failed"], "c": ["planned"], "d": [1.0]}
    groups = [on("u", model, list(end)) for model, end in ends.items()] + [on("v", "d", [1.0])]
    lines = {line.model: line for line in overview(rows(groups, [])).lines}
    assert [state(lines[model].cells[0]) for model in "abcd"] == ["diverged", "failed", "missing", "ok"]
    assert [state(lines[model].cells[1]) for model in "abcd"] == ["not run"] * 3 + ["ok"]
    assert [lines[model].ran for model in "abcd"] == [1, 0, 0, 2]


def test_a_model_that_diverged_everywhere_has_the_score_of_the_trivial_predictor() -> None:
    groups = [on("u", "lem", [*LEM, 9.1]), on("u", "gru", ["diverged"] * 5)]
    scores = {line.model: line.score for line in overview(rows(groups, [])).lines}
    assert scores["gru"] is not None and scores["gru"].value == 0.0
    # The best median, 9.1, counts 1, and no seed more.
    assert scores["lem"] is not None and scores["lem"].value == pytest.approx((6.9 / 7.1 + 7.0 / 7.1 + 4) / 6)


def test_a_row_of_few_seeds_does_not_take_the_place_of_a_models_full_row() -> None:
    lucky = on("u", "lem", [9.9], valid=0.99, hidden=99)
    full = [on("u", "lem", LEM, valid=0.9), on("u", "gru", GRU, valid=0.9)]
    alone, among = overview(rows(full, [])), overview(rows([*full, lucky], []))
    assert [line.model for line in alone.lines if line.rank] == ["lem", "gru"]
    assert [(line.model, line.rank, line.score) for line in among.lines] == [
        (line.model, line.rank, line.score) for line in alone.lines
    ]


def test_the_overview_can_rank_by_medians_what_means_would_rank_otherwise() -> None:
    fails: list[float | str] = [9.5, 9.6, 9.7, 2.0, 2.1]
    lines = overview(rows([on("u", "lem", [*LEM, 9.1]), on("u", "gru", fails)], [])).lines
    assert [(line.model, line.rank.value) for line in lines if line.rank] == [("gru", 1.0), ("lem", 2.0)]
    assert lines[0].score is not None and lines[0].score.value < 0.65, "the score is the mean gain"


def test_tasks_that_do_not_separate_count_in_no_score_and_no_rank() -> None:
    separating = [on("u", "lem", LEM), on("u", "gru", GRU)]
    saturated = [on("a", "gru", [1.5, 1.6, 1.7, 1.8, 1.9]), on("a", "lem", [0.5, 0.6, 0.7, 0.8, 0.9])]
    undecided = [on("b", "gru", [1.0, 1.1, 2.5, 2.6, 2.7]), on("b", "lem", [0.5, 0.6, 0.7, 0.8, 0.9])]
    alone, among = overview(rows(separating, [])), overview(rows([*separating, *saturated, *undecided], []))
    assert [word.word for word in among.separations] == ["separates", "open", "saturated"]
    assert among.tasks == [("u", ""), ("b", ""), ("a", "")]
    for one, other in zip(alone.lines, among.lines, strict=True):
        assert (one.model, one.score, one.rank, one.ranks) == (other.model, other.score, other.rank, other.ranks)
        assert other.medians == one.medians and [cell is not None for cell in other.cells] == [True] * 3
    missing = overview(rows([*separating, saturated[0]], [])).lines
    assert {line.why for line in missing} == {""}, "a model that never ran on a saturated task has a score"


def test_where_no_task_separates_there_is_neither_score_nor_rank() -> None:
    none = overview(rows([retrained("a", GRU, "max"), retrained("b", LEM, "max")], []))
    lost = overview(rows([on("u", "a", [0.5] * 5), on("u", "b", [1.5] * 5)], []))
    for actual, word in ((none, "open"), (lost, "saturated")):
        assert [each.word for each in actual.separations] == [word]
        assert [(line.score, line.rank, line.why) for line in actual.lines] == [(None, None, "no task separates")] * 2


def test_a_task_whose_seeds_scatter_more_than_it_gains_is_named_and_in_no_score() -> None:
    noisy = [on("v", "lem", [2.1, 2.2, 9.0, 9.0, 2.2]), on("v", "gru", [2.1, 2.1, 2.1, 9.0, 9.0])]
    actual = overview(rows([on("u", "lem", LEM), on("u", "gru", GRU), *noisy], []))
    assert actual.of_word("separates") == [("u", ""), ("v", "")] and list(actual.left_out) == ["v"]
    alone = overview(rows([on("u", "lem", LEM), on("u", "gru", GRU)], []))
    assert [line.score for line in actual.lines] == [line.score for line in alone.lines]
    assert [line.ranks for line in actual.lines] != [line.ranks for line in alone.lines], "it counts in the mean ranks"
    assert f"Overall scores leave out v ({actual.left_out['v']})." in over_all(actual)


def test_an_overview_and_a_board_without_a_retrained_row_say_so_and_what_was_filtered(
    capsys: pytest.CaptureFixture[str],
) -> None:
    pool = Pool(min_seeds=99)
    left = rows([on("u", "lem", LEM)], [printed("lem", 99.0, task="u")], pool)
    assert {row.kind for row in left} == {"trivial", "published"}
    why = "No retrained row is shown here."
    for numbers in (False, True):
        print_overviews(left, pool, Format.table, numbers=numbers)
        expected = f"{why} Ranked: only rows with at least 99 retrainings.\n"
        assert capsys.readouterr().out == expected
    assert answer(left).sentence == why
    few = answer(rows([on("u", "lem", [2.0])], [])).sentence
    assert few == "No row is ranked here yet: a rank takes two seeds."


def test_an_empty_board_has_an_empty_overview(capsys: pytest.CaptureFixture[str]) -> None:
    actual = overview([])
    assert (actual.tasks, actual.lines) == ([], [])
    print_overviews([], EVERYBODY, Format.markdown)
    assert "| model | mean rank |" in capsys.readouterr().out
    print_overviews([], EVERYBODY, Format.table)
    assert capsys.readouterr().out == "No retrained row is shown here.\n"
    print_overviews([], Pool(("lem", "gru", "lem")), Format.table)
    assert capsys.readouterr().out == "No retrained row is shown here. Ranked: only models lem, gru.\n"


def test_the_overview_is_printed_with_every_cell_in_one_of_its_states(
    two_tasks: list[Row], capsys: pytest.CaptureFixture[str]
) -> None:
    table = overview_table(overview(two_tasks), Pool(min_seeds=2))
    assert table.answer == over_all(overview(two_tasks)) and table.answer.startswith("2 of 2 boards separate networks")
    assert table.columns == ["model", "score", "mean rank", "u", "v"]
    lem, gru, lstm = table.lines
    assert lem[0] == "LEM" and lem[3].startswith("9.10 [8.90, 9.30]")
    assert "8.20 [diverged, 8.60]" in (*lem, *gru)
    assert [*lstm[:4]] == ["LSTM", "— (1 of 2 separating boards)", "—", "not run"] and (2, 4) in table.bold
    assert table.notes[-1] == "Ranked: only rows with at least 2 retrainings."
    print_overviews(two_tasks, EVERYBODY, Format.markdown)
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == "| model | mean rank | u | v |" and "| 9.10 |" in lines[2] and "[" not in lines[2][30:]
    assert lines[-1].startswith("Median test score of each model; bold:")
    print_overviews(two_tasks, EVERYBODY, Format.json)
    records = json.loads(capsys.readouterr().out)
    assert records[0]["model"] == "lem" and records[0]["u median"] == 9.1
    assert (records[0]["v diverged"], records[0]["v median_worst"], records[0]["v n"]) == (1, None, 4)
    assert (records[2]["u state"], records[2]["v state"], records[2]["score"]) == ("not run", "ok", None)


def test_a_table_of_numbers_shows_as_many_boards_at_a_time_as_there_is_room_for(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    made = rows([on(f"task{k}", "lem", LEM) for k in range(7)], [])
    for width, times in (("80", 3), ("120", 2), ("400", 1)):
        monkeypatch.setenv("COLUMNS", width)
        print_overviews(made, EVERYBODY, Format.table, numbers=True)
        out = capsys.readouterr().out
        lines = out.splitlines()
        assert max(map(len, lines)) <= int(width) and sum(line.startswith("LEM") for line in lines) == times, out
        assert sum(line.count("9.10 [8.90, 9.30]") for line in lines) == 7
        assert "No model is ranked over all boards" in " ".join(out.split())


def test_saturated_boards_are_named_in_a_sentence_and_shown_on_request(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "120")
    worse = [0.5, 0.6, 0.7, 0.8, 0.9]
    both = rows([on(task, m, worse if task == "v" else LEM) for task in "uv" for m in ("lem", "gru")], [])
    for saturated, heading in ((False, "1 of 2 boards"), (True, "2 boards")):
        print_overviews(both, EVERYBODY, Format.table, saturated, numbers=True)
        out = " ".join(capsys.readouterr().out.split())
        assert out.startswith("1 of 2 boards separates networks") and f" {heading} model" in out
        assert ("v (saturated)" in out, "0.700† [0.500, 0.900]" in out) == (saturated, saturated)
        assert ("on 1 board: v. Add --saturated to show them." in out) == (not saturated)
    print_overviews(rows([on("v", "lem", worse)], []), EVERYBODY, Format.table, numbers=True)
    assert "T (saturated)" in capsys.readouterr().out, "there is nothing else to show"
    assert [record["v separation"] for record in overview(both).to_dict()] == ["saturated"] * 2


def test_the_overview_has_a_line_a_board_and_a_rank_a_model_on_each(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """LEM is better on u; on v both lose to the predictor; on w the medians are equal."""
    worse, other = [0.5, 0.6, 0.7, 0.8, 0.9], [0.6, 0.7, 0.8, 0.9, 1.0]
    cells = {"u": (LEM, GRU), "v": (worse, other), "w": (LEM, LEM)}
    made = rows(
        [on(task, m, each) for task, both in cells.items() for m, each in zip(("lem", "gru"), both, strict=True)], []
    )
    monkeypatch.setenv("COLUMNS", "80")
    print_overviews(made, EVERYBODY, Format.table, saturated=True)
    out = capsys.readouterr().out
    assert max(map(len, out.splitlines())) <= 80
    assert [re.findall(rf"^{k}  ?T .* (yes|no|open)\b", out, re.M) for k in (1, 2, 3)] == [["yes"], ["yes"], ["no"]]
    lines = {name: re.search(rf"{name} +[\d.]+ +(\d.*)", out)[1].split() for name in ("LEM", "GRU")}
    order = overview(made).tasks
    wanted = {"LEM": {"u": "1", "v": "2†", "w": "1"}, "GRU": {"u": "2", "v": "1†", "w": "1"}}
    assert lines == {name: [ranks[task] for task, _ in order] for name, ranks in wanted.items()}
    print_overviews(made, EVERYBODY, Format.table)
    assert "†" not in "".join(line for line in capsys.readouterr().out.splitlines() if line.startswith(("LEM", "GRU")))


def test_a_model_that_ran_on_saturated_boards_only_has_no_line_of_dashes(capsys: pytest.CaptureFixture[str]) -> None:
    worse = [0.5, 0.6, 0.7, 0.8, 0.9]
    made = rows([on("u", "lem", LEM), on("v", "lem", worse), on("v", "gru", worse)], [])
    for saturated in (False, True):
        print_overviews(made, EVERYBODY, Format.table, saturated)
        models = [line.split()[0] for line in capsys.readouterr().out.splitlines() if line.startswith(("LEM", "GRU"))]
        assert models == ["LEM", "GRU"][: 1 + saturated]


def test_a_line_counts_the_tasks_with_a_result() -> None:
    [row] = [r for r in rows([on("u", "lem", LEM)], []) if r.kind == "retrained"]
    assert ModelLine("lem", "LEM", [row, None]).ran == 1


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


def test_boards_without_a_model_in_common_have_tables_of_their_own_beside_each_other_where_there_is_room(
    two_tasks: list[Row], capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    made = [*rows([on("g", "gcn", LEM), on("g", "gat", GRU)], []), *two_tasks]
    for width, heads in (
        ("30", ["board", "model", "model"]),
        ("46", ["board", "model model"]),
        ("80", ["board model", "model"]),
    ):
        monkeypatch.setenv("COLUMNS", width)
        print_overviews(made, EVERYBODY, Format.table)
        lines = [
            re.findall("board|model", line)
            for line in capsys.readouterr().out.splitlines()
            if " mean" in line or "separates" in line
        ]
        assert [" ".join(words) for words in lines] == heads
    print_overviews(made, EVERYBODY, Format.table, numbers=True)
    output = capsys.readouterr().out
    assert output.index("2 boards") < output.index("LEM") < output.index("1 board\n") < output.index("GCN")
    assert output.count("in the best group of its board") == 1
