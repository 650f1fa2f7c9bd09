"""Predictors for graphs: classes from edges only, values from features only or from counts of nodes and edges."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor

from longwave.tasks.base.batch import NO_TARGET
from longwave.tasks.base.data import Data
from longwave.tasks.base.graphs import Graphs
from longwave.tasks.base.predictor import Fitted, Predictor
from longwave.tasks.trivial.constant import Majority
from longwave.tasks.trivial.nodes import RIDGES, NodeRidge

STEPS = 50
"""Of label propagation."""
FeaturesAndValues = tuple[np.ndarray, np.ndarray]
"""Features of a fit, (n, k), and its targets, (n,)."""


@dataclass(frozen=True)
class LabelPropagation(Predictor):
    """Label propagation along edges, both ways: Zhou et al. 2004, with the share selected on validation.

    It reads no features.

    Attributes:
        classes: Their number.
    """

    classes: int

    def fit(self, data: Data[Any]) -> Fitted:
        """Return the propagated labels of all nodes of the graph; the fit stores the known classes."""
        train: Graphs = data.training(1)
        step, labels = _propagation(train), torch.zeros(train.positions, self.classes, dtype=torch.float64)
        labelled = train.targets[0] != NO_TARGET
        labels[labelled] = torch.nn.functional.one_hot(train.targets[0, labelled], self.classes).double()
        valid = data.valid.targets[0]
        tried = {}
        for share in (0.5, 0.9, 0.99):
            reached = labels
            for _ in range(STEPS):
                reached = share * (step @ reached) + (1 - share) * labels
            tried[share] = reached
        hits = {share: int((reached.argmax(-1) == valid).sum()) for share, reached in tried.items()}
        best = max(hits, key=lambda share: hits[share])
        return Fitted(lambda split: tried[best].expand(*split.real.shape, -1), int(labelled.sum()), f"share {best:g}")


@dataclass(frozen=True)
class FeatureRidge(Predictor):
    """Ridge regression of a node's value on its own features, with the penalty selected on validation."""

    def fit(self, data: Data[Any]) -> Fitted:
        """Return the map of least error on the validation split."""
        return _fit_ridge(_scored_nodes(data.training(1)), _scored_nodes(data.valid), _all_rows)


@dataclass(frozen=True)
class CountRidge(Predictor):
    """Ridge regression of a graph's value on its number of nodes of each kind and of edges.

    Attributes:
        kinds: Number of kinds of nodes, which are tokens.
    """

    kinds: int

    def fit(self, data: Data[Any]) -> Fitted:
        """Return the map of least error on the validation split."""
        x, valid = ((self._counts(split), split.targets[:, 0].numpy()) for split in (data.training(1), data.valid))
        return _fit_ridge(x, valid, self._counts)

    def _counts(self, split: Graphs) -> np.ndarray:
        kinds = torch.nn.functional.one_hot(split.nodes.long(), self.kinds) * split.real.unsqueeze(-1)
        edges = (split.edges < split.positions).all(-1).sum(-1, keepdim=True)
        return torch.cat([kinds.sum(1), edges], -1).double().numpy()


def _fit_ridge(x: FeaturesAndValues, valid: FeaturesAndValues, rows: Callable[[Graphs], np.ndarray]) -> Fitted:
    """Return a ridge regression with an intercept, whose penalty gives the least squared error on ``valid``."""
    from sklearn.linear_model import Ridge  # type: ignore[import-untyped]

    tried = {ridge: Ridge(alpha=ridge).fit(*x) for ridge in RIDGES}
    best = min(tried, key=lambda ridge: float(((tried[ridge].predict(valid[0]) - valid[1]) ** 2).mean()))

    def outputs(split: Graphs) -> Tensor:
        return torch.from_numpy(tried[best].predict(rows(split))).view(split.targets.shape)

    return Fitted(outputs, x[0].shape[1] + 1, f"ridge {best:g}")


def _all_rows(split: Graphs) -> np.ndarray:
    """Return the features of all nodes, (N V, p) float64."""
    return split.nodes.flatten(0, 1).double().numpy()


def _scored_nodes(split: Graphs) -> FeaturesAndValues:
    """Return features and values of the nodes with targets."""
    scored = split.targets[..., 0].isfinite()
    return split.nodes[scored].double().numpy(), split.targets[scored][:, 0].numpy()


def _propagation(split: Graphs) -> Tensor:
    """Return D^-1/2 A D^-1/2 of a graph's edges, both ways and once each, (V, V) sparse float64."""
    n = split.positions
    edges = split.edges[0][(split.edges[0] < n).all(-1)]
    both = torch.cat([edges, edges.flip(1)]).unique(dim=0).mT
    degree = torch.bincount(both[0], minlength=n).double().clamp_min(1)
    values = (degree[both[0]] * degree[both[1]]).rsqrt()
    return torch.sparse_coo_tensor(both, values, (n, n), dtype=torch.float64, check_invariants=True).coalesce()


def of_classes(classes: int) -> dict[str, Predictor]:
    """Return the trivial predictors of a graph whose nodes have classes."""
    return {
        "majority": Majority(classes),
        "ridge on own features": NodeRidge(classes, 0),
        "label propagation, no features": LabelPropagation(classes),
    }
