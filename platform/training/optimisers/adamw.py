"""Adam with decoupled weight decay."""

from __future__ import annotations

from dataclasses import replace

from longwave.platform.training.optimiser import BETAS, WEIGHT_DECAY, Optimiser, Update, adam_step

DECAY = replace(WEIGHT_DECAY, meaning="Weight decay: each step subtracts η λ times the weights.", default=0.01)


def step(u: Update) -> None:
    """Shrink the weights by η λ, then step with the corrected moments of the gradient."""
    # In float64, because 1 − 1e-8 would round to 1.
    shrink = 1 - u.rate().double() * u.numbers["weight_decay"]
    u.values.mul_(shrink.to(u.values.dtype))
    adam_step(u, u.grad)


OPTIMISER = Optimiser(
    name="adamw",
    title="AdamW",
    source="Loshchilov and Hutter 2019 (arXiv:1711.05101), Algorithm 2, as torch.optim.AdamW",
    params=(*BETAS, DECAY),
    state=("mean", "square"),
    step=step,
)
