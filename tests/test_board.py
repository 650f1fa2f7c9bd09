"""Boards: statistics checked by hand and against scipy, ranks, verdicts, and what is printed."""

from __future__ import annotations

import csv
import io
import json
import math
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats as scipy_stats

from longwave.platform import render_board
from longwave.platform.board import OTHER_FORM, Row, rows, shown, verdict
from longwave.platform.records import Run, TrialConfig
from longwave.platform.stats import mean_interval, mean_std, rank_ranges
from longwave.platform.store import Trial

CONTRACT = (
    "task model config metric unit goal mean std n low high diverged failed searched provisional "
    "rank_low rank_high published"
).split()
numbers = st.floats(-1e6, 1e6)


def retrained(model: str, tests: Sequence[float | str], goal: str = "min", **changes: Any) -> list[Trial]:
    """Return one row's retrainings: a number is an ok run's test metric, a word is how another run ended."""
    about = {"model": model.upper(), "metric": "mse", "unit": "1", "goal": goal, "published": "", "departures": []}
    trials = []
    for seed, test in enumerate(tests):
        config = replace(TrialConfig("t", "", "d", model, {}, {"lr": 0.1}, 8, 2, 3, "retrain", seed), **changes)
        if isinstance(test, str):
            run = Run(config.id, test, "it did", seconds=2.0)  # type: ignore[arg-type]
        else:
            run = Run(config.id, "ok", valid=0.0, test=test, seconds=2.0, parameters=7)
        trials.append(Trial(config, about, run.status, None, run, None))
    return trials


def printed(model: str, value: float, **changes: Any) -> dict[str, Any]:
    return {"model": model, "variant": "", "model_variant": "", "metric": "mse", "value": value, "std": None, "n": None,
            "statistic": "mean", "units": "8", "sources": "paper, Table 1 (this paper)", **changes}  # fmt: skip


def test_mean_and_deviation_by_hand() -> None:
    assert mean_std([1.0, 3.0]) == (2.0, math.sqrt(2))
    assert mean_std([5.0]) == (5.0, None)


@given(st.lists(numbers, min_size=2, max_size=20))
def test_mean_and_deviation_are_numpys(scores: list[float]) -> None:
    mean, std = mean_std(scores)
    assert mean == pytest.approx(np.mean(scores), abs=1e-6)
    assert std == pytest.approx(np.std(scores, ddof=1), rel=1e-9, abs=1e-6)


@given(st.lists(st.integers(-1000, 1000), min_size=2, max_size=12, unique=True), st.floats(0.5, 0.99))
def test_the_interval_is_scipys(scores: list[int], level: float) -> None:
    theirs = scipy_stats.t.interval(level, len(scores) - 1, np.mean(scores), scipy_stats.sem(scores))
    assert mean_interval(scores, level) == pytest.approx(theirs, rel=1e-9)


def test_the_interval_covers_the_mean_as_often_as_it_says_even_at_three_seeds() -> None:
    samples = np.random.default_rng(0).normal(size=(4000, 3))
    hits = sum(low <= 0 <= high for low, high in filter(None, (mean_interval(list(s)) for s in samples)))
    assert abs(hits / 4000 - 0.95) < 3 * math.sqrt(0.95 * 0.05 / 4000)


def test_statistics_refuse_what_has_no_answer() -> None:
    with pytest.raises(ValueError, match=r"not finite at positions \[1\]"):
        mean_std([1.0, math.nan])
    with pytest.raises(ValueError, match="at least one score"):
        mean_std([])
    with pytest.raises(ValueError, match="between 0 and 1, got 1"):
        mean_interval([1.0, 2.0], 1.0)


def test_rank_ranges_by_hand() -> None:
    assert rank_ranges([(1, 2), (1.5, 3), (4, 5), None], best_is_high=False) == [(1, 3), (1, 3), (3, 4), (1, 4)]
    assert rank_ranges([(1, 2), (4, 5)], best_is_high=True) == [(2, 2), (1, 1)]


@given(st.lists(st.tuples(numbers, st.floats(0, 100)).map(lambda p: (p[0], p[0] + p[1])), min_size=1, max_size=8))
def test_a_rank_range_holds_the_rank_of_the_point_estimate(intervals: list[tuple[float, float]]) -> None:
    ranges = rank_ranges(intervals, best_is_high=False)
    middles = [(low + high) / 2 for low, high in intervals]
    for middle, (low, high) in zip(middles, ranges, strict=True):
        better = sum(other < middle for other in middles)
        assert low <= better + 1 and sum(other <= middle for other in middles) <= high or low <= high


