"""What is measured of a trivial predictor, and when it is measured again."""

from __future__ import annotations

import importlib
import shutil
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor

from longwave.platform.registry import get_task
from longwave.tasks.base.data import Data
from longwave.tasks.base.predictor import Fitted, Predictor
from longwave.tasks.base.sequences import Sequences
from longwave.tasks.trivial.constant import Mean
from longwave.tasks.trivial.rocket import MiniRocket

FITS: list[float] = []


@dataclass(frozen=True)
class Same(Predictor):
    """One value for all; it counts its fits."""

    value: float

    def fit(self, data: Data[Any]) -> Fitted:
        FITS.append(self.value)
        return Fitted(lambda split: torch.full_like(split.targets, self.value), 7, "a value")


@dataclass(frozen=True)
class Absent(Same):
    """One that cannot run."""

    def lacks(self) -> str:
        return "It needs what nobody has: get it."


@pytest.fixture
def measured(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., dict[str, Any]]:
    monkeypatch.setenv("LONGWAVE_CACHE", str(tmp_path))
    FITS.clear()

    def of(each: Any, target: float = 3.0) -> dict[str, Any]:
        split = Sequences(torch.zeros(4, 5, 1), torch.full((4, 1), target))
        task = replace(get_task("adding"), baselines={"it": each})
        return task.measured(Data(train=split, valid=split, test=split))  # type: ignore[return-value]

    return of


def test_a_predictor_is_measured_once_for_the_same_data_and_keeps_score_time_size_and_choice(measured: Any) -> None:
    first, again = measured(Same(1.0)), measured(Same(1.0))
    assert first == again and FITS == [1.0]
    assert (first["it"].score, first["it"].numbers, first["it"].chosen) == (4.0, 7, "a value")
    assert 0 < first["it"].seconds < 60


def test_other_data_or_other_settings_are_measured_anew(measured: Any) -> None:
    assert [measured(Same(1.0))["it"].score, measured(Same(2.0))["it"].score] == [4.0, 1.0]
    assert measured(Same(1.0), 5.0)["it"].score == 16.0
    assert FITS == [1.0, 2.0, 1.0]


def test_a_score_is_measured_anew_when_the_code_beside_its_predictor_changes(
    measured: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "with_code"
    folder.mkdir()
    shutil.copyfile(__file__, folder / "copied_predictor.py")
    monkeypatch.syspath_prepend(folder)
    copied = importlib.import_module("copied_predictor")
    for text in ("LEVEL = 1", "LEVEL = 1", "LEVEL = 2"):
        (folder / "helper.py").write_text(text)
        measured(copied.Same(1.0))
    assert copied.FITS == [1.0, 1.0]


def test_a_plain_function_is_a_baseline_and_is_measured_each_time(measured: Any) -> None:
    calls = []

    def two(data: Data[Any]) -> Tensor:
        calls.append(1)
        return torch.full_like(data.test.targets, 2.0)

    for _ in range(2):
        measurement = measured(two)["it"]
        assert (measurement.score, measurement.numbers, measurement.chosen) == (1.0, None, "")
    assert len(calls) == 2


def test_one_that_cannot_run_is_left_out_and_says_how_to_get_what_it_needs(measured: Any) -> None:
    assert measured(Absent(1.0)) == {}
    task = replace(get_task("adding"), baselines={"it": Absent(1.0), "mean": Mean()})
    assert task.lacking() == {"it": "It needs what nobody has: get it."}
    assert MiniRocket(2).lacks() in ("", "MiniRocket needs aeon: pip install 'longwave[rocket]'")


def test_a_damaged_file_is_measured_anew(measured: Any, tmp_path: Path) -> None:
    first = measured(Same(1.0))["it"]
    [file] = (tmp_path / "trivial").iterdir()
    file.write_bytes(file.read_bytes()[:100])
    again = measured(Same(1.0))["it"]
    assert (again.score, FITS) == (first.score, [1.0, 1.0])
