"""Every kind of task that a card can be keeps the contract of tasks, and its trivial predictors run."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from card_files import LONG, csv, long_table, written

from longwave.platform.contracts.check import check_file
from longwave.tasks.base.data import Data
from longwave.tasks.cards.checked import read_card
from longwave.tasks.cards.task import UNIT, card_files, card_task

SPARSE = long_table(30, 12)
for _k, _row in enumerate(SPARSE[1:]):
    if _k % 7 == 3:
        _row[2] = ""
RAGGED = [r for r in long_table(30, 12) if r[0] == "id" or int(r[1]) < 8 + int(r[0][1:]) % 4]
VALUES = {"channels": ["x"], "task": "regression", "target": "y", "classes": None}
AHEAD = {"task": "forecasting", "target": None, "classes": None, "horizon": 2}
SIZES = [[*r, "size" if r[0] == "id" else str(len(r[0]) + int(r[0][1:]) ** 2)] for r in long_table(30, 12)]
SERIES = [["v", "w"], *([f"{math.sin(k / 5):.4f}", f"{math.cos(k / 7):.4f}"] for k in range(600))]
KINDS: dict[str, tuple[list[list[str]], dict[str, Any], set[str], str]] = {
    "classes": (long_table(30, 12), {}, {"majority", "1-NN"}, "accuracy"),
    "ragged classes": (RAGGED, {"metric": "cross_entropy"}, {"class frequencies"}, "cross_entropy"),
    "classes at some steps": (
        [[*r[:5], "" if r[1] == "3" else r[5]] for r in RAGGED],
        {"every_step": True, "missing": "mask", "metric": "cross_entropy"}, {"class frequencies"}, "cross_entropy",
    ),
    "classes at every step": (long_table(30, 12), {"every_step": True, "missing": "mask"}, {"majority"}, "accuracy"),
    "a value": (
        SIZES, {"task": "regression", "target": "size", "classes": None}, {"mean", "ridge on summaries"}, "rmse"
    ),
    "values at every step": (RAGGED, {**VALUES, "every_step": True}, {"mean", "AR(8)", "ridge(32)"}, "rmse"),
    "a forecast": (
        long_table(30, 12), {**AHEAD, "metric": "mae"},
        {"mean", "persistence", "AR(8)", "ridge(32)", "quadratic AR", "cubic AR", "neighbours"}, "mae",
    ),
    "a forecast of one channel": (
        SPARSE, {**AHEAD, "target": ["x"], "missing": "hold"}, {"mean", "persistence", "AR(8)", "ridge(32)"}, "rmse"
    ),
    "a ragged forecast with a mask": (
        [r for r in SPARSE if r in RAGGED or r[0] == "id" or int(r[1]) < 9], {**AHEAD, "missing": "mask"},
        {"mean", "persistence", "AR(8)", "ridge(32)"}, "rmse",
    ),
    "one long series": (
        SERIES, {**AHEAD, "series": None, "time": None, "layout": "series", "channels": ["v", "w"], "window": 20},
        {"mean", "persistence", "AR(8)", "ridge(32)", "quadratic AR", "cubic AR", "neighbours"}, "rmse",
    ),
}  # fmt: skip


@pytest.mark.parametrize("kind", KINDS)
def test_trivial_predictors_of_every_kind_have_a_score(
    kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LONGWAVE_CACHE", str(tmp_path / "cache"))
    rows, changes, predictors, metric = KINDS[kind]
    spec = card_task(written(tmp_path, csv(rows), LONG, **changes))
    data: Data[Any] = spec.load("")
    assert spec.metric.name == metric and data.test.inputs.shape[-1] == spec.inputs
    scores = spec.trivial(data)
    assert scores.keys() == predictors and all(np.isfinite(score) for score in scores.values())
    again = card_task(tmp_path / "toy.toml").load("")
    assert again.version == data.version
    if kind == "one long series":
        assert scores["AR(8)"] < scores["persistence"] / 3


def test_files_are_read_where_the_card_says_and_elsewhere_only_if_they_are_gone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LONGWAVE_CACHE", str(tmp_path / "cache"))
    files = card_files(read_card(card := written(tmp_path, csv(long_table()), LONG)), card)
    [own] = files.locations
    files.folder.mkdir(parents=True)
    assert own == tmp_path / "data.csv" and files.locations == [own]
    own.unlink()
    assert files.locations == [files.folder / "data.csv"]


def test_an_error_is_in_standard_deviations_only_if_targets_are_standardised(tmp_path: Path) -> None:
    for normalise, said in (("standard", True), ("none", False)):
        task = card_task(written(tmp_path, csv(long_table()), LONG, **AHEAD, normalise=normalise))
        assert task.metric.definition.endswith(UNIT) == said
    assert not card_task(written(tmp_path, csv(long_table()), LONG)).metric.definition.endswith(UNIT)


def test_a_guess_by_frequencies_costs_what_it_does_by_hand(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LONGWAVE_CACHE", str(tmp_path / "cache"))
    spec = card_task(written(tmp_path, csv(long_table(40, classes="aaab")), LONG, metric="cross_entropy"))
    data: Data[Any] = spec.load("")
    train, test = (np.bincount(split.targets.numpy(), minlength=2) for split in (data.training(0), data.test))
    wanted = -(test * np.log((train + 1) / (train.sum() + 2))).sum() / test.sum()
    scores = spec.trivial(data)
    assert scores["class frequencies"] == pytest.approx(wanted, rel=1e-6) and scores["class frequencies"] < math.log(2)
    assert spec.chance_at("", scores) == scores["class frequencies"]


def test_of_examples_of_unequal_length_summaries_are_compared_not_steps(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LONGWAVE_CACHE", str(tmp_path / "cache"))
    x, n = np.random.default_rng(0).normal(size=(40, 6, 2)), np.arange(40) % 3 + 4
    np.savez(tmp_path / "data.npz", inputs=x, n=n, label=np.array(["a", "b"])[np.arange(40) % 2])
    card = {**LONG, "files": ["data.npz"], "series": None, "time": None}
    for lengths, trivial in {"n": "ridge on summaries", None: "1-NN"}.items():
        spec = card_task(written(tmp_path, (tmp_path / "data.npz").read_bytes(), card, lengths=lengths))
        assert spec.trivial(spec.load("")).keys() == {"majority", trivial}


@pytest.mark.parametrize("kind", KINDS)
def test_a_card_keeps_the_contract_of_tasks(kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LONGWAVE_CACHE", str(tmp_path / "cache"))
    rows, changes, _, _ = KINDS[kind]
    [(subject, outcomes)] = check_file(written(tmp_path, csv(rows), LONG, **changes))
    rules = [*outcomes]
    assert subject == "task my-toy" and len(rules) > 8 and not [each for each in rules if each.broken]