def test_a_row_averages_what_ended_ok_and_counts_what_did_not() -> None:
    [row] = rows(retrained("lem", [1.0, 3.0, "diverged", "failed"]), {}, [])
    assert (row.mean, row.std, row.n) == (2.0, math.sqrt(2), 2)
    assert (row.diverged, row.failed, row.provisional) == (1, 1, True)
    half = scipy_stats.t.ppf(0.975, 1) * math.sqrt(2) / math.sqrt(2)
    assert (row.low, row.high) == pytest.approx((2 - half, 2 + half))
    assert (row.train_seconds, row.parameters, row.title) == (8.0, 7, "LEM")


def test_rows_are_ranked_by_mean_in_the_metrics_direction_and_rows_without_a_mean_come_last() -> None:
    def order(goal: str) -> list[str]:
        made = [retrained(m, t, goal) for m, t in (("a", ["diverged"]), ("b", [1.0] * 5), ("c", [2.0, 2.1]))]
        return [row.model for row in rows([t for group in made for t in group], {}, [])]

    assert (order("min"), order("max")) == (["b", "c", "a"], ["c", "b", "a"])


def test_configurations_and_variants_are_rows_of_their_own_and_variants_are_ranked_apart() -> None:
    group = retrained("a", [1.0, 1.1]) + retrained("a", [9.0, 9.1], params={"lr": 0.2})
    made = rows(group + retrained("a", [5.0, 5.1], variant="N=9"), {}, [])
    assert [(r.variant, r.mean, r.rank_low) for r in made] == [("", 1.05, 1), ("", 9.05, 2), ("N=9", 5.05, 1)]


def test_a_row_says_what_its_search_cost() -> None:
    again = retrained("lem", [1.0])
    search = [
        Trial(t.config, t.about, t.status, None, t.run, None)
        for t in retrained("lem", [1.0, "diverged"], phase="search")
    ]
    [row] = rows(again, {again[0].config.row: search}, [])
    assert (row.searched, row.search_diverged, row.find_seconds) == (2, 1, 4.0)


@pytest.mark.parametrize(
    ("interval", "provisional", "goal", "value", "expected"),
    [
        ((1, 2), False, "min", 1.5, "reproduced"),
        ((1, 2), True, "min", 1.5, "undecided"),
        ((1, 2), True, "min", 2.5, "better"),
        ((1, 2), True, "max", 2.5, "worse"),
        ((1, 2), False, "min", 0.5, "worse"),
        ((1, 2), False, "max", 0.5, "better"),
        (None, True, "min", 0.5, "undecided"),
    ],
)
def test_the_verdict_on_a_published_number(
    interval: tuple[float, float] | None, provisional: bool, goal: str, value: float, expected: str
) -> None:
    assert verdict(interval, provisional, goal, value) == expected


def test_published_numbers_stand_beside_their_own_model_task_variant_and_metric_alone() -> None:
    published = [
        printed("lem", 0.5),
        printed("lem", 0.6, model_variant="without gates"),
        printed("gru", 0.7),
        printed("lem", 0.8, variant="N=9"),
        printed("lem", 0.9, metric="accuracy"),
    ]
    [row] = rows(retrained("lem", [1.0] * 5), {}, published)
    assert [(p["value"], p["verdict"]) for p in row.published] == [(0.5, "worse"), (0.6, "different model variant")]
    assert (row.published[0]["source"], row.published[0]["table"]) == ("paper", "Table 1 (this paper)")


@pytest.mark.parametrize(
    ("mean", "std", "expected"),
    [
        (0.018234, 0.0056, "0.0182 ± 0.0056"),
        (97.123, 0.234, "97.12 ± 0.23"),
        (123.4, 12.3, "123 ± 12"),
        (0.5, None, "0.5"),
        (0.5, 0.0, "0.5"),
        (None, None, "—"),
        (2.4e-5, 3.1e-6, "0.0000240 ± 0.0000031"),
    ],
)
def test_means_are_shown_with_the_digits_their_deviation_supports(mean: float, std: float, expected: str) -> None:
    assert shown(mean, std) == expected


