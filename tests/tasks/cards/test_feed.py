"""What is fed: by brute force the same, from any layout; padded, filled and normalised by training alone."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import torch
from card_files import LONG, csv, long_table, written

from longwave.tasks.base.batch import NO_TARGET
from longwave.tasks.base.raw import DataError
from longwave.tasks.cards.checked import read_card
from longwave.tasks.cards.examples import count_steps
from longwave.tasks.cards.reading import read_examples
from longwave.tasks.cards.split import split_examples
from longwave.tasks.cards.task import card_task, load_with_remarks

SPLIT = {"split": {"seed": 1}}


def by_hand(rows: list[list[str]], names: list[str]) -> dict[str, np.ndarray]:
    """Return (T, p) of each example of a long table."""
    columns = [rows[0].index(name) for name in names]
    rows_by_series: dict[str, list[list[float]]] = {}
    for row in rows[1:]:
        rows_by_series.setdefault(row[0], []).append([float(row[c] or "nan") for c in columns])
    return {name: np.array(each) for name, each in rows_by_series.items()}


def ragged(rows: list[list[str]]) -> list[list[str]]:
    """Return the table with another number of steps of each example."""
    return [rows[0], *(row for row in rows[1:] if int(row[1]) < 2 + int(row[0][1:]) % 4)]


def test_values_are_those_of_the_file_less_the_mean_and_over_the_deviation_of_training(tmp_path: Path) -> None:
    rows = long_table()
    data, _ = load_with_remarks(written(tmp_path, csv(rows), LONG))
    every = by_hand(rows, ["x", "y"])
    raw, _ = load_with_remarks(written(tmp_path, csv(rows), LONG, normalise="none"))
    train = raw.training(0).inputs.double()
    back = data.valid.inputs * train.flatten(0, 1).std(0, correction=0) + train.flatten(0, 1).mean(0)
    torch.testing.assert_close(back, raw.valid.inputs.double(), check_dtype=False, rtol=0, atol=1e-5)
    seen = {row.tobytes() for split in (raw.training(0), raw.valid, raw.test) for row in split.inputs.numpy()}
    assert seen == {each.astype(np.float32).tobytes() for each in every.values()}


def test_test_and_validation_do_not_touch_what_training_is_fed(tmp_path: Path) -> None:
    rows = long_table()
    card = {**LONG, "time": "t", "split": {"by": "column", "column": "split"}}
    rows = [
        [*rows[0], "split"],
        *([*r, "test" if r[0] in ("s0", "s1") else "valid" if r[0] in ("s2", "s3") else "train"] for r in rows[1:]),
    ]
    first, _ = load_with_remarks(written(tmp_path, csv(rows), card))
    loud = [rows[0], *([*r[:2], "900", *r[3:]] if r[-1] != "train" and r[0] != "s1" else r for r in rows[1:])]
    other, _ = load_with_remarks(written(tmp_path, csv(loud), card, allow=["duplicates"]))
    assert torch.equal(first.training(0).inputs, other.training(0).inputs)
    assert not torch.equal(first.test.inputs, other.test.inputs)


def with_split(words: dict[str, str], other: str) -> list[list[str]]:
    """Return the long table with a column of splits: a word by example, else ``other``."""
    first, *rows = long_table()
    return [[*first, "split"], *([*row, words.get(row[0], other)] for row in rows)]


@pytest.mark.parametrize(
    "spelled", [("Training", "VAL", " Testing "), ("TRAIN", "dev", "Test"), ("train", "Validation", "test")]
)
def test_a_split_column_is_read_in_other_spellings_too(tmp_path: Path, spelled: tuple[str, str, str]) -> None:
    card = {**LONG, "split": {"by": "column", "column": "split"}}
    learn, valid, test = spelled
    ours = with_split({"s0": "test", "s1": "test", "s2": "valid", "s3": "valid"}, "train")
    other = with_split({"s0": test, "s1": test, "s2": valid, "s3": valid}, learn)
    (one, _), (two, _) = (load_with_remarks(written(tmp_path, csv(rows), card)) for rows in (ours, other))
    for split in ("valid", "test"):
        assert torch.equal(getattr(one, split).inputs, getattr(two, split).inputs)
    assert torch.equal(one.training(0).inputs, two.training(0).inputs)


def test_a_split_column_without_validation_leaves_a_share_of_training_for_it(tmp_path: Path) -> None:
    rows = with_split({"s0": "test", "s1": "test", "s2": "test"}, "train")
    path = written(tmp_path, csv(rows), LONG, split={"by": "column", "column": "split", "valid": 0.25})
    card = read_card(path)
    examples = read_examples(card, [tmp_path / "data.csv"])
    parts = split_examples(card, examples, "toy")
    learned = [k for k, mark in enumerate(examples.marks) if mark == "train"]
    assert sorted([*parts["train"], *parts["valid"]]) == learned and {*parts["test"]} == {*range(len(examples))} - {
        *learned
    }
    assert abs(len(parts["valid"]) - len(learned) / 4) <= 1


def test_ragged_examples_are_padded_with_nought_and_say_their_lengths(tmp_path: Path) -> None:
    rows = ragged(long_table())
    data, remarks = load_with_remarks(written(tmp_path, csv(rows), LONG, normalise="none"))
    every = {v.astype(np.float32).tobytes() for v in by_hand(rows, ["x", "y"]).values()}
    for split in (data.training(0), data.valid, data.test):
        assert split.lengths is not None and split.inputs.shape[1] == 5
        for x, n in zip(split.inputs, split.lengths.tolist(), strict=True):
            assert x[:n].numpy().tobytes() in every and not x[n:].any()
    assert [r.text for r in remarks] == ["Examples have 2 to 5 steps; shorter ones are padded."]


def test_a_wide_table_feeds_what_a_long_one_feeds(tmp_path: Path) -> None:
    rows = long_table()
    every = by_hand(rows, ["x", "y"])
    label = {row[0]: row[5] for row in rows[1:]}
    head = ["id", *(f"x{t}" for t in range(5)), *(f"y{t}" for t in range(5)), "label"]
    wide = [head, *([name, *(repr(v) for v in x.T.flatten().tolist()), label[name]] for name, x in every.items())]
    one, _ = load_with_remarks(written(tmp_path, csv(rows), LONG))
    other, _ = load_with_remarks(written(tmp_path, csv(wide), LONG, layout="wide", time=None, channels=["x*", "y*"]))
    assert one.version == other.version


def test_steps_are_in_the_order_of_their_numbers_but_for_lags_and_decimals(tmp_path: Path) -> None:
    values = np.random.default_rng(2).normal(size=(24, 12))
    card = {**LONG, "layout": "wide", "series": None, "time": None, "channels": ["t*"]}

    def feed_columns(order: list[int], prefix: str = "t") -> torch.Tensor:
        rows = [[repr(v) for v in row] + ["ab"[k % 2]] for k, row in enumerate(values[:, order].tolist())]
        path = written(tmp_path, csv([[*(f"{prefix}{k}" for k in order), "label"], *rows]), card)
        return load_with_remarks(path)[0].test.inputs

    steps = [*range(12)]
    by_letters = sorted(steps, key=str)
    assert torch.equal(feed_columns(by_letters), feed_columns(steps))
    assert torch.equal(feed_columns(by_letters, "t0."), feed_columns(steps)[:, by_letters]), "0.10 is less than 0.2"
    assert torch.equal(feed_columns(steps[::-1]), feed_columns(steps).flip(1))


def test_steps_are_counted_up_to_the_last_with_a_value() -> None:
    gone = np.nan
    for values, count in (([[gone, gone]] * 3, 0), ([[1.0, gone], [gone, gone]], 1), ([[gone, gone], [gone, 2.0]], 2)):
        assert count_steps(np.array(values)) == count


def test_a_tsv_needs_no_delimiter(tmp_path: Path) -> None:
    one, _ = load_with_remarks(written(tmp_path, csv(long_table()), LONG))
    tabs = csv(long_table()).replace(b",", b"\t")
    other, _ = load_with_remarks(written(tmp_path, tabs, {**LONG, "files": ["data.tsv"]}))
    assert one.version == other.version


def test_an_npz_and_a_ts_file_feed_what_a_long_table_feeds(tmp_path: Path) -> None:
    rows = long_table()
    every = np.stack([*by_hand(rows, ["x", "y"]).values()])
    one, _ = load_with_remarks(written(tmp_path, csv(rows), LONG))
    labels = np.array(["a", "b"] * 12)
    np.savez(tmp_path / "data.npz", x=every, y=labels)
    drop = {"series": None, "time": None}
    card = {**LONG, **drop, "files": ["data.npz"], "inputs": "x", "target": "y"}
    other, _ = load_with_remarks(written(tmp_path, (tmp_path / "data.npz").read_bytes(), card))
    assert one.version == other.version
    lines = ["@dimensions 2", "@seriesLength 5", "@classLabel true a b", "@data"]
    lines += [
        ":".join([*(",".join(map(repr, channel.tolist())) for channel in x.T), y])
        for x, y in zip(every, labels, strict=True)
    ]
    ts = {**LONG, **drop, "files": ["data.ts"], "target": None, "steps": 5}
    third, _ = load_with_remarks(written(tmp_path, "\n".join(lines) + "\n", ts))
    torch.testing.assert_close(third.test.inputs, one.test.inputs)
    assert torch.equal(third.test.targets, one.test.targets)


@pytest.mark.parametrize("missing", ["hold", "mask", -3.5])
def test_gaps_are_filled_as_the_card_says(missing: Any, tmp_path: Path) -> None:
    rows = long_table()
    for row in rows[1:]:
        if (int(row[0][1:]) + int(row[1])) % 3 == 0:
            row[2] = ""
    card = written(tmp_path, csv(rows), LONG, missing=missing, normalise="none")
    data, remarks = load_with_remarks(card)
    assert "values are missing" in remarks[-1].text
    every = by_hand(rows, ["x", "y"])
    train = split_examples(read_card(card), read_examples(read_card(card), [tmp_path / "data.csv"]), "")["train"]
    mean = np.nanmean(np.concatenate([[*every.values()][k] for k in train])[:, 0])
    wanted = []
    for x in every.values():
        gone = np.isnan(x)
        if missing == "mask":
            wanted.append(np.concatenate([np.where(gone, 0, x), ~gone], 1))
        elif missing == "hold":
            held, last = x.copy(), np.nan
            for t in range(len(x)):
                held[t, 0] = last = x[t, 0] if not gone[t, 0] else last
            held[np.isnan(held)] = mean  # of training: nothing of a later step
            wanted.append(held)
        else:
            wanted.append(np.where(gone, missing, x))
    assert card_task(card).inputs == wanted[0].shape[1] == data.test.inputs.shape[-1]
    seen = {x.tobytes() for split in (data.training(0), data.valid, data.test) for x in split.inputs.numpy()}
    assert seen == {x.astype(np.float32).tobytes() for x in wanted}


def test_windows_of_one_series_lie_in_one_split_and_ask_what_comes_later(tmp_path: Path) -> None:
    values = np.arange(200.0)
    card = {
        "files": ["data.csv"],
        "layout": "series",
        "channels": ["v"],
        "task": "forecasting",
        "horizon": 3,
        "window": 7,
    }
    data, _ = load_with_remarks(written(tmp_path, csv([["v"], *([f"{v:g}"] for v in values)]), card, normalise="none"))
    for split, low, high in ((data.training(0), 0, 140), (data.valid, 140, 170), (data.test, 170, 200)):
        assert split.inputs.shape[1] == 7 and torch.equal(split.targets, split.inputs + 3)
        assert split.inputs.min() == low and split.targets.max() < high
        firsts = split.inputs[:, 0, 0]
        assert torch.equal(firsts[1:] - firsts[:-1], torch.full_like(firsts[1:], 7))


def test_a_forecast_of_one_channel_reads_all(tmp_path: Path) -> None:
    rows = long_table()
    card = {**LONG, "task": "forecasting", "target": ["y"], "horizon": 2}
    del card["classes"]
    path = written(tmp_path, csv(rows), card, normalise="none")
    data, spec = load_with_remarks(path)[0], card_task(path)
    assert (spec.inputs, spec.outputs, spec.horizon) == (2, 1, 2)
    every = {v[:-2].astype(np.float32).tobytes(): v[2:, :1] for v in by_hand(rows, ["y", "x"]).values()}
    for x, y in zip(data.test.inputs.numpy(), data.test.targets.numpy(), strict=True):
        assert np.array_equal(y, every[x.tobytes()].astype(np.float32))


def test_classes_at_every_step_may_be_missing_and_are_not_asked_then(tmp_path: Path) -> None:
    rows = long_table()
    for k, row in enumerate(rows[1:]):
        row[5] = "" if k % 7 == 0 else "ab"[k % 2]
    card = {**LONG, "every_step": True}
    with pytest.raises(DataError, match="row 1, column label: the class is missing"):
        load_with_remarks(written(tmp_path, csv(rows), card))
    data, remarks = load_with_remarks(written(tmp_path, csv(rows), card, missing="hold"))
    assert "18 of 120 steps have no target, and are not scored." in [remark.text for remark in remarks]
    targets = torch.cat([split.targets for split in (data.training(0), data.valid, data.test)])
    assert targets.shape == (24, 5) and int((targets == NO_TARGET).sum()) == sum(not row[5] for row in rows[1:])


@pytest.mark.parametrize("missing", ["hold", "mask", 0])
def test_a_missing_value_is_no_target_of_a_forecast_and_changes_no_scale(missing: Any, tmp_path: Path) -> None:
    rows = [["t", "v"], *([f"{k}", f"{v:g}"] for k, v in enumerate(50 + np.random.default_rng(1).normal(size=120)))]
    for row in rows[7::10]:
        row[1] = ""
    known = np.array([float(row[1] or "nan") for row in rows[1:]])
    card = {"files": ["data.csv"], "layout": "series", "channels": ["v"], "task": "forecasting"}
    card |= {"horizon": 2, "window": 4, "stride": 1, "missing": missing}
    data, _ = load_with_remarks(written(tmp_path, csv(rows), card))
    train = np.lib.stride_tricks.sliding_window_view(known[:84], 6)  # the values of all training windows
    wanted = (known - np.nanmean(train)) / np.nanstd(train)
    later = np.lib.stride_tricks.sliding_window_view(wanted[102:][2:], 4)  # the test split is the last 15 %
    np.testing.assert_allclose(data.test.targets[..., 0].numpy(), later, atol=1e-5)
    shown = np.lib.stride_tricks.sliding_window_view(wanted[102:][:-2], 4)
    fed = data.test.inputs.numpy()
    if missing == "hold":
        held = pd.DataFrame(shown.T).ffill().fillna(0.0).to_numpy().T
        np.testing.assert_allclose(fed[..., 0], held, atol=1e-5)
    else:
        instead = 0.0 if missing == "mask" else -np.nanmean(train) / np.nanstd(train)
        np.testing.assert_allclose(fed[..., 0], np.where(np.isnan(shown), instead, shown), rtol=1e-5, atol=1e-5)
    if missing == "mask":
        assert np.array_equal(fed[..., 1], ~np.isnan(shown))


def test_a_split_without_any_target_is_refused(tmp_path: Path) -> None:
    rows = [["x", "y"], *([f"{k % 7}", f"{k * k % 11}" if k < 200 else ""] for k in range(300))]
    card = {"files": ["data.csv"], "layout": "series", "channels": ["x"], "task": "regression", "target": ["y"]}
    card |= {"every_step": True, "window": 10, "missing": "hold"}
    with pytest.raises(DataError, match="No step of the valid split has a target. Give it some, or choose other"):
        load_with_remarks(written(tmp_path, csv(rows), card))
    forecast = {**card, "channels": ["y"], "task": "forecasting", "every_step": None, "target": None, "horizon": 1}
    with pytest.raises(DataError, match="No step of the valid split has a target"):
        load_with_remarks(written(tmp_path, csv(rows), forecast))
