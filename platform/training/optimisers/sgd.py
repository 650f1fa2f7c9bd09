"""Stochastic gradient descent, with optional momentum."""

from __future__ import annotations

from torch import Tensor

from longwave.models.base.param import Param
from longwave.platform.training.optimiser import WEIGHT_DECAY, Optimiser, Update

MOMENTUM = Param(
    "momentum",
    "μ",
    0.5,
    0.99,
    False,
    "1",
    "How much of the velocity stays at each step; 0 steps along the gradient itself.",
    zero=True,
    most=1.0,
    searched=False,
    default=0.0,
)


def step(u: Update) -> None:
    """Step along the velocity v = μ v + g."""
    momentum, velocity = u.numbers["momentum"], u.state["velocity"]
    velocity.mul_(momentum.to(velocity.dtype) if isinstance(momentum, Tensor) else momentum).add_(u.decayed())
    u.values.sub_(u.rate() * velocity)


OPTIMISER = Optimiser(
    name="sgd",
    title="SGD",
    source="Sutskever et al. 2013, as torch.optim.SGD: η stands outside the velocity",
    params=(MOMENTUM, WEIGHT_DECAY),
    state=("velocity",),
    step=step,
)
