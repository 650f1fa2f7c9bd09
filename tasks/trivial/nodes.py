"""Least squares on a node's features and the means over its neighbours: what a graph provides without a network."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from longwave.tasks.base.batch import NO_TARGET
from longwave.tasks.base.data import Data
from longwave.tasks.base.graphs import Graphs
from longwave.tasks.base.predictor import Fitted, Predictor

RIDGES = tuple(10.0**k for k in range(-3, 4))
"""Candidate penalties, selected on the validation split."""


@dataclass(frozen=True)
class NodeRidge(Predictor):
    """Ridge regression of the classes, one-hot, on x, P x, ..., P^hops x, with P the mean over a node's incoming edges.

    Attributes:
        classes: Their number.
        hops: 0 uses no edges.
    """

    classes: int
    hops: int

    def fit(self, data: Data[Any]) -> Fitted:
        """Return the fit with the penalty of the best validation accuracy, the largest in a tie."""
        train, valid = data.training(1), data.valid
        x, y = self._scored_rows(train)
        valid_x, valid_y = self._scored_rows(valid)
        one_hot = torch.nn.functional.one_hot(y, self.classes).double()
        maps = [torch.linalg.solve(x.mT @ x + r * torch.eye(x.shape[1]).double(), x.mT @ one_hot) for r in RIDGES]
        hits = [int(((valid_x @ w).argmax(-1) == valid_y).sum()) for w in maps]
        best = max(range(len(RIDGES)), key=lambda k: (hits[k], k))
        return Fitted(lambda split: self._features(split) @ maps[best], maps[best].numel(), f"ridge {RIDGES[best]:g}")

    def _scored_rows(self, split: Graphs) -> tuple[Tensor, Tensor]:
        scored = split.targets != NO_TARGET
        return self._features(split)[scored], split.targets[scored]

    def _features(self, split: Graphs) -> Tensor:
        """Return the regression's features of each node, (N, V, (hops + 1) p + 1)."""
        features = [split.nodes.double().masked_fill(~split.real.unsqueeze(-1), 0.0)]
        for _ in range(self.hops):
            padded = torch.cat([features[-1], torch.zeros_like(features[-1][:, :1])], 1)
            begin, end = (k.unsqueeze(-1).expand(*k.shape, padded.shape[-1]) for k in split.edges.unbind(-1))
            total = torch.zeros_like(padded).scatter_add(1, end, padded.gather(1, begin))[:, :-1]
            count = torch.zeros_like(padded).scatter_add(1, end, torch.ones_like(padded.gather(1, begin)))[:, :-1]
            features.append(total / count.clamp_min(1))
        return torch.cat([*features, torch.ones_like(features[0][..., :1])], -1)
