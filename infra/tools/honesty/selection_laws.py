"""Distributions of settings and seeds for comparing selection rules: from an edition's runs, and synthetic ones.

A score is the log of an error, smaller is better, at 1/16, 1/8, 1/4, 1/2 and all of the epochs: ``SHARES``.
"""

from __future__ import annotations

import json
import lzma
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray

Array = NDArray[Any]
SHARES = np.array([1 / 16, 1 / 8, 1 / 4, 1 / 2, 1.0])
GAIN = 2.0
"""How much a seed that learns gains, in the log of its error."""
LEARNED = -1.0
"""A score below this beats the constant predictor; settings that learn nothing score about 0."""


class Settings(Protocol):
    """Settings of some searches, (searches, settings), drawn from a law."""

    @property
    def truth(self) -> Array:
        """The log error of each setting's median training, (searches, settings)."""
        ...

    @property
    def beaten(self) -> float:
        """Scores below it beat the constant predictor."""
        ...

    def train(self, rng: Generator, index: Array, seeds: int) -> Array:
        """Return the scores of fresh trainings of some settings, (searches, settings, seeds, shares)."""
        ...


class Law(Protocol):
    """Draws settings."""

    name: str

    def draw(self, rng: Generator, searches: int, settings: int) -> Settings:
        """Return fresh settings."""
        ...


@dataclass(frozen=True)
class Normal:
    """Normal scores: medians spread by ``SPREAD``; early scores are biased by the setting and correlate with the last.

    Attributes:
        name: Of the law.
        sd: Median of the settings' standard deviations between seeds.
        varying: Standard deviation of their logs.
        learnable: Share of settings that can learn, each with its own probability; 1: all train alike.
    """

    name: str
    sd: float
    varying: float = 0.0
    learnable: float = 1.0

    SPREAD = 0.96
    CORRELATION = np.array([0.47, 0.57, 0.72, 0.86, 1.0])
    BIAS = np.array([0.5, 0.35, 0.2, 0.1, 0.0])
    LEARNS_AT = np.array([0.05, 0.1, 0.25, 0.3, 0.3])
    """Probability that a seed that learns does so by each share of the epochs."""

    def draw(self, rng: Generator, searches: int, settings: int) -> Settings:
        """Return fresh settings."""
        shape = searches, settings
        middle = self.SPREAD * rng.standard_normal(shape)
        sd = self.sd * np.exp(self.varying * rng.standard_normal(shape))
        bias = rng.standard_normal((*shape, 1)) * self.BIAS
        if self.learnable == 1:
            return _NormalSettings(self, middle, middle, sd, bias, None)
        middle = 0.1 * middle
        learns = np.where(rng.random(shape) < self.learnable, rng.random(shape), 0.0)
        return _NormalSettings(self, middle - GAIN * (learns > 0.5), middle, sd, bias * 0.1, learns)


@dataclass(frozen=True)
class _NormalSettings:
    law: Normal
    truth: Array
    middle: Array
    sd: Array
    bias: Array
    learns: Array | None

    @property
    def beaten(self) -> float:
        return np.inf if self.learns is None else LEARNED

    def train(self, rng: Generator, index: Array, seeds: int) -> Array:
        middle, sd = (np.take_along_axis(a, index, 1) for a in (self.middle, self.sd))
        bias = np.take_along_axis(self.bias, index[..., None], 1)
        shape = (*index.shape, seeds, 1)
        rho, last = self.law.CORRELATION, rng.standard_normal(shape)
        noise = rho * last + np.sqrt(1 - rho**2) * rng.standard_normal((*index.shape, seeds, len(SHARES)))
        scores = middle[..., None, None] + sd[..., None, None] * noise + bias[:, :, None, :]
        if self.learns is not None:
            hit = rng.random(shape) < np.take_along_axis(self.learns, index, 1)[..., None, None]
            when = rng.choice(len(SHARES), size=shape, p=self.law.LEARNS_AT)
            scores = scores - GAIN * (hit & (when <= np.arange(len(SHARES))))
        return np.asarray(scores)


NORMAL = (
    Normal("quiet seeds", 0.05),
    Normal("typical seeds", 0.2),
    Normal("seeds of edition 1", 0.17, 1.1),
    Normal("loud seeds", 0.6),
)
LEARN_OR_NOT = (Normal("a quarter can learn", 0.05, learnable=0.25), Normal("half can learn", 0.05, learnable=0.5))


@dataclass(frozen=True)
class CellRuns:
    """The first search of a cell and the retrainings of its winner, as logs of errors by share of the epochs.

    Attributes:
        sweep: Its sweep.
        search: (trials, shares), the best score so far; NaN after a trial was stopped.
        retrained: (seeds, shares).
    """

    sweep: str
    search: Array
    retrained: Array


