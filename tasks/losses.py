"""Losses and metrics of all tasks, one number a member, for outputs (M, ..., q)."""

from __future__ import annotations

import torch
from torch import Tensor

from longwave.tasks.spec import Metric


def mean_squared_error(outputs: Tensor, targets: Tensor) -> Tensor:
    """Return the mean over everything but the members axis of (output − target)², (M,)."""
    return (outputs - targets).square().flatten(1).mean(1)


def cross_entropy(outputs: Tensor, targets: Tensor) -> Tensor:
    """Return the mean cross-entropy of logits (M, B, q) against classes (M, B), in nats, (M,)."""
    return (outputs.logsumexp(-1) - outputs.gather(-1, targets.unsqueeze(-1)).squeeze(-1)).mean(1)


def _root_mean_squared_error(outputs: Tensor, targets: Tensor) -> Tensor:
    return mean_squared_error(outputs, targets).sqrt()


def _accuracy(outputs: Tensor, targets: Tensor) -> Tensor:
    hits = torch.where(outputs.isfinite().all(-1), outputs.argmax(-1) == targets, torch.nan)
    return 100 * hits.mean(1)


MSE = Metric("mse", "1", "min", "mean squared error over all test sequences", mean_squared_error)
L2_ERROR = Metric(
    "l2_error",
    "1",
    "min",
    "root of the mean squared error over all steps of all test sequences (the papers print RMSE as L2 error)",
    _root_mean_squared_error,
)
ACCURACY = Metric("accuracy", "%", "max", "100 × correct / number of test sequences, argmax over the logits", _accuracy)
