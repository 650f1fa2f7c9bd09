"""Pairs, landmarks and errors of a board, and how a search goes, against what is counted by hand."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime

import pytest
from boards import printed, retrained, trials
from hypothesis import given
from hypothesis import strategies as some

from longwave.platform.boards.answer import answer
from longwave.platform.boards.board import rows
from longwave.platform.boards.budget import SearchCurve
from longwave.platform.boards.errors import curve_in_errors, has_errors, in_errors
from longwave.platform.boards.landmarks import landmarks
from longwave.platform.boards.pairs import pairs, ranked
from longwave.platform.boards.progress import progress
from longwave.platform.records.stored import Trial
from longwave.platform.statistics.stats import Estimate

GOOD, BAD = [1.0, 1.1, 1.2, 1.3, 1.4, 1.5, 1.6, 1.7], [9.0, 9.1, 9.2, 9.3, 9.4, 9.5, 9.6, 9.7]


def test_a_pair_is_told_apart_where_the_boards_ranks_do_and_seen_from_both_sides() -> None:
    board = rows([retrained("a", GOOD), retrained("b", BAD), retrained("c", [*GOOD[1:], 1.05])], [])
    actual = {(p.a.model, p.b.model): p for p in pairs(board, ranked(board))}
    assert len(actual) == 6
    assert [actual[k].word for k in (("a", "b"), ("b", "a"), ("a", "c"))] == ["better", "worse", "undecided"]
    assert actual["a", "b"].better.value == 1.0 and actual["b", "a"].better.value == 0.0
    there, back = actual["a", "b"].ratio, actual["b", "a"].ratio
    assert there and back and there.value == pytest.approx(1 / back.value) and there.value < 0.2


def test_pairs_are_of_the_ranked_rows_alone_and_the_family_is_the_whole_board() -> None:
    board = rows([retrained("a", GOOD), retrained("b", BAD)], [printed("z", 0.5)])
    assert [row.model for row in ranked(board)] == ["a", "b"]
    assert pairs([row for row in board if row.kind == "published"], []) == []
    ours = ranked(board)
    assert len(pairs(board, ours[:1])) == 0 and len(pairs(board, ours)) == 2
    assert pairs(ours[:1], ours[:1]) == []


def test_landmarks_are_the_best_the_baselines_the_best_printed_number_and_the_best_trivial_predictor() -> None:
    groups = [
        retrained("lem", [1.0, 1.1, 1.2, 1.3, 1.4], trivial={"mean": 7.0, "last": 6.0}),
        retrained("gru", [2.0, 2.1], trivial={"mean": 7.0}),
        retrained("lstm", [3.0, 3.1, 3.2, 3.3, 3.4], valid=0.5, trivial={"mean": 7.0}),
        retrained("lstm", [1.5, 1.6], valid=0.9, hidden=32, trivial={"mean": 7.0}),
    ]
    actual = landmarks(rows(groups, [printed("lem", 0.7), printed("z", 0.6)]))
    assert [(line.what, line.name) for line in actual] == [
        ("best", "LEM"), ("baseline", "LSTM (hidden 8)"), ("baseline", "GRU"), ("best published", "z"),
        ("best trivial", "last"),
    ]  # fmt: skip
    assert actual[1].value.startswith("3.2"), "the row that is best on validation speaks for a model"
    assert actual[2].value.endswith("2 seeds: provisional") and actual[4].value == "6"
    assert landmarks([]) == []


@pytest.mark.parametrize("model", ["lem", "z"])
def test_the_best_printed_number_has_its_printed_size_whether_or_not_its_model_was_trained(model: str) -> None:
    board = rows([retrained("lem", [1.0, 1.1])], [printed(model, 0.6, params=1233), printed("y", 0.7, params=5)])
    assert [line.parameters for line in landmarks(board) if line.what == "best published"] == ["1,233"]


def test_where_larger_is_better_the_best_printed_number_and_predictor_are_the_largest() -> None:
    about = {"goal": "max", "metric": "accuracy", "unit": "%", "trivial": {"majority": 50.0, "chance": 10.0}}
    numbers = [printed("y", 80.0, metric="accuracy"), printed("z", 90.0, metric="accuracy")]
    board = rows([retrained("lem", [70.0, 71.0], **about)], numbers)
    names = {line.what: line.name for line in landmarks(board)}
    assert (names["best published"], names["best trivial"]) == ("z", "majority")


def test_provisional_rows_lead_but_never_shine() -> None:
    others = [retrained(model, [50.0, 51.0, 52.0, 53.0, 54.0]) for model in "cdef"]
    few, many, *_ = rows([retrained("a", GOOD[:3]), retrained("b", GOOD[:5]), *others], [])
    assert few.leads and few.stands_out and not few.shines and many.shines
    message = answer([few, many])
    assert message.first == "B" and answer([few]).first == "A (provisional)" and answer([]).first == ""
    assert (
        message.sure == "not significantly better than A, of 1 other. Provisional: 1 of 2 rows has fewer than 5 seeds."
    )
    assert answer([many]).sure.startswith("not significantly") is False and answer([]).sure == "no row is ranked yet"


@given(some.lists(some.floats(0, 100), min_size=1, max_size=6))
def test_errors_are_what_is_missing_to_a_perfect_score_and_order_rows_alike(scores: list[float]) -> None:
    [row] = rows(
        [retrained("a", list(scores), "max", unit="%", metric="accuracy")], [printed("a", 98.0, metric="accuracy")]
    )
    made = in_errors(row)
    assert has_errors(row) and not has_errors(made) and (made.goal, made.metric) == ("min", "error")
    assert made.scores == pytest.approx([100 - score for score in scores])
    assert row.median is not None and made.median == pytest.approx(100 - row.median)
    if row.median_best is not None and row.median_worst is not None:
        assert made.median_best is not None and made.median_best == pytest.approx(100 - row.median_best)
    assert made.published[0]["value"] == pytest.approx(2.0)
    assert in_errors(made) is made, "an error stays what it is"
    search = curve_in_errors(SearchCurve(row, [Estimate(90.0, 85.0, 98.0), Estimate(95.0)]))
    assert search.row == made and search.curve == [Estimate(10.0, 2.0, 15.0), Estimate(5.0)]


def test_a_metric_without_a_perfect_score_has_no_errors() -> None:
    [row] = rows([retrained("a", [3.0, 4.0], "max")], [])
    assert not has_errors(row) and in_errors(row) is row
    search = SearchCurve(row, [Estimate(3.0)])
    assert curve_in_errors(search) is search


def ended(*scores: float | str) -> list[Trial]:
    """Return trials that ended one after another."""
    return [
        replace(trial, ended=datetime(2026, 1, 1, 0, k, tzinfo=UTC))
        for k, trial in enumerate(trials(retrained("a", list(scores))))
    ]


def test_a_searchs_progress_is_its_best_so_far_in_the_order_in_which_trials_ended() -> None:
    actual = progress([*ended("diverged", 3.0, 5.0, "failed", 1.0), *trials(retrained("b", ["planned"]))], "min", False)
    assert (
        actual.best == [None, 3.0, 3.0, 1.0] and actual.winner and actual.winner.run and actual.winner.run.valid == 1.0
    )
    # Of the best of k of 1, 3, 5 and a diverged one: k = 1 finds the middle one, k = 4 the best.
    assert [e.value for e in actual.curve][::3] == [3.0, 1.0]
    assert actual.half and actual.half.value == 2.0, "the middle of 1, 1, 1, 3, 3 and 5"
    most = progress(ended(3.0, 5.0, 4.0), "max", True)
    assert most.best == [3.0, 5.0, 5.0] and most.curve == () and most.half is None, "it learns: it has no such curve"
    none = progress(ended("diverged"), "min", False)
    assert none.winner is None and none.best == [None] and none.curve == ()
