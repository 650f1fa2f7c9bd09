"""From examples to what is fed: normalised by the training split alone, filled, padded."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import torch

from longwave.tasks.base.batch import NOT_ASKED
from longwave.tasks.base.data import Data
from longwave.tasks.base.sequences import Sequences
from longwave.tasks.cards.card import Card
from longwave.tasks.cards.examples import Examples
from longwave.tasks.cards.split import SPLITS, Parts

Spread = tuple[np.ndarray, np.ndarray]
"""What is taken off, and what that is divided by then, (p,) each."""


def fed(card: Card, examples: Examples, found: Parts) -> dict[str, np.ndarray]:
    """Return inputs, targets and, where they differ, lengths of each split by name, as ``data`` takes them."""
    values = examples.values
    if isinstance(card.missing, float | int):
        values = [np.where(np.isnan(x), float(card.missing), x) for x in values]
    scale = _scale(card, [values[k] for k in found["train"]])
    values = [(x - scale[0]) / scale[1] for x in values]
    answers = [*_answers(card, examples, found, values)]
    cut = card.horizon or 0
    inputs = [_filled(card, x, scale)[: len(x) - cut] for x in values]
    longest, lengths = max(map(len, inputs)), np.array([len(x) for x in inputs])
    arrays: dict[str, np.ndarray] = {}
    for name in SPLITS:
        mine = found[name]
        arrays[f"{name}-inputs"] = np.stack([_padded(inputs[k], longest, 0.0) for k in mine]).astype(np.float32)
        arrays[f"{name}-targets"] = _targets(card, [answers[k] for k in mine], longest)
        if (lengths != longest).any():
            arrays[f"{name}-lengths"] = lengths[mine]
    return arrays


def data(arrays: Mapping[str, np.ndarray]) -> Data[Sequences]:
    """Return what ``fed`` gave, as a task hands it out."""
    found = {name: torch.from_numpy(array) for name, array in arrays.items()}

    def split(name: str) -> Sequences:
        return Sequences(found[f"{name}-inputs"], found[f"{name}-targets"], lengths=found.get(f"{name}-lengths"))

    return Data(train=split("train"), valid=split("valid"), test=split("test"))


def _scale(card: Card, train: list[np.ndarray]) -> Spread:
    """Return mean and standard deviation of what is there in training, or 0 and 1; of what never changes 1."""
    every = np.concatenate(train)
    if card.normalise == "none":
        return np.zeros(every.shape[1]), np.ones(every.shape[1])
    there = ~np.isnan(every)
    count = np.maximum(there.sum(0), 1)
    mean = np.where(there, every, 0.0).sum(0) / count
    spread = np.sqrt((np.where(there, every - mean, 0.0) ** 2).sum(0) / count)
    return mean, np.where(spread > 1e-12 * np.maximum(np.abs(mean), 1e-300), spread, 1.0)


def _answers(card: Card, examples: Examples, found: Parts, values: list[np.ndarray]) -> list[np.ndarray]:
    """Return what is asked, values less mean and over standard deviation of training."""
    if card.task == "classification":
        return examples.asked
    if card.task == "forecasting":
        return [x[card.horizon or 0 :, : len(card.asked)] for x in values]
    rows = [y.reshape(-1, y.shape[-1]) for y in examples.asked]
    mean, spread = _scale(card, [rows[k] for k in found["train"]])
    return [(y - mean) / spread for y in examples.asked]


def _filled(card: Card, x: np.ndarray, scale: Spread) -> np.ndarray:
    """Return (T, p) without a gap; with a mask (T, 2p)."""
    gone = np.isnan(x)
    if card.missing == "hold":
        steps = np.where(gone, -1, np.arange(len(x))[:, None])
        last = np.maximum.accumulate(steps, 0)
        start = np.zeros(x.shape[1]) if card.normalise == "standard" else np.nan_to_num(np.nanmean(x, 0))
        return np.where(last < 0, start, np.take_along_axis(x, np.maximum(last, 0), 0))
    filled = np.where(gone, 0.0, x)
    return np.concatenate([filled, ~gone], 1) if card.missing == "mask" else filled


def _padded(x: np.ndarray, steps: int, value: float) -> np.ndarray:
    return np.pad(x, [(0, steps - len(x)), *[(0, 0)] * (x.ndim - 1)], constant_values=value)


def _targets(card: Card, answers: list[np.ndarray], longest: int) -> np.ndarray:
    """Return classes (N,) or (N, T) int64, or values (N, q) or (N, T, q) float32; padding is not asked."""
    each = [_padded(y, longest, np.nan) if y.ndim == 2 else y for y in answers]
    stacked = np.stack(each)
    if card.task != "classification":
        return stacked.astype(np.float32)
    return np.where(np.isnan(stacked), NOT_ASKED, stacked)[..., 0].astype(np.int64)
