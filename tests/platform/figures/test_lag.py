"""Scores against length or lag: medians of the retrainings, one line per row."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest
from boards import retrained, trials

from longwave.platform.boards.board import rows
from longwave.platform.boards.row import Row
from longwave.platform.figures.lag import against_lag, scores_by_lag
from longwave.platform.records.run import Measure
from longwave.platform.records.stored import Trial


def measured_at(model: str, by_seed: list[dict[float, float] | str], key: str = "free_rmse") -> tuple[Row, list[Trial]]:
    """Return a row whose retrainings measured ``key`` at some steps ahead, and other things too."""
    group = retrained(model, [1.0 if isinstance(seed, dict) else seed for seed in by_seed])
    [row] = rows([group], [])
    ran = [
        replace(
            trial,
            run=trial.run
            and replace(
                trial.run,
                measures=(
                    Measure("valid_time", "steps", 7.0),
                    *(Measure(key, "1", value, "steps ahead", x) for x, value in seed.items()),
                    *(Measure("other", "1", 99.0, "steps ahead", x) for x in seed),
                ),
            ),
        )
        if isinstance(seed, dict)
        else trial
        for trial, seed in zip(trials(group), by_seed, strict=True)
    ]
    return row, ran


def test_a_line_goes_through_the_medians_at_each_lag_and_a_diverged_seed_counts_as_worst() -> None:
    parts = [
        measured_at("a", [{1.0: 0.1, 100.0: 0.5}, {1.0: 0.3, 100.0: 0.9}, {1.0: 0.2, 100.0: 0.6}, "diverged"]),
        measured_at("b", [{1.0: 0.4, 100.0: 0.4}]),
        measured_at("c", [{1.0: 0.4, 100.0: 0.4}, "diverged"]),
    ]
    board, ran = [row for row, _ in parts], [trial for _, theirs in parts for trial in theirs]
    scores = scores_by_lag(board, ran)
    assert {(s.row.model, s.axis, s.x): (pytest.approx(s.median), s.n) for s in scores} == {
        ("a", "steps ahead", 1.0): (0.25, 4),
        ("a", "steps ahead", 100.0): (0.75, 4),
        ("b", "steps ahead", 1.0): (0.4, 1),
        ("b", "steps ahead", 100.0): (0.4, 1),
    }
    figure = against_lag(scores, log=True)
    assert figure and "against steps ahead" in figure.title
    type(figure.chart).from_dict(figure.spec(), validate=True)
    texts = json.dumps(figure.spec(), ensure_ascii=False)
    assert f"{board[0].model_title}, steps ahead 100: median 0.75 of 4 seeds" in texts


def test_untrusted_retrainings_beside_trusted_ones_count_in_no_median() -> None:
    row, ran = measured_at("a", [{1.0: 0.1}, {1.0: 0.2}, {1.0: 0.3}, {1.0: 0.001}, {1.0: 0.002}])
    beside = replace(row, untrusted_runs=row.trials[3:])
    for shown, expected in ((beside, (0.2, 3)), (replace(beside, untrusted=True), (0.1, 5))):
        [score] = scores_by_lag([shown], ran)
        assert (score.median, score.n) == expected


def test_rows_of_one_model_have_lines_of_their_own_named_by_what_differs() -> None:
    (bare, its), (other, others) = (measured_at(name, [{1.0: 0.1, 9.0: 0.5}]) for name in "ab")
    again = [replace(trial, config=replace(trial.config, hidden=9)) for trial in its]
    wide = replace(bare, mark="(hidden 9)", trials=tuple(trial.config.id for trial in again))
    ran = [*its, *again, *others]
    scores = scores_by_lag([replace(bare, mark="(hidden 8)"), wide, other], ran)
    assert {score.name for score in scores} == {"A (hidden 8)", "A (hidden 9)", "B"}


def test_a_superseded_row_and_one_without_measurements_have_no_line() -> None:
    old, ran = measured_at("a", [{1.0: 0.1}])
    assert scores_by_lag([replace(old, superseded="another")], ran) == []
    group = retrained("b", [1.0])
    assert against_lag(scores_by_lag(rows([group], []), trials(group)), log=True) is None


def test_on_a_logarithmic_axis_an_accuracy_is_shown_as_an_error() -> None:
    row, ran = measured_at("a", [{1.0: 99.0, 9.0: 100.0}])
    row = replace(row, metric="accuracy", unit="%", goal="max")
    for log, shown, title in ((False, [99.0, 100.0], "Test accuracy"), (True, [1.0, 1.0], "Test error")):
        figure = against_lag(scores_by_lag([row], ran), log)
        assert figure and figure.title.startswith(title)
        spec = figure.spec()
        drawn = list(spec["datasets"][spec["data"]["name"]])
        assert [mark["value"] for mark in drawn] == shown, "an error of 0 is drawn at the end of the axis"
    assert drawn[1]["tip"].endswith("median 0 of 1 seed")
