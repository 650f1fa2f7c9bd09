"""RMSprop."""

from __future__ import annotations

from dataclasses import replace

from longwave.platform.training.optimiser import EPS, WEIGHT_DECAY, Optimiser, Update, average_squares, beta

DECAY = replace(beta("rms_decay", "ρ", 0.99, "squared gradients"), published="Lipschitz RNN's word model: 0.9")


def step(u: Update) -> None:
    """Step along the gradient over the root of its running mean square."""
    grad, square = u.decayed(), u.state["square"]
    average_squares(square, grad, u.numbers["rms_decay"])
    u.values.sub_(u.rate() * grad / square.sqrt().add_(EPS))


OPTIMISER = Optimiser(
    name="rmsprop",
    title="RMSprop",
    source="Tieleman and Hinton 2012, lecture 6.5, as torch.optim.RMSprop",
    params=(DECAY, WEIGHT_DECAY),
    state=("square",),
    step=step,
)