def read_cells(results: Path) -> list[CellRuns]:
    """Return the cells of an edition's first searches with eight retrainings, and eight trials at the first rung."""
    cells = []
    for path in sorted(results.glob("*.json.xz")):
        if "widened" in path.name:
            continue
        content = json.loads(lzma.decompress(path.read_bytes()))["content"]
        for sweep in content["sweeps"]:
            planned, groups = set(sweep["trials"]), defaultdict[tuple[str, ...], list[Mapping[str, Any]]](list)
            for trial in content["trials"]:
                config = trial["config"]
                if trial["run"]["trial"] in planned:
                    options = json.dumps(config.get("options", {}), sort_keys=True)
                    groups[config["task"], config["model"], options, str(config["hidden"])].append(trial)
            for trials in groups.values():
                again = [t for t in trials if t["config"]["phase"] == "retrain" and t["run"]["status"] == "ok"]
                search = [t for t in trials if t["config"]["phase"] == "search"]
                cell = CellRuns(sweep["content"]["name"], _scores(search), _scores(again))
                if len(again) >= 8 and np.isfinite(cell.search[:, 0]).sum() >= 8 and np.isfinite(cell.retrained).all():
                    cells.append(cell)
    return cells


def _scores(trials: Sequence[Mapping[str, Any]]) -> Array:
    """Return the logs of the best validation errors by each share of the epochs, (trials, shares)."""
    scores = np.full((len(trials), len(SHARES)), np.nan)
    for line, trial in zip(scores, trials, strict=True):
        curve, epochs, about = trial["curve"]["valid"], trial["config"]["epochs"], trial["about"]
        for k, share in enumerate(SHARES):
            end = max(1, int(epochs * share))
            if len(curve) >= end:
                best = min(curve[:end]) if about["goal"] == "min" else max(curve[:end])
                floor = 1e-12 if about["goal"] == "min" else about.get("floor") or 0.1
                line[k] = np.log(max(best if about["goal"] == "min" else 100 - best, floor))
    return scores


@dataclass(frozen=True)
class EditionCell:
    """A cell of an edition as a law: settings estimated from its search, without the noise of seeds.

    Attributes:
        name: Of its sweep.
        means: Of a setting's scores, (shares).
        spread: A factor of the settings' covariance, (shares, shares).
        noise: Residual curves of retrainings, one set a row of its board, (rows, seeds, shares): each setting has the
            noise of one row.
    """

    name: str
    means: Array
    spread: Array
    noise: Array

    def draw(self, rng: Generator, searches: int, settings: int) -> Settings:
        """Return fresh settings."""
        middle = self.means + rng.standard_normal((searches, settings, len(SHARES))) @ self.spread.T
        return _EditionSettings(middle, rng.integers(len(self.noise), size=(searches, settings)), self.noise)


@dataclass(frozen=True)
class _EditionSettings:
    middle: Array
    row: Array
    noise: Array
    beaten: float = np.inf

    @property
    def truth(self) -> Array:
        return self.middle[..., -1]

    def train(self, rng: Generator, index: Array, seeds: int) -> Array:
        middle = np.take_along_axis(self.middle, index[..., None], 1)
        row = np.take_along_axis(self.row, index, 1)
        which = rng.integers(self.noise.shape[1], size=(*index.shape, seeds))
        return np.asarray(middle[:, :, None, :] + self.noise[row[..., None], which])


def laws_of_edition(results: Path) -> list[EditionCell]:
    """Return a law for each cell of an edition; all constants of model A are computed here.

    The scores of a setting follow a chain over the shares, y[k+1] = a + b·y[k] + noise, whose slopes are fitted to a
    board's trials that went on. The covariance of the winner's retrainings is subtracted from theirs.
    """
    boards = defaultdict[str, list[CellRuns]](list)
    for cell in read_cells(results):
        boards[cell.sweep].append(cell)
    return [law for cells in boards.values() for law in _laws_of_board(cells)]


def _laws_of_board(cells: Sequence[CellRuns]) -> list[EditionCell]:
    slopes, rests = np.empty(4), np.empty(4)
    for k in range(4):
        pairs = [cell.search[np.isfinite(cell.search[:, k + 1])][:, k : k + 2] for cell in cells]
        centred = np.concatenate([pair - pair.mean(0) for pair in pairs if len(pair) > 1] or [np.empty((0, 2))])
        if len(centred) < 8:  # too few trials continued: use the previous rung
            slopes[k], rests[k] = slopes[k - 1], rests[k - 1]
            continue
        x, y = centred.T
        slopes[k] = np.clip(x @ y / (x @ x), 0, 1.5) if x @ x else 1.0
        rests[k] = 1.2 * np.std(y - slopes[k] * x)  # two numbers a cell are fitted
    noise = np.stack([(cell.retrained - np.median(cell.retrained, 0))[:8] for cell in cells])
    return [_law_of_cell(cell, slopes, rests, noise) for cell in cells]


def _law_of_cell(cell: CellRuns, slopes: Array, rests: Array, noise: Array) -> EditionCell:
    first = cell.search[np.isfinite(cell.search[:, 0]), 0]
    means, factor = np.empty(5), np.zeros((5, 5))
    means[0], factor[0, 0] = first.mean(), first.std()
    for k in range(4):
        both = cell.search[np.isfinite(cell.search[:, k + 1])]
        start = (both[:, k + 1] - slopes[k] * both[:, k]).mean() if len(both) else 0.0
        means[k + 1] = start + slopes[k] * means[k]
        factor[k + 1] = slopes[k] * factor[k]
        factor[k + 1, k + 1] += rests[k]
    values, vectors = np.linalg.eigh(factor @ factor.T - np.cov(cell.retrained.T))
    return EditionCell(cell.sweep, means, vectors * np.sqrt(np.maximum(values, 0)), noise)
