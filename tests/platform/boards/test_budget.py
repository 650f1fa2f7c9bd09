"""Expected best against budget: the curve of the trials behind a row, from a real store."""

from __future__ import annotations

import csv
import io
from collections.abc import Callable, Sequence
from dataclasses import replace
from itertools import combinations
from pathlib import Path
from typing import Any

import pytest

from longwave.platform.boards.board import board
from longwave.platform.boards.budget import budgets
from longwave.platform.cli.main import main
from longwave.platform.records.run import Run
from longwave.platform.records.trial import TrialConfig
from longwave.platform.storage.store import Store

ABOUT = {"model": "LEM", "metric": "mse", "unit": "1", "goal": "min", "published": [], "departures": []}
BASE = TrialConfig("adding", "N=20", "d", "lem", {}, {"lr": 0.1}, 8, 10, 3, "search", 0, steps=5)


def searched(store: Store, name: str, valid: Sequence[float | None], **settings: Any) -> None:
    """Store a sweep of search trials with these validation metrics, None for one that diverged, and a retraining."""
    trials = [replace(BASE, seed=k, params={"lr": 0.1 + k}) for k in range(len(valid))]
    again = replace(BASE, phase="retrain", seed=99)
    store.add_sweep(name, settings)
    store.ask(name, [*trials, again], [ABOUT] * (len(trials) + 1))
    ends = [
        Run(c.id, "diverged", "it did", seconds=4.0) if v is None else Run(c.id, "ok", valid=v, seconds=4.0)
        for c, v in zip(trials, valid, strict=True)
    ]
    store.write([], [*ends, Run(again.id, "ok", valid=0.1, test=0.2)])


def test_a_curve_is_the_mean_of_the_best_over_all_subsets(store: Store) -> None:
    searched(store, "s", [0.5, 0.3, 0.9, None])
    [found] = budgets(store, board(store))
    counted = [0.5, 0.3, 0.9, 0.9]  # the diverged one counts as the worst
    for k, point in enumerate(found.curve, 1):
        best = [min(subset) for subset in combinations(counted, k)]
        assert point.value == pytest.approx(sum(best) / len(best))
    assert (len(found.curve), found.seconds, found.why) == (4, 4.0, "")


@pytest.mark.parametrize(
    ("valid", "settings", "why"),
    [([0.5], {"sampler": "tpe"}, "learned from earlier trials"), ([None], {}, "no search trial has a score")],
)
def test_a_search_without_a_curve_says_why(
    store: Store, valid: list[float | None], settings: dict[str, Any], why: str
) -> None:
    searched(store, "s", valid, **settings)
    [found] = budgets(store, board(store))
    assert found.curve == () and why in found.why


def test_the_command_prints_curves(
    tmp_path: Path, open_store: Callable[[str], Store], capsys: pytest.CaptureFixture[str]
) -> None:
    url = f"sqlite:///{tmp_path}/s.db"
    searched(open_store(url), "s", [0.5, 0.3, 0.9, None])
    assert main(["budget", "adding", "--format", "markdown", "--store", url]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == "### adding N=20: expected best validation mse ↓ of k search trials"
    assert lines[2] == "| model | trials | seconds a trial | k = 1 | k = 2 | k = 4 |"
    assert lines[4].startswith("| LEM | 4 | 4 | 0.65 [") and lines[4].endswith("| 0.3 [0.3, 0.3] |")
    assert main(["budget", "--format", "csv", "--store", url]) == 0
    records = list(csv.DictReader(io.StringIO(capsys.readouterr().out)))
    assert [(int(r["trials"]), float(r["seconds"])) for r in records] == [(1, 4.0), (2, 8.0), (3, 12.0), (4, 16.0)]
    assert main(["budget", "fitzhugh_nagumo", "--store", url]) == 2
    assert "No retrainings of fitzhugh_nagumo are stored yet" in capsys.readouterr().err
