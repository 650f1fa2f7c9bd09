"""Losses and metrics of all tasks, one value per member, for outputs (M, ..., q).

Steps without a target do not count. A metric is a ratio of two sums, so that a split can be scored in parts: see
``Metric``.
"""

from __future__ import annotations

import math
from dataclasses import replace

import torch
from torch import Tensor
from torch.nn.functional import softplus

from longwave.tasks.base.batch import NO_TARGET
from longwave.tasks.base.metric import Further, Metric

Sums = tuple[Tensor, Tensor]
"""Numerator and denominator of a metric, (M,) each."""


def _squares(outputs: Tensor, targets: Tensor) -> Sums:
    scored = targets.isfinite().expand_as(outputs)
    errors = torch.where(scored, outputs - targets.nan_to_num(), 0.0).square()
    return _sums(errors, scored)


def _distances(outputs: Tensor, targets: Tensor) -> Sums:
    scored = targets.isfinite().expand_as(outputs)
    return _sums(torch.where(scored, outputs - targets.nan_to_num(), 0.0).abs(), scored)


def _nats(outputs: Tensor, targets: Tensor) -> Sums:
    scored = (targets != NO_TARGET).expand(outputs.shape[:-1])
    classes = targets.clamp_min(0).expand(outputs.shape[:-1]).unsqueeze(-1)
    nats = outputs.logsumexp(-1) - outputs.gather(-1, classes).squeeze(-1)
    return _sums(torch.where(scored, nats, 0.0), scored)


def _even_nats(outputs: Tensor, targets: Tensor) -> Sums:
    """Return the cross-entropy at each position against the uniform distribution, and which have a target."""
    scored = (targets != NO_TARGET).expand(outputs.shape[:-1])
    return torch.where(scored, outputs.logsumexp(-1) - outputs.mean(-1), 0.0), scored


def _binary_nats(outputs: Tensor, targets: Tensor) -> Sums:
    logits = outputs.squeeze(-1)
    scored = (targets != NO_TARGET).expand_as(logits)
    return _sums(torch.where(scored, softplus(logits) - logits * targets, 0.0), scored)


def choose_classes(outputs: Tensor) -> Tensor:
    """Return the class of largest logit, (...) int64, for logits (..., q); of a single logit, whether it is above 0."""
    return (outputs.squeeze(-1) > 0).long() if outputs.shape[-1] == 1 else outputs.argmax(-1)


def _hits(outputs: Tensor, targets: Tensor) -> Sums:
    scored = (targets != NO_TARGET).expand(outputs.shape[:-1])
    predicted = choose_classes(outputs)
    hits = torch.where(outputs.sum(-1).isfinite(), 100.0 * (predicted == targets), torch.nan)
    return _sums(torch.where(scored, hits, 0.0), scored)


def _relative_squares(outputs: Tensor, targets: Tensor) -> Sums:
    errors, _ = _squares(outputs, targets)
    return errors, targets.nan_to_num().expand_as(outputs).double().square().flatten(1).sum(1)


def _sums(values: Tensor, scored: Tensor) -> Sums:
    """Return numerator and denominator of a metric, in float64."""
    return values.double().flatten(1).sum(1), scored.flatten(1).sum(1)


def _mean(total: Tensor, count: Tensor) -> Tensor:
    """Return a loss, (M,); 0 for a batch in which nothing has a target."""
    return total / count.clamp_min(1)


def mean_squared_error(outputs: Tensor, targets: Tensor) -> Tensor:
    """Return the mean over all targets of (output − target)², (M,)."""
    return _mean(*_squares(outputs, targets))


def mean_absolute_error(outputs: Tensor, targets: Tensor) -> Tensor:
    """Return the mean over all targets of |output − target|, (M,)."""
    return _mean(*_distances(outputs, targets))


