"""Time steps Δ = softplus(b) of state-space layers, and their initialisation."""

from __future__ import annotations

from math import log

import torch
from torch import Generator, Tensor, nn

LEAST, MOST = 0.001, 0.1
"""Range of the initial time steps, uniform in their logarithm."""


def draw_log_steps(weight: Tensor, generator: Generator | None) -> None:
    """Fill ``weight`` with log Δ."""
    nn.init.uniform_(weight, log(LEAST), log(MOST), generator=generator)


def draw_time_steps(weight: Tensor, generator: Generator | None) -> None:
    """Fill ``weight`` with b = softplus⁻¹(Δ)."""
    draw_log_steps(weight, generator)
    weight.exp_()
    weight.add_(torch.log(-torch.expm1(-weight)))
