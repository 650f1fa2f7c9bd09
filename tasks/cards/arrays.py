"""Examples from arrays: NPZ files, and the .ts files of the archives."""

from __future__ import annotations

import zipfile
import zlib
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from longwave.tasks.base.raw import DataError, open_bytes
from longwave.tasks.cards.card import Card
from longwave.tasks.cards.columns import LARGEST, write_number
from longwave.tasks.cards.examples import Examples, count_steps, number_classes
from longwave.tasks.formats.ts_files import read_ts, read_ts_header


def read_npz(card: Card, path: Path) -> Examples:
    """Return the examples of an NPZ: inputs (N, T, p) or (N, T), targets (N,), (N, q), (N, T) or (N, T, q)."""
    arrays = _read_arrays(card, path)
    x = _to_numbers(path, card.inputs, arrays[card.inputs])
    x = x[..., None] if x.ndim == 2 else x
    if x.ndim != 3 or 0 in x.shape or x.shape[-1] != len(card.channels):
        rule = f"it must be (examples, steps, {len(card.channels)}): one feature a channel of the card"
        raise DataError(f"{path}: {card.inputs}: {rule}, got {arrays[card.inputs].shape}.")
    x = x[..., [card.channels.index(name) for name in card.input_channels]]
    lengths = _read_lengths(card, path, arrays, x)
    values = [row[:length] for row, length in zip(x, lengths, strict=True)]
    answers = values if card.task == "forecasting" else _read_answers(card, path, arrays, lengths, x.shape[1])
    words = {
        name: to_words(_check_shape(path, name, arrays[name], len(x)))
        for name in (card.group, card.split.column)
        if name
    }
    times = (
        _to_numbers(path, card.time, _check_shape(path, card.time, arrays[card.time], len(x))) if card.time else None
    )
    spans = np.full((len(x), 2), np.nan) if times is None else np.stack([times, times], 1)

    def at(example: int, step: int, channel: int | None) -> str:
        if channel is None:
            return f"{path}: {card.target[0]}, example {example + 1}"
        return f"{path}: {card.inputs}, example {example + 1}, step {step + 1}, channel {card.input_channels[channel]}"

    groups, marks = (words.get(name, [""] * len(x)) for name in (card.group, card.split.column))
    return Examples(values, answers, at, groups, marks, spans, [0] * len(x))


def read_series(card: Card, path: Path) -> Examples:
    """Return the series of a .ts file."""
    open_bytes(path).close()
    classes = card.classes or read_ts_header(path).get("@classlabel", ["true"])[1:] * (card.task != "regression")
    series = read_ts(path, card.steps or 0, len(card.channels), len(classes))
    indices = [card.channels.index(name) for name in card.input_channels]
    x = [row[:n, indices] for row, n in zip(series.values.astype(np.float64), series.lengths.tolist(), strict=True)]
    if card.task == "classification":
        names = [series.classes[k] for k in series.labels.tolist()]
        answers = [*number_classes(card, names, lambda k: f"{path}: series {k + 1}")[:, None]]
    else:
        answers = x if card.task == "forecasting" else [*series.labels.astype(np.float64)]

    def at(example: int, step: int, channel: int | None) -> str:
        return f"{path}: series {example + 1}, step {step + 1}"

    none = [""] * len(x)
    return Examples(x, answers, at, none, none, np.full((len(x), 2), np.nan), [0] * len(x))


def load_arrays(path: Path, needed: Sequence[str] = ()) -> dict[str, np.ndarray]:
    """Return the arrays of an NPZ by name: the needed ones, by default all.

    Raises:
        DataError: It is not an NPZ, or lacks one of them.
    """
    try:
        with open_bytes(path) as file, np.load(file, allow_pickle=False) as stored:
            names = getattr(stored, "files", ())
            for name in needed:
                if name not in names:
                    has = ", ".join(sorted(names)) or "none"
                    raise DataError(f"{path}: there is no array {name!r}. It has {has}.")
            return {name: stored[name] for name in needed or names}
    except (OSError, EOFError, ValueError, zipfile.BadZipFile, zlib.error, TypeError, AttributeError) as error:
        raise DataError(
            f"{path}: it is not an NPZ file of numbers and words: {' '.join(str(error).split()):.160}."
        ) from None


