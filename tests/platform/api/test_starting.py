"""``lw.start``: a data frame, arrays or a file becomes a task that a sweep trains on."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import torch

import longwave as lw
from longwave.platform.errors import ConfigError
from longwave.platform.registry import get_task
from longwave.tasks.base.raw import DataError

RNG = np.random.default_rng(0)
Y = np.arange(60) % 2
X = RNG.normal(size=(60, 5, 2)) + Y[:, None, None]


@pytest.fixture(autouse=True)
def own_home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A data folder of one test."""
    monkeypatch.setenv("LONGWAVE_HOME", str(tmp_path / "home"))
    return tmp_path / "home"


def frame() -> pd.DataFrame:
    """Return the examples as a data frame, one row a step."""
    columns = {"id": np.arange(60).repeat(5), "t": np.tile(np.arange(5), 60), "a": X[..., 0].ravel()}
    return pd.DataFrame({**columns, "b": X[..., 1].ravel(), "label": np.where(Y, "late", "early").repeat(5)})


def check_batches(name: str) -> None:
    """Assert that a task feeds the examples of ``X``, each once, and what is asked of it."""
    data = get_task(name).load("")
    splits = [data.training(0), data.valid, data.test]
    fed = np.concatenate([split.inputs.numpy() for split in splits])
    assert fed.shape == (60, 5, 2) and {*np.concatenate([split.targets.numpy() for split in splits])} == {0, 1}


def test_a_data_frame_is_a_task_with_a_sweep_file(own_home: Path) -> None:
    started = lw.start(frame(), name="gestures", models=["lem"], trials=1, seeds=1)
    assert started.name == "my-gestures" and started.sweep_file.parent.parent.parent == own_home
    check_batches("my-gestures")


def test_the_row_numbers_of_a_filtered_and_shuffled_frame_are_no_input(own_home: Path) -> None:
    rows = frame().assign(label=lambda table: table.label.sort_values().to_numpy())
    chosen = rows[rows.id != 3].sample(frac=1, random_state=0).sort_values("t", kind="stable")
    started = lw.start(chosen, name="filtered", models=["lem"], trials=1, seeds=1, target="a", task="regression")
    assert tomllib.loads(started.card.read_text())["channels"] == ["b"]
    wide = pd.DataFrame(X[..., 0], columns=[f"v{k}" for k in range(5)]).assign(label=np.sort(Y)).sample(frac=1)
    started = lw.start(wide, name="shuffled", models=["lem"], trials=1, seeds=1)
    assert tomllib.loads(started.card.read_text())["channels"] == ["v*"]


@pytest.mark.integration
def test_arrays_are_a_task_whose_sweep_runs(tmp_path: Path) -> None:
    started = lw.start(X, Y, name="arrays", models=["lstm"], trials=1, seeds=1)
    check_batches("my-arrays")
    text = started.sweep_file.read_text()
    started.sweep_file.write_text(text + "epochs = 1\nhidden = 4\nbatch = 16\n")
    done = started.run(here=True, mlflow="off", storage=str(tmp_path))
    assert [row.model for row in done.board if row.kind == "retrained"] == ["lstm"]


def test_the_same_data_are_started_once_other_data_of_that_name_are_refused_and_what_fails_leaves_nothing(
    own_home: Path,
) -> None:
    with pytest.raises(DataError, match="column"):
        lw.start(frame(), name="again", target="labl")
    assert not (own_home / "own/again").exists()
    started = lw.start(frame(), name="again")
    assert lw.start(frame(), name="again") == started
    with pytest.raises(ConfigError, match="already contains other data named again. Give another name"):
        lw.start(frame().iloc[:-5], name="again")


def test_a_file_is_started_as_on_the_command_line(tmp_path: Path) -> None:
    frame().to_csv(tmp_path / "moves.csv", index=False)
    started = lw.start(tmp_path / "moves.csv", models=["lem"])
    assert (started.card, started.sweep_file) == (tmp_path / "moves.toml", tmp_path / "moves.sweep.toml")
    check_batches("my-moves")


