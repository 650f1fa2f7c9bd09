"""From examples to inputs and targets: normalised by the training split, filled, padded."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import torch

from longwave.tasks.base.batch import NO_TARGET
from longwave.tasks.base.data import Data
from longwave.tasks.base.sequences import Sequences
from longwave.tasks.cards.card import Card
from longwave.tasks.cards.examples import Examples
from longwave.tasks.cards.split import SPLITS, Parts

Spread = tuple[np.ndarray, np.ndarray]
"""Mean to subtract and standard deviation to divide by, (p,) each."""


def make_arrays(card: Card, examples: Examples, splits: Parts) -> dict[str, np.ndarray]:
    """Return inputs, targets and, if they differ, lengths of each split by name, for ``make_data``."""
    train = [examples.values[k] for k in splits["train"]]
    shift, unit = _find_scale(card, train)
    values = [(x - shift) / unit for x in examples.values]
    answers = [*_scale_answers(card, examples, splits, values)]
    cut = card.horizon or 0
    before = card.missing if isinstance(card.missing, float | int) else _find_moments(train)[0]
    inputs = [_fill_gaps(card, x, (before - shift) / unit)[: len(x) - cut] for x in values]
    longest, lengths = max(map(len, inputs)), np.array([len(x) for x in inputs])
    arrays: dict[str, np.ndarray] = {}
    for name in SPLITS:
        indices = splits[name]
        arrays[f"{name}-inputs"] = np.stack([_pad_steps(inputs[k], longest, 0.0) for k in indices]).astype(np.float32)
        arrays[f"{name}-targets"] = _make_targets(card, [answers[k] for k in indices], longest)
        if (lengths != longest).any():
            arrays[f"{name}-lengths"] = lengths[indices]
    return arrays


def make_data(arrays: Mapping[str, np.ndarray]) -> Data[Sequences]:
    """Return the arrays of ``make_arrays`` as the data of a task."""
    tensors = {name: torch.from_numpy(array) for name, array in arrays.items()}

    def split(name: str) -> Sequences:
        return Sequences(tensors[f"{name}-inputs"], tensors[f"{name}-targets"], lengths=tensors.get(f"{name}-lengths"))

    return Data(train=split("train"), valid=split("valid"), test=split("test"))


def _find_scale(card: Card, train: list[np.ndarray]) -> Spread:
    """Return what to subtract from values and what to divide them by."""
    mean, spread = _find_moments(train)
    return (mean, spread) if card.normalise == "standard" else (np.zeros_like(mean), np.ones_like(spread))


def _find_moments(train: list[np.ndarray]) -> Spread:
    """Return mean and standard deviation (1 for constants) of the non-missing training values."""
    every = np.concatenate(train)
    present = ~np.isnan(every)
    count = np.maximum(present.sum(0), 1)
    mean = np.where(present, every, 0.0).sum(0) / count
    spread = np.sqrt((np.where(present, every - mean, 0.0) ** 2).sum(0) / count)
    return mean, np.where(spread > 1e-12 * np.maximum(np.abs(mean), 1e-300), spread, 1.0)


def _scale_answers(card: Card, examples: Examples, splits: Parts, values: list[np.ndarray]) -> list[np.ndarray]:
    """Return the targets, values standardised by the training split."""
    if card.task == "classification":
        return examples.answers
    if card.task == "forecasting":
        return [x[card.horizon or 0 :, : len(card.targets)] for x in values]
    rows = [y.reshape(-1, y.shape[-1]) for y in examples.answers]
    mean, spread = _find_scale(card, [rows[k] for k in splits["train"]])
    return [(y - mean) / spread for y in examples.answers]


def _fill_gaps(card: Card, x: np.ndarray, otherwise: np.ndarray) -> np.ndarray:
    """Return (T, p) without missing values; with a mask (T, 2p).

    Args:
        card: Says what replaces a missing value.
        x: (T, p).
        otherwise: (p,): the number that replaces missing values or, with "hold", those before the first present one.
    """
    missing = np.isnan(x)
    if card.missing == "hold":
        steps = np.where(missing, -1, np.arange(len(x))[:, None])
        last = np.maximum.accumulate(steps, 0)
        return np.where(last < 0, otherwise, np.take_along_axis(x, np.maximum(last, 0), 0))
    if card.missing == "mask":
        return np.concatenate([np.where(missing, 0.0, x), ~missing], 1)
    return np.where(missing, otherwise, x)


def _pad_steps(x: np.ndarray, steps: int, value: float) -> np.ndarray:
    return np.pad(x, [(0, steps - len(x)), *[(0, 0)] * (x.ndim - 1)], constant_values=value)


def _make_targets(card: Card, answers: list[np.ndarray], longest: int) -> np.ndarray:
    """Return classes (N,) or (N, T) int64, or values (N, q) or (N, T, q) float32; padding has no target."""
    each = [_pad_steps(y, longest, np.nan) if y.ndim == 2 else y for y in answers]
    stacked = np.stack(each)
    if card.task != "classification":
        return stacked.astype(np.float32)
    return np.where(np.isnan(stacked), NO_TARGET, stacked)[..., 0].astype(np.int64)