def cross_entropy(outputs: Tensor, targets: Tensor, smoothing: Tensor | None = None) -> Tensor:
    """Return the mean cross-entropy of logits (M, ..., q) against classes (M, ...), in nats, (M,).

    Args:
        outputs: The logits.
        targets: The classes.
        smoothing: (M,): share of the target probability spread uniformly over all q classes, Szegedy et al.
            2016 (arXiv:1512.00567), section 7, as torch.nn.functional.cross_entropy's.
    """
    total, count = _nats(outputs, targets)
    if smoothing is None:
        return _mean(total, count)
    even, _ = _sums(*_even_nats(outputs, targets))
    return _mean(total + smoothing * (even - total), count)


def binary_cross_entropy(outputs: Tensor, targets: Tensor, smoothing: Tensor | None = None) -> Tensor:
    """Return the mean cross-entropy of one logit (M, ..., 1) against classes 0 and 1 (M, ...), in nats, (M,).

    Args:
        outputs: The logits.
        targets: The classes.
        smoothing: (M,): share of the target probability spread uniformly over the two classes.
    """
    total, count = _binary_nats(outputs, targets)
    if smoothing is None:
        return _mean(total, count)
    other, _ = _binary_nats(outputs, torch.where(targets == NO_TARGET, targets, 1 - targets))
    return _mean(total + smoothing / 2 * (other - total), count)


MSE = Metric("mse", "1", "min", "mean squared error over all targets of all test sequences", _squares)
L2_ERROR = Metric(
    "l2_error",
    "1",
    "min",
    "root of the mean squared error over all steps of all test sequences (the papers print RMSE as L2 error)",
    _squares,
    torch.sqrt,
)
NRMSE = Metric(
    "nrmse",
    "1",
    "min",
    "root mean squared error over all steps of all test sequences, divided by the root mean square of the targets",
    _relative_squares,
    torch.sqrt,
)
MAE = Metric("mae", "1", "min", "mean absolute error over all targets of all test graphs", _distances)
ACCURACY = Metric(
    "accuracy", "%", "max", "100 × correct / all targets, argmax over the logits, or a single logit above 0", _hits
)
CROSS_ENTROPY = Metric("cross_entropy", "nats", "min", "mean cross-entropy over all targets", _nats)
BITS = Metric("bpc", "bits", "min", "mean cross-entropy / ln 2", _nats, lambda nats: nats / math.log(2))
PERPLEXITY = Metric("perplexity", "1", "min", "exp(mean cross-entropy)", _nats, torch.exp)
FREE_RMSE = Metric(
    "free_rmse",
    "1",
    "min",
    "root of the mean squared error over all steps of all free runs, in standard deviations of the series",
    _squares,
    torch.sqrt,
)
VALID = 0.4
"""Largest root mean square error over features, in standard deviations, of a valid step of a free run, as in
Pathak et al. 2018 (Chaos 28, 041101), there relative to the root mean square of the signal."""


def steps_ahead(metric: Metric, step: int) -> Further:
    """Return a metric of one step of a free run, from 1."""

    def sums(outputs: Tensor, targets: Tensor) -> Sums:
        return metric.sums(outputs[:, step - 1], targets[..., step - 1, :, :])

    definition = f"{metric.definition}; only at that many steps ahead"
    return Further(replace(metric, definition=definition, sums=sums), "steps ahead", float(step))


def valid_time(a_step: float, unit: str) -> Further:
    """Return the mean time until a free run first errs by more than ``VALID``.

    Args:
        a_step: Duration of a step.
        unit: Of that time.
    """

    def sums(outputs: Tensor, targets: Tensor) -> Sums:
        errors = (outputs - targets).double().square().mean(-1).sqrt()
        return a_step * (errors <= VALID).cumprod(1).double().flatten(1).sum(1), torch.full_like(
            errors[:, 0, 0], errors.shape[2]
        )

    definition = f"mean time before the first step whose root mean square error over features exceeds {VALID}"
    return Further(Metric("valid_time", unit, "max", definition, sums))