@pytest.fixture
def two_rows() -> list[Row]:
    group = retrained("lem", [1.0, 3.0]) + retrained("gru", [7.0, "diverged"])
    return rows(group, {}, [printed("lem", 0.5)])


def test_json_keeps_the_contract(two_rows: list[Row], capsys: pytest.CaptureFixture[str]) -> None:
    render_board.show(two_rows, "json")
    lem, gru = json.loads(capsys.readouterr().out)
    assert set(CONTRACT) <= set(lem)
    assert (lem["model"], lem["mean"], lem["n"], gru["std"], gru["diverged"]) == ("lem", 2.0, 2, None, 1)
    assert {"value", "std", "statistic", "n", "source", "table", "verdict"} <= set(lem["published"][0])


def test_each_published_number_has_its_own_verdict_in_the_same_place() -> None:
    published = [printed("lem", 0.5), printed("lem", 0.6), printed("lem", 9.0)]
    [row] = rows(retrained("lem", [1.0, 1.1] * 3), {}, published)
    cells = dict(zip(render_board.COLUMNS, render_board.cells(row), strict=True))
    assert [c.split(" ")[0] for c in cells["published"].split("; ")] == ["0.5", "0.6", "9"]
    assert cells["verdict"] == "worse; worse; better"


def test_csv_has_one_line_a_row(two_rows: list[Row], capsys: pytest.CaptureFixture[str]) -> None:
    render_board.show(two_rows, "csv")
    lem, gru = csv.DictReader(io.StringIO(capsys.readouterr().out))
    assert (lem["model"], lem["mean"], gru["std"], lem["params"]) == ("lem", "2.0", "", "lr=0.1")


def test_markdown_is_a_table_with_ours_and_theirs(two_rows: list[Row], capsys: pytest.CaptureFixture[str]) -> None:
    render_board.show(two_rows, "markdown")
    lines = capsys.readouterr().out.strip().splitlines()
    assert lines[0] == "### t" and lines[3].replace("|", "").replace("-", "") == ""
    assert "2.0 ± 1.4 (2, provisional)" in lines[4] and "0.5 (mean, paper Table 1)" in lines[4]
    assert all(line.count("|") == 10 for line in lines[2:])


def test_latex_is_a_booktabs_table(two_rows: list[Row], capsys: pytest.CaptureFixture[str]) -> None:
    render_board.show(two_rows, "latex")
    out = capsys.readouterr().out
    assert all(word in out for word in ("\\toprule", "\\caption{", "2.0 ± 1.4"))


@pytest.mark.parametrize(("goal", "order"), [("min", ["copy", "a", "slow", "b"]), ("max", ["b", "slow", "a", "copy"])])
def test_trivial_predictors_stand_by_their_value_among_the_models_without_a_rank(goal: str, order: list[str]) -> None:
    group = retrained("a", [1.0, 1.1], goal) + retrained("b", [3.0, 3.2], goal) + retrained("c", ["diverged"], goal)
    for trial in group:
        trial.about["trivial"] = {"copy": 0.5, "slow": 2.0}
    found = rows(group, {}, [])
    assert [row.model for row in found] == [*order, "c"]
    trivial = {row.model: row for row in found if row.trivial}
    assert {k: (r.mean, r.n, r.rank_low, list(r.trials)) for k, r in trivial.items()} == {
        "copy": (0.5, 0, None, []),
        "slow": (2.0, 0, None, []),
    }
    assert [(r.rank_low, r.rank_high) for r in found if not r.trivial and r.mean is not None] == [(1, 1), (2, 2)]
    assert render_board.cells(trivial["copy"])[:4] == (
        "—",
        "copy",
        f"mse [1] {'↓' if goal == 'min' else '↑'}",
        "0.5 (trivial)",
    )


def test_a_published_number_is_compared_with_the_form_of_the_model_it_was_printed_for() -> None:
    numbers = [
        printed("lem", 1.0),
        printed("lem", 1.0, model_variant="without gates"),
        printed("lem", 1.0, model_variant="x"),
    ]
    for called, wanted in ([""], [True, False, False]), (["without gates"], [False, True, False]), ([], [False] * 3):
        group = retrained("lem", [1.0, 1.1])
        for trial in group:
            trial.about["called"] = called
        [row] = rows(group, {}, numbers)
        assert [p["verdict"] != OTHER_FORM for p in row.published] == wanted
