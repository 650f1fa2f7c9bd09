"""Adam."""

from __future__ import annotations

from longwave.platform.training.optimiser import BETAS, WEIGHT_DECAY, Optimiser, Update, adam_step


def step(u: Update) -> None:
    """Step with the corrected moments of the gradient, which includes weight decay."""
    adam_step(u, u.decayed())


OPTIMISER = Optimiser(
    name="adam",
    title="Adam",
    source="Kingma and Ba 2015 (arXiv:1412.6980), Algorithm 1; weight decay as torch.optim.Adam's",
    params=(*BETAS, WEIGHT_DECAY),
    state=("mean", "square"),
    step=step,
)