def _read_arrays(card: Card, path: Path) -> dict[str, np.ndarray]:
    """Return the arrays that the card names."""
    needed = [card.inputs, card.lengths, card.time, card.group, card.split.column]
    needed += card.target if card.task != "forecasting" else []
    if len(card.target) > 1 and card.task != "forecasting":
        raise DataError(f"{path}: all targets of an NPZ must be in one array (N, q), got {', '.join(card.target)}.")
    return load_arrays(path, [name for name in needed if name])


def _to_numbers(path: Path, name: str, array: np.ndarray) -> np.ndarray:
    """Return an array in float64, NaN where a value is missing."""
    if array.dtype.kind not in "biuf":
        raise DataError(f"{path}: {name}: it must hold numbers, got {array.dtype}.")
    numbers = array.astype(np.float64)
    if len(wrong := np.argwhere(np.abs(numbers) > LARGEST)):
        position = ", ".join(str(n + 1) for n in wrong[0].tolist())
        rule = "a value must be finite and fit single precision, 3.4e38"
        raise DataError(f"{path}: {name}, entry {position}: {rule}, got {numbers[tuple(wrong[0])]:g}.")
    return numbers


def to_words(array: np.ndarray) -> list[str]:
    """Return entries (n,) as strings.

    Whole numbers have no decimal point, missing ones are empty, bytes are UTF-8; true and false are in lower case.
    """
    if array.dtype.kind == "f":
        return ["" if v != v else write_number(v) for v in array.tolist()]
    if array.dtype.kind == "S":
        array = np.char.decode(array, "utf-8", "backslashreplace")
    if array.dtype.kind == "b":
        array = np.where(array, "true", "false")
    return [str(word).strip() for word in array.astype(str).tolist()]


def _check_shape(path: Path, name: str, array: np.ndarray, n: int) -> np.ndarray:
    if array.shape != (n,):
        raise DataError(f"{path}: {name}: it must have one entry an example, ({n},), got {array.shape}.")
    return array


def _read_lengths(card: Card, path: Path, arrays: dict[str, np.ndarray], x: np.ndarray) -> list[int]:
    """Return the steps of each example: from the card's array, else without missing values at the end."""
    if not card.lengths:
        return [count_steps(row) for row in x]
    lengths = _check_shape(path, card.lengths, arrays[card.lengths], len(x))
    whole = lengths.dtype.kind in "iuf" and (lengths == np.floor(lengths)).all()
    if not whole or lengths.min() < 1 or lengths.max() > x.shape[1]:
        raise DataError(f"{path}: {card.lengths}: lengths must be whole numbers from 1 to {x.shape[1]}.")
    return [int(n) for n in lengths]


def _read_answers(
    card: Card, path: Path, arrays: dict[str, np.ndarray], lengths: list[int], steps: int
) -> list[np.ndarray]:
    """Return the targets of each example."""
    name = card.target[0]
    y: np.ndarray[Any, Any] = arrays[name]
    lead = (len(lengths), steps) if card.every_step else (len(lengths),)
    if y.shape[: len(lead)] != lead or y.ndim > len(lead) + (card.task == "regression"):
        rule = "it must have one entry a step" if card.every_step else "it must have one entry an example"
        raise DataError(f"{path}: {name}: {rule}, {lead}, got {y.shape}.")
    if card.task == "classification":
        y = number_classes(card, to_words(y.flatten()), lambda k: f"{path}: {name}, entry {k + 1}").reshape(y.shape)
    else:
        y = _to_numbers(path, name, y)
    y = y[..., None] if y.ndim == len(lead) else y
    return [row[:length] if card.every_step else row for row, length in zip(y, lengths, strict=True)]
