"""HAR-2: distinguish two groups of human activities by the sensors of a telephone at the waist."""

from __future__ import annotations

from functools import cache
from itertools import combinations
from pathlib import Path

import numpy as np
import torch

from longwave.tasks.base.cache import cached
from longwave.tasks.base.data import Data
from longwave.tasks.base.losses import ACCURACY, binary_cross_entropy
from longwave.tasks.base.raw import DataError, Remote, Source, check_ended, fingerprint
from longwave.tasks.base.sequences import Sequences
from longwave.tasks.base.spec import Recipe, TaskSpec, changes, check_variant, note
from longwave.tasks.trivial.constant import Majority
from longwave.tasks.trivial.neighbours import Nearest
from longwave.tasks.trivial.rocket import MiniRocket

STEPS = 128
CHANNELS = [f"{signal}_{axis}" for signal in ("body_acc", "body_gyro", "total_acc") for axis in "xyz"]
ONES = (1, 3, 5)
"""Walking, walking downstairs and standing; 0 is walking upstairs (2), sitting (4) and laying (6)."""
FOLDER = "UCI HAR Dataset"


def _signal_paths(part: str) -> list[str]:
    """Return the files of ``"train"`` or ``"test"``: nine channels, then the activities."""
    signals = [f"{FOLDER}/{part}/Inertial Signals/{channel}_{part}.txt" for channel in CHANNELS]
    return [*signals, f"{FOLDER}/{part}/y_{part}.txt"]


FILES = Source(
    name="uci_har",
    title="UCI Human Activity Recognition Using Smartphones",
    licence="CC BY 4.0 at UCI; the README in the archive forbids commercial use",
    needs=(*_signal_paths("train"), *_signal_paths("test")),
    remotes=(
        Remote(
            "https://archive.ics.uci.edu/ml/machine-learning-databases/00240/UCI%20HAR%20Dataset.zip",
            "UCI HAR Dataset.zip",
            unpack=True,
        ),
    ),
    counts={"windows in train": 7352, "windows in test": 2947},
    by_hand=f"Or get UCI data set 240 by hand and give the folder that holds {FOLDER!r}.",
)


@np.errstate(over="ignore")  # too large values become infinite, and are refused
def read_table(path: Path, columns: int) -> np.ndarray:
    """Return a table of numbers separated by spaces, (N, columns) float32.

    Raises:
        DataError: A line has another number of columns or no end, something is not a finite number, or there are no
            lines.
    """
    with path.open(encoding="utf-8", errors="replace") as file:
        rows = [line.split() for line in file]
    if not rows:
        raise DataError(f"{path}: there must be lines of {columns} numbers, found none.")
    for k, row in enumerate(rows, 1):
        if len(row) != columns:
            raise DataError(f"{path}, line {k}: there must be {columns} numbers, got {len(row)}.")
    check_ended(path)
    try:
        table = np.array(rows, dtype=np.float32)
    except ValueError as error:
        raise DataError(f"{path}: there must be only numbers: {error}.") from None
    if not np.isfinite(table).all():
        line = 1 + int(np.flatnonzero(~np.isfinite(table).all(1))[0])
        raise DataError(f"{path}, line {line}: every number must be finite.")
    return table


def _parse(folder: Path) -> dict[str, np.ndarray]:
    """Return inputs (N, 128, 9) and activities 1 to 6, (N,), of both parts."""
    arrays: dict[str, np.ndarray] = {}
    for part in ("train", "test"):
        *signals, labels = (folder / name for name in _signal_paths(part))
        activities = read_table(labels, 1)[:, 0]
        if (wrong := ~np.isin(activities, range(1, 7))).any():
            raise DataError(f"{labels}: an activity must be one of 1 to 6, got {activities[wrong][0]:g}.")
        FILES.check_count(f"windows in {part}", len(activities))
        channels = [read_table(path, STEPS) for path in signals]
        for path, channel in zip(signals, channels, strict=True):
            if len(channel) != len(activities):
                rule = f"there must be one line for each of the {len(activities)} lines of {labels.name}"
                raise DataError(f"{path}: {rule}, got {len(channel)}.")
        for (one, values), (other, others) in combinations(zip(signals, channels, strict=True), 2):
            if np.array_equal(values, others):
                raise DataError(f"{other}: it must hold another channel than {one.name}, got the same numbers.")
        arrays |= {f"{part}_x": np.stack(channels, -1), f"{part}_y": activities.astype(np.int64)}
    return arrays


@cache
def _load(variant: str) -> Data[Sequences]:
    check_variant("har2", variant, ("", "raw"))
    folder = FILES.locate("har2")
    arrays = cached(f"har2-2-{fingerprint(folder / name for name in FILES.needs)}", lambda: _parse(folder))
    x, y = arrays["train_x"], arrays["train_y"]
    order = np.random.RandomState(1234).permutation(len(x))
    valid, train = np.split(order, [len(x) * 900 // 7352])
    shift = x[train].mean((0, 1), dtype=np.float64)
    scale = x[train].std((0, 1), dtype=np.float64)
    still = x[train].min((0, 1)) == x[train].max((0, 1))  # rounding would leave a standard deviation above 0
    if variant != "raw" and still.any():
        channel = CHANNELS[still.argmax()]
        raise DataError(f"{folder}: {channel} must vary over the training windows to be normalised, got a constant.")

    def split(inputs: np.ndarray, activities: np.ndarray) -> Sequences:
        values = inputs if variant == "raw" else ((inputs - shift) / scale).astype(np.float32)
        return Sequences(torch.from_numpy(values), torch.from_numpy(np.isin(activities, ONES).astype(np.int64)))

    return Data(
        train=split(x[train], y[train]), valid=split(x[valid], y[valid]), test=split(arrays["test_x"], arrays["test_y"])
    )


TASK = TaskSpec(
    name="har2",
    title="HAR-2, activities in two groups",
    family="physiology and motion",
    summary="Short real series: standing, walking and walking downstairs against sitting, laying and walking upstairs.",
    inputs=len(CHANNELS),
    outputs=1,
    loss=binary_cross_entropy,
    metric=ACCURACY,
    chance=None,
    load=_load,
    recipes={
        "": Recipe(hidden=64, batch=64, epochs=250, source="coRNN, Tables 3 and 7 and text", paper="cornn"),
        "tau_gru": changes(
            epochs=100, source="τ-GRU, Tables 2 and 9; the batch is coRNN's", paper="taugru", unstated=("batch",)
        ),
    },
    variants="empty: each channel of mean 0 and variance 1 over the training split; raw: as measured",
    source="Anguita et al. 2012, grouped as in Kusupati et al. 2018; the test part of the set has 2947 windows",
    licence=FILES.licence,
    length="128",
    lag="a whole window of 2.56 s, 128 steps",
    protocols=(
        note("the papers do not say how they normalise, nor where their 900 validation windows come from"),
        note(
            "here 900 of the 7352 training windows, by a fixed shuffle, are for validation, so 6452 are left"
            " for training"
        ),
        note("validation windows are of the same persons as the training windows, test windows of others", minor=True),
        note("coRNN's code averages the accuracy over batches of unequal size", "cornn"),
        note("τ-GRU prints 64 units in Table 2 and 128 in Tables 9 and 10", "taugru"),
    ),
    files=FILES,
    baselines={"majority": Majority(1), "1-NN": Nearest(1), "MiniRocket": MiniRocket(1)},
)
