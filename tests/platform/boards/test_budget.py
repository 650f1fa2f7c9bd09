"""Median best against budget: the curve of the trials behind a row."""

from __future__ import annotations

import csv
import io
from collections.abc import Callable, Sequence
from dataclasses import replace
from itertools import combinations
from pathlib import Path
from statistics import median
from typing import Any

import pytest
from boards import CONFIG, retrained

from longwave.platform.boards.board import rows
from longwave.platform.boards.budget import SearchCurve, budgets
from longwave.platform.boards.row import Row
from longwave.platform.cli.main import main
from longwave.platform.records.about import About
from longwave.platform.records.group import RunSummary
from longwave.platform.records.run import Run
from longwave.platform.render.budget import print_budgets
from longwave.platform.render.export import Format
from longwave.platform.statistics.stats import Estimate, diverged_share
from longwave.platform.storage.store import Store

ABOUT = About("Adding problem", "LEM", "mse", "1", "min", ())
BASE = replace(CONFIG, task="adding", variant="N=20", model="lem", phase="search", steps=5)


def searched(store: Store, name: str, valid: Sequence[float | None], **settings: Any) -> None:
    """Store a sweep of search trials with these validation metrics, None for one that diverged, and a retraining."""
    trials = [replace(BASE, seed=k, params={"lr": 0.1 + k}) for k in range(len(valid))]
    again = replace(BASE, phase="retrain", seed=99)
    store.add_sweep(name, settings)
    store.add_trials(name, [*trials, again], [ABOUT] * (len(trials) + 1))
    ends = [
        Run(c.id, "diverged", "it did", seconds=4.0) if v is None else Run(c.id, "ok", valid=v, seconds=4.0)
        for c, v in zip(trials, valid, strict=True)
    ]
    store.write([], [*ends, Run(again.id, "ok", valid=0.1, test=0.2)])


def row(**changes: Any) -> Row:
    return rows([retrained("lem", [0.1], sweeps=("s", "t"), **changes)], [])[0]


def summaries(valid: Sequence[float | None], status: str = "ok") -> list[RunSummary]:
    """Return ended search trials with these validation metrics, None for one that diverged."""
    return [
        RunSummary(str(k), status if v is not None else "diverged", valid=v, seconds=4.0) for k, v in enumerate(valid)
    ]


def test_a_curve_is_the_median_of_the_best_over_all_subsets_in_which_a_trial_ended() -> None:
    trials = [*summaries([0.5, 0.3, 0.9, None, None]), *summaries([0.1], "failed"), *summaries([0.1], "running")]
    [actual] = budgets([row()], lambda _: trials)
    for k, point in enumerate(actual.curve, 1):
        subsets = [[v for v in subset if v] for subset in combinations([0.5, 0.3, 0.9, None, None], k)]
        best = [min(subset) for subset in subsets if subset]
        assert point.value == pytest.approx(median(best))
        assert actual.lost[k - 1] == pytest.approx(1 - len(best) / len(subsets))
    assert (len(actual.curve), actual.seconds, actual.why) == (5, 4.0, "")
    assert actual.diverged == diverged_share(2, 5)


@pytest.mark.parametrize("n", [2, 5, 24])
def test_a_trial_that_nearly_diverged_moves_no_median_out_of_its_band(n: int) -> None:
    [actual] = budgets([row()], lambda _: summaries([1e33, *(1.0 + 0.01 * k for k in range(n))]))
    for point in actual.curve:
        assert point.low is not None and point.high is not None and point.low <= point.value <= point.high
        assert point.value < 1.5


def test_a_trial_that_halving_stopped_was_drawn_like_the_others_and_counts() -> None:
    trials, ends = (
        [*summaries([0.5, 0.3, None]), *summaries([0.1, 0.9], "stopped")],
        summaries([0.5, 0.3, None, 0.1, 0.9]),
    )
    assert budgets([row()], lambda _: trials) == budgets([row()], lambda _: ends)
    assert len(budgets([row()], lambda _: trials)[0].curve) == 5


