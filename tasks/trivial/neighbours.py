"""Nearest neighbours: in a delay embedding for forecasts, among whole sequences for classes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import torch
from torch import Tensor

from longwave.tasks.base.data import Data
from longwave.tasks.base.predictor import Fitted, Predictor
from longwave.tasks.base.sequences import Sequences
from longwave.tasks.trivial.constant import SAMPLE
from longwave.tasks.trivial.delays import DelayEmbedded, Law
from longwave.tasks.trivial.whole import flat_rows, logits

MAX_DIMENSION = 16
"""Largest dimension of an embedding."""
TINY = 1e-30
"""Smallest squared distance: an exact match then dominates."""
BLOCK = 2**24
"""Number of distances in memory at once."""


@dataclass(frozen=True)
class Neighbours(DelayEmbedded[tuple[int, bool]]):
    """Continuation of the most similar pasts in training: the nearest, four weighted by 1/distance², or sixteen."""

    spacings: tuple[int, ...] = (1, 2, 4, 8, 16)
    rows = (2**16, 2**18)

    def candidates(self) -> Sequence[tuple[str, tuple[int, bool]]]:
        """Return the candidate numbers of neighbours, and whether 1/distance² weights them or all count equally."""
        return [("the nearest", (1, False)), ("the nearest 4, weighed", (4, True)), ("the nearest 16", (16, False))]

    def fits(self, features: int) -> bool:
        """Return whether a tree is faster than brute force: in few dimensions."""
        return features <= MAX_DIMENSION

    def learn(self, x: Tensor, y: Tensor, candidates: Sequence[tuple[int, bool]]) -> list[tuple[Law, int]]:
        """Return the means over the neighbours; each stores all rows."""
        from scipy.spatial import cKDTree

        tree, workers = cKDTree(x.numpy(), leafsize=32), torch.get_num_threads()

        def law(points: Tensor, count: int, weighed: bool) -> Tensor:
            k = min(count, len(x))
            far, at = (torch.from_numpy(f).view(len(points), k) for f in tree.query(points.numpy(), k, workers=workers))
            if not weighed:
                return y[at].mean(1)
            weights = 1 / far.square().clamp_min(TINY)
            return (y[at] * (weights / weights.sum(1, keepdim=True)).unsqueeze(-1)).sum(1)

        return [(partial(law, count=count, weighed=weighed), x.numel() + y.numel()) for count, weighed in candidates]


@dataclass(frozen=True)
class Nearest(Predictor):
    """The class of the training sequence at the smallest Euclidean distance, shorter ones padded with 0: 1-NN.

    Attributes:
        outputs: Logits: one per class, or 1 for two classes.
    """

    outputs: int

    def fit(self, data: Data[Any]) -> Fitted:
        """Return the training split; all of it is stored."""
        train: Sequences = data.training(SAMPLE)
        x, classes = flat_rows(train), train.targets

        def outputs(split: Sequences) -> Tensor:
            step = max(1, BLOCK // len(x))
            # In float64, because cdist loses the digits in which rows differ, if all are far from 0.
            near = [torch.cdist(some.double(), x.double()).argmin(1) for some in flat_rows(split).split(step)]
            return logits(classes[torch.cat(near)], self.outputs)

        return Fitted(outputs, x.numel() + len(x))
