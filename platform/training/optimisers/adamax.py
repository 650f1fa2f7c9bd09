"""Adamax."""

from __future__ import annotations

import torch
from torch import Tensor

from longwave.platform.training.optimiser import BETAS, EPS, WEIGHT_DECAY, Optimiser, Update, average


def step(u: Update) -> None:
    """Step with the mean gradient over the largest one, which decays; both include weight decay."""
    beta1, beta2, mean, largest = u.numbers["beta1"], u.numbers["beta2"], u.state["mean"], u.state["largest"]
    grad = u.decayed()
    average(mean, grad, beta1)
    faded = largest * (beta2.to(largest.dtype) if isinstance(beta2, Tensor) else beta2)
    torch.maximum(faded, grad.abs().add_(EPS), out=largest)
    u.values.sub_(u.rate(1 - beta1**u.count) * mean / largest)


OPTIMISER = Optimiser(
    name="adamax",
    title="Adamax",
    source="Kingma and Ba 2015 (arXiv:1412.6980), Algorithm 2; ε and weight decay as torch.optim.Adamax's",
    params=(*BETAS, WEIGHT_DECAY),
    state=("mean", "largest"),
    step=step,
)