def test_the_trials_asked_for_are_those_of_the_models_best_row() -> None:
    requested: list[Row] = []
    best, other = row(), row(hidden=9, valid=9.0)
    budgets([other, best], lambda one: requested.append(one) or [])  # type: ignore[func-returns-value]
    assert requested == [best]


def test_a_search_without_a_curve_says_why() -> None:
    [actual] = budgets([row()], lambda _: summaries([0.5]), {"t"})
    why = "trials are not independent draws (TPE, warm start or widened ranges)"
    assert (actual.curve, actual.why) == ((), why)
    [actual] = budgets([row()], lambda _: summaries([None]), {"u"})
    assert (actual.curve, actual.why) == ((), "no search trial has a score")
    assert actual.diverged == diverged_share(1, 1)
    [actual] = budgets([row()], lambda _: [])
    assert (actual.diverged, actual.why) == (None, "no search trial has a score")


def test_models_that_tie_are_all_named_and_only_a_perfect_score_is_written_as_one(
    capsys: pytest.CaptureFixture[str],
) -> None:
    curve = tuple(Estimate(value, value, value) for value in (99.97, 100.0))
    same = replace(row(), goal="max", unit="%", metric="accuracy")
    curves = [SearchCurve(replace(same, title=name), curve, (0.0, 0.0)) for name in ("A", "B")]
    print_budgets(curves, Format.markdown)
    lines = capsys.readouterr().out.splitlines()
    assert lines[2].startswith(
        "With half of the trials A and B have the best median search (accuracy 99.9 on validation)"
    )
    assert lines[2].endswith("with all of them A and B (100).") and "99.9 [99.9, 99.9]" in lines[-1]


@pytest.mark.integration
def test_the_command_prints_curves(
    tmp_path: Path, open_store: Callable[[str], Store], capsys: pytest.CaptureFixture[str]
) -> None:
    url = f"sqlite:///{tmp_path}/s.db"
    searched(open_store(url), "s", [0.5, 0.3, 0.9, None])
    assert main(["budget", "adding", "--format", "markdown", "--store", url]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == "### Adding problem, N=20: median best validation MSE ↓ of k search trials"
    assert lines[2].startswith("With half of the trials LEM has the best median search (MSE 0.4")
    assert lines[2].endswith("on validation), with all of them LEM (0.300).")
    assert lines[4] == "| model | trials | share diverged [95 %] | seconds a trial | k = 1 | k = 2 | k = 4 |"
    assert lines[6].startswith("| LEM | 4 | 0.25 [0.01, 0.81] | 4 | 0.500 [0.300, 0.900] (25 % find nothing) | 0.400")
    assert lines[6].endswith("| 0.300 [0.300, 0.300] |")
    assert main(["budget", "adding", "--store", url]) == 0
    assert "which is no confidence interval" in " ".join(capsys.readouterr().out.split())
    assert main(["budget", "--format", "csv", "--store", url]) == 0
    records = list(csv.DictReader(io.StringIO(capsys.readouterr().out)))
    assert [(int(r["trials"]), float(r["seconds"])) for r in records] == [(1, 4.0), (2, 8.0), (3, 12.0), (4, 16.0)]
    assert [(float(r["diverged"]), float(r["all_diverged"])) for r in records] == [(0.25, 0.25), *[(0.25, 0.0)] * 3]
    assert main(["budget", "fitzhugh_nagumo", "--store", url]) == 2
    assert "No retrainings of fitzhugh_nagumo are stored yet" in capsys.readouterr().err


def test_what_has_no_curve_is_said_once_with_its_reason_and_its_boards(capsys: pytest.CaptureFixture[str]) -> None:
    made = [rows([retrained(model, [1.0], variant=v)], [])[0] for v in ("u", "v") for model in "ab"[: 1 + (v == "v")]]
    print_budgets([SearchCurve(row, why="it learned") for row in made], Format.table)
    assert capsys.readouterr().out == "No curve: it learned. T, u (1 model); T, v (2 models).\n"
