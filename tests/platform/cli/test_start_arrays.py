"""What ``longwave start`` makes of arrays and of .ts files is what NumPy reads of them."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from started_files import (
    CLASSES,
    EQUAL,
    LABELS,
    X,
    check_same_up_to_scale,
    fed_examples,
    refusal,
    start,
    write_ts,
)

from longwave.platform.registry import get_task

pytestmark = pytest.mark.usefixtures("without_estimate")


NPZS: dict[str, tuple[dict[str, np.ndarray], list[str], dict[str, Any]]] = {
    "classes": (
        {"X": X, "y": LABELS}, [],
        {"inputs": "X", "channels": ["x0", "x1"], "task": "classification", "target": ["y"],
         "classes": ["high", "low"]},
    ),
    "classes by number, by no name that is known": (
        {"signals": X, "kind": np.arange(40) % 3}, [],
        {"inputs": "signals", "channels": ["x0", "x1"], "task": "classification", "target": ["kind"],
         "classes": ["0", "1", "2"]},
    ),
    "true and false": (
        {"x": X, "y": np.arange(40) % 2 == 0}, [],
        {"inputs": "x", "channels": ["x0", "x1"], "task": "classification", "target": ["y"],
         "classes": ["false", "true"]},
    ),
    "a value of one channel": (
        {"x": X[..., 0], "target": X[:, 2, 1]}, [],
        {"inputs": "x", "channels": ["x0"], "task": "regression", "target": ["target"]},
    ),
    "values at every step": (
        {"inputs": X, "targets": X[..., :1] ** 2}, [],
        {"inputs": "inputs", "channels": ["x0", "x1"], "task": "regression", "target": ["targets"],
         "every_step": True},
    ),
    "a forecast": (
        {"data": X}, ["--horizon", "2"],
        {"inputs": "data", "channels": ["x0", "x1"], "task": "forecasting", "horizon": 2},
    ),
    "lengths, groups and names": (
        {"x": X, "label": LABELS, "lengths": np.arange(40) % 3 + 4, "subject": np.arange(40) // 2},
        ["--channels", "left,right"],
        {"inputs": "x", "lengths": "lengths", "group": "subject", "channels": ["left", "right"],
         "task": "classification", "target": ["label"], "classes": ["high", "low"], "split": {"by": "group"}},
    ),
    "lengths with a decimal point": (
        {"x": X, "y": LABELS, "lengths": np.arange(40) % 3 + 4.0}, [],
        {"inputs": "x", "lengths": "lengths", "channels": ["x0", "x1"], "task": "classification", "target": ["y"],
         "classes": ["high", "low"]},
    ),
    "a training set alone": (
        {"x_train": X, "y_train": LABELS, "x_test": X[:5]}, ["--inputs", "x_train"],
        {"inputs": "x_train", "channels": ["x0", "x1"], "task": "classification", "target": ["y_train"],
         "classes": ["high", "low"]},
    ),
    "a split and a gap": (
        {"x": np.where(np.arange(480).reshape(40, 6, 2) == 2, np.nan, X), "label": LABELS,
         "split": np.array(["train"] * 30 + ["Val"] * 5 + ["test"] * 5)}, [],
        {"inputs": "x", "channels": ["x0", "x1"], "task": "classification", "target": ["label"],
         "classes": ["high", "low"], "missing": "hold", "split": {"by": "column", "column": "split"}},
    ),
    "one of two blocks": (
        {"a": X, "b": X + 1, "y": LABELS}, ["--inputs", "b"],
        {"inputs": "b", "channels": ["x0", "x1"], "task": "classification", "target": ["y"],
         "classes": ["high", "low"]},
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", NPZS)
def test_an_npz_is_started_and_feeds_its_arrays(case: str, tmp_path: Path) -> None:
    arrays, options, card = NPZS[case]
    np.savez(tmp_path / "toy.npz", **arrays)  # type: ignore[arg-type]
    content = start(tmp_path / "toy.npz", *options)
    assert content == {"files": ["toy.npz"], **card}
    x = arrays[card["inputs"]].reshape(40, 6, -1)
    lengths = arrays.get("lengths", np.full(40, 6)).astype(int) - card.get("horizon", 0)
    if "missing" not in card:
        check_same_up_to_scale(fed_examples("my-toy"), [row[:n] for row, n in zip(x, lengths, strict=True)])


NOT_NPZS: dict[str, tuple[dict[str, np.ndarray], list[str], str]] = {
    "two blocks": ({"a": X, "b": X, "y": LABELS}, [], "Pass --inputs INPUTS."),
    "two answers": ({"x": X, "a": LABELS, "b": LABELS}, [], "Pass --task classification|regression|forecasting, --tar"),
    "no answer": ({"x": X}, [], "Pass --horizon HORIZON."),
    "whole numbers with points": ({"x": X, "y": np.arange(40) % 2 + 0.0}, [], "Pass --task classification|regression"),
    "40 whole numbers that may be classes": ({"x": X, "y": np.arange(40)}, [], "Pass --task classification|regression"),
    "no such array": ({"x": X, "y": LABELS}, ["--target", "z"], "there is no array 'z'. It has x, y."),
    "a window": ({"x": X, "y": LABELS}, ["--window", "3"], "window does not apply to this kind of file. Possible:"),
    "a horizon of classes": (
        {"x": X, "y": LABELS}, ["--task", "classification", "--horizon", "2"],
        "horizon 2 would not be used: only a forecasting task has a horizon. Leave it out.",
    ),
    "a target of a forecast": (
        {"x": X, "y": LABELS}, ["--target", "y", "--horizon", "2"],
        "target y would not be used: a forecast of examples in rows or arrays predicts their inputs. Leave it out.",
    ),
    "another task": ({"x": X, "y": LABELS}, ["--task", "sorting"], "task must be one of classification, regression, f"),
    "a channel too few": ({"x": X, "y": LABELS}, ["--channels", "a"], "it must be (examples, steps, 1)"),
    "a test set of its own": (
        {"X_train": X[:30], "y_train": LABELS[:30], "X_test": X[30:], "y_test": LABELS[30:]}, [],
        "an NPZ has one array of inputs, got X_train and X_test. Join them, and say in an array split, of the words "
        "train, valid and test, which is which; or leave X_test out with --inputs X_train.",
    ),
    "lengths that are no whole numbers": (
        {"x": X, "y": LABELS, "lengths": np.full(40, 2.5)}, [], "lengths must be whole numbers from 1 to 6"
    ),
    "too many classes": (
        {"x": np.zeros((1200, 2)), "y": np.arange(1200)}, ["--task", "classification"], "too many for classes"
    ),
}  # fmt: skip


def test_an_array_with_channels_first_is_told_to_have_more_channels_than_steps(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    np.savez(tmp_path / "toy.npz", x=X.swapaxes(1, 2), y=LABELS)
    start(tmp_path / "toy.npz")
    line = "6 channels of 2 steps: is the array (N, channels, steps)? Make it (N, steps, channels)."
    assert line in " ".join(capsys.readouterr().out.split())


def test_classes_in_bytes_are_read_as_utf8_and_other_bytes_are_escaped(tmp_path: Path) -> None:
    words = np.array(["é".encode(), b"\xe9"])[np.arange(40) % 2]
    np.savez(tmp_path / "toy.npz", x=X, y=words)
    assert sorted(start(tmp_path / "toy.npz")["classes"]) == ["\\xe9", "é"]
    data = get_task("my-toy").load("")
    labels = torch.cat([split.targets for split in (data.training(0), data.valid, data.test)])
    assert sorted(Counter(labels.tolist()).values()) == [20, 20]


@pytest.mark.parametrize("case", NOT_NPZS)
def test_an_npz_that_does_not_tell_all_ends_in_one_line(
    case: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    arrays, options, message = NOT_NPZS[case]
    np.savez(tmp_path / "toy.npz", **arrays)  # type: ignore[arg-type]
    assert message in refusal(capsys, "start", tmp_path / "toy.npz", *options)
    assert [path.name for path in tmp_path.glob("toy*")] == ["toy.npz"]


@pytest.mark.parametrize(
    ("arrays", "message"),
    [
        ({}, "it has no arrays. Save the inputs as an array (examples, steps, channels)."),
        ({"x": np.zeros((0, 5)), "y": np.zeros(0)}, "x, y has no entries. Save the inputs"),
        ({"x": X, "y": np.array([np.inf, *range(39)])}, "y, entry 1: a value must be finite"),
    ],
)
def test_an_npz_with_nothing_or_infinity_is_refused_in_one_line(
    arrays: dict[str, np.ndarray], message: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    np.savez(tmp_path / "toy.npz", **arrays)  # type: ignore[arg-type]
    assert message in refusal(capsys, "start", tmp_path / "toy.npz", "--task", "regression")


def test_a_ts_file_is_started_and_feeds_its_series(tmp_path: Path) -> None:
    write_ts(tmp_path / "toy.ts", [*EQUAL, *CLASSES], [*X], [*LABELS])
    assert start(tmp_path / "toy.ts") == {
        "files": ["toy.ts"], "channels": ["x0", "x1"], "steps": 6, "task": "classification",
        "classes": ["high", "low"],
    }  # fmt: skip
    check_same_up_to_scale(fed_examples("my-toy"), [*X])


def test_series_of_unequal_length_and_a_value_asked_are_fed_from_a_ts_file(tmp_path: Path) -> None:
    series = [x[: 3 + k % 4] for k, x in enumerate(X)]
    write_ts(tmp_path / "toy.ts", ["@equalLength false", "@targetLabel true"], series, [f"{x.sum()}" for x in X])
    assert start(tmp_path / "toy.ts") == {"files": ["toy.ts"], "channels": ["x0", "x1"], "task": "regression"}
    check_same_up_to_scale(fed_examples("my-toy"), series)


def test_a_ts_file_whose_series_have_classes_can_be_forecast(tmp_path: Path) -> None:
    write_ts(tmp_path / "toy.ts", [*EQUAL, *CLASSES], [*X], [*LABELS])
    card = start(tmp_path / "toy.ts", "--horizon", "2")
    assert card["task"] == "forecasting" and "classes" not in card
    assert get_task("my-toy").length == "4"
    check_same_up_to_scale(fed_examples("my-toy"), [x[:-2] for x in X])


WRONG_TS: dict[str, tuple[list[str], int, list[str], str]] = {
    "values asked of classes": (
        CLASSES, 40, ["--task", "regression"],
        "@targetlabel must be true, got nothing. Series with classes need task classification.",
    ),
    "no label": (["@classLabel false"], 40, ["--horizon", "2"], "Save series without labels as an NPZ with one array"),
    "no series": (CLASSES, 0, [], "toy.ts: there must be series after the line @data, found none."),
}  # fmt: skip


@pytest.mark.parametrize("case", WRONG_TS)
def test_a_ts_file_that_lacks_what_is_asked_ends_in_one_line(
    case: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    header, many, options, message = WRONG_TS[case]
    write_ts(tmp_path / "toy.ts", [*EQUAL, *header], [*X[:many]], [*LABELS[:many]])
    assert message in refusal(capsys, "start", tmp_path / "toy.ts", *options)
    assert [path.name for path in tmp_path.glob("toy*")] == ["toy.ts"]


def test_an_unlabelled_series_of_one_dimension_is_named_with_its_line(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "toy.ts").write_text("@classLabel true low high\n@data\n1,2,3\n4,5,6\n")
    message = "toy.ts, line 3: a series must have 1 dimensions and a label, got 0 dimensions."
    assert message in refusal(capsys, "start", tmp_path / "toy.ts")


def test_a_train_file_is_tested_on_the_test_file_beside_it(tmp_path: Path) -> None:
    write_ts(tmp_path / "Toy_TRAIN.ts", [*EQUAL, *CLASSES], [*X[:30]], [*LABELS[:30]])
    write_ts(tmp_path / "Toy_TEST.ts", [*EQUAL, *CLASSES], [*X[30:]], [*LABELS[30:]])
    card = start(tmp_path / "Toy_TRAIN.ts")
    assert (card["files"], card["split"]) == (["Toy_TRAIN.ts", "Toy_TEST.ts"], {"by": "file"})
    data = get_task("my-toy").load("")
    assert len(data.test) == 10 and len(data.training(0)) + len(data.valid) == 30
    check_same_up_to_scale(fed_examples("my-toy"), [*X])