@pytest.mark.parametrize(
    ("arguments", "roles", "message"),
    [
        ((X, Y[:3]), {"name": "a"}, r"Give one answer an example, \(60,\), or horizon=STEPS for a f.*; got \(3,\)\."),
        ((X,), {"name": "a"}, r"Give one answer an example, .*; got none\."),
        ((X[0, 0], Y), {"name": "a"}, r"An array of examples is \(N, T\) or \(N, T, p\), got \(2,\)\."),
        ((X, Y), {"name": "a", "task": "forecasting", "horizon": 1}, "its own next values: leave out the answers"),
        ((X, np.arange(60)), {"name": "a"}, r'The answers are 60 different whole numbers: give task="classification"'),
        ((X, Y + 0.0), {"name": "a"}, r"The answers are 2 different numbers without decimals: give task="),
        ((np.where(X[2, 3, 1] == X, -np.inf, X), Y), {"name": "a"}, "got -inf at example 2, step 3, channel 1"),
        ((np.where(np.arange(60)[:, None, None] == 7, np.nan, X), Y), {"name": "a"}, "got none in example 7"),
        (
            (torch.tensor(X, requires_grad=True), Y),
            {"name": "a"},
            "The data cannot be stored as a table: Can't call nu",
        ),
        ((X, Y), {}, "A data frame and an array need a name"),
        ((X, Y), {"name": "a", "models": "lem"}, "models must be a list of names, got 'lem'"),
        ((X, Y), {"name": "a", "models": 3}, r"models must be a list of names, got 3\."),
        ((X, Y), {"name": "a", "trials": 0}, r"trials must be a whole number, 1 or more, got 0\."),
        ((X, Y), {"name": 5}, r"name must be a string, got 5\."),
        ((X,), {"name": "a", "horizon": 1.5}, r"horizon must be a whole number, 1 or more, got 1\.5\."),
        ((X, Y), {"name": "a", "seeds": "5"}, r"seeds must be a whole number, 1 or more, got '5'\."),
        ((frame(),), {"name": "a", "taget": "label"}, r"No argument of lw.start 'taget'. Did you mean target"),
        (
            (frame().drop(columns=["label", "id"]),),
            {"name": "a"},
            r"The names t, a, b do not determine the layout. Give \w+=",
        ),
        (("none.csv",), {"name": "a"}, "For a file, leave out name"),
        ((frame(), Y), {"name": "a"}, "For a data frame, give the column of the target: target="),
    ],
)
def test_what_is_missing_or_wrong_is_one_line(arguments: tuple[Any, ...], roles: dict[str, Any], message: str) -> None:
    with pytest.raises(ConfigError, match=message) as caught:
        lw.start(*arguments, **roles)
    assert "\n" not in str(caught.value)


def test_an_array_without_answers_is_forecast_and_has_no_other_channels() -> None:
    started = lw.start(X, name="next", models=["lem"], trials=1, seeds=1, horizon=2)
    card = tomllib.loads(started.card.read_text())
    assert (card["channels"], card["task"], card["horizon"]) == (["x0", "x1"], "forecasting", 2)
    test = get_task("my-next").load("").test
    assert test.inputs.shape[1:] == (3, 2)
    assert np.allclose(test.targets[:, :-2], test.inputs[:, 2:]), "two steps ahead"


def test_what_is_nan_after_the_last_value_of_an_example_is_no_step_of_it() -> None:
    lengths = np.arange(60) % 3 + 3
    ended = np.where(np.arange(5)[:, None] < lengths[:, None, None], X, np.nan)
    ended[3, 1, 0] = np.nan  # a gap, not an end
    started = lw.start(ended, Y, name="ended", models=["lem"], trials=1, seeds=1)
    assert tomllib.loads(started.card.read_text())["missing"] == "hold"
    data = get_task("my-ended").load("")
    fed = [split.lengths.tolist() for split in (data.training(0), data.valid, data.test)]
    assert sorted(sum(fed, [])) == sorted(lengths.tolist())


def test_a_horizon_of_classes_is_refused_as_it_would_not_be_used() -> None:
    with pytest.raises(DataError, match=r"horizon 3 would not be used: only a forecasting task has a horizon\."):
        lw.start(X, Y, name="a", horizon=3)


def test_other_arguments_for_the_same_data_are_told_and_what_was_interrupted_is_done_again(own_home: Path) -> None:
    started = lw.start(frame(), name="again", models=["lem"])
    with pytest.warns(UserWarning, match=r"again was started before, and .*again.sweep.toml stays as it is"):
        assert lw.start(frame(), name="again", models=["gru"]) == started
    assert '"lem"' in started.sweep_file.read_text()
    started.sweep_file.unlink()
    assert lw.start(frame(), name="again", models=["lem"]) == started and started.sweep_file.exists()
    started.card.unlink()
    assert lw.start(frame(), name="again", models=["gru"]).sweep_file == started.sweep_file
    assert '"gru"' in started.sweep_file.read_text()


@pytest.mark.parametrize(
    "data",
    [
        pd.DataFrame({"a": [1, "x", 2.5]}),
        pd.DataFrame([[1, 2]], columns=["a", "a"]),
        pd.DataFrame({"a": [1j, 2j]}),
        pd.DataFrame({"a": [1, 2]}, index=pd.Index([3, 4], name="a")),
        [[1, 2], [3]],
    ],
    ids=["types", "one name", "complex", "an index of that name", "ragged"],
)
def test_what_is_no_table_is_refused_in_one_line(data: Any) -> None:
    with pytest.raises(
        ConfigError, match="The data cannot be stored as a table: .* Give each column one type"
    ) as caught:
        lw.start(data, None if isinstance(data, pd.DataFrame) else [0, 1], name="odd")
    assert "\n" not in str(caught.value)
