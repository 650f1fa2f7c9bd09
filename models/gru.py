"""GRU, the smaller gated baseline."""

from __future__ import annotations

from functools import partial

import torch
from torch import Tensor, lerp, sigmoid, tanh

from longwave.models.base.algebra import affine
from longwave.models.base.layer import State
from longwave.models.base.param import learning_rate
from longwave.models.base.spec import ModelSpec
from longwave.models.base.torch_rnn import TorchRecurrence, TorchWeights, count


class GRU(TorchRecurrence):
    """Gated recurrent unit, (T, B, p) to (T, B, d).

    Source: Cho et al. 2014 (arXiv:1406.1078) in torch's form; gates in torch's order r, s, ñ::

        r, s = σ(V x[n] + b + W h[n-1] + c)           ñ = tanh(V x[n] + b + r (W h[n-1] + c))
        h[n] = (1 − s) ñ + s h[n-1]

    The weights start as U(−1/√d, 1/√d); the read-out sees h. Trainable parameters: 3 (d² + dp + 2d), with one bias per
    gate 3 (d² + dp + d).

    Args: ``biases``, 2 or 1 per gate; for the others see ``Recurrence``.
    """

    STATE = ("h",)
    GATES = 3

    def drive(self, x: Tensor, w: TorchWeights) -> tuple[Tensor, ...]:
        """Return V x + b + c of r and s, and V x + b of ñ, whose c stays inside the product with r."""
        both = 2 * self.hidden_size
        c = w.bias_ih[..., :both] + w.bias_hh[..., :both]
        return affine(w.weight_ih[:, :both], x, c), affine(w.weight_ih[:, both:], x, w.bias_ih[..., both:])

    def step(self, u: tuple[Tensor, ...], state: State, w: TorchWeights) -> State:
        """Return (h[n],)."""
        (h,), d = state, self.hidden_size
        (er, es), (hr, hs, hn) = u[0].chunk(2, -1), affine(w.weight_hh, h).chunk(3, -1)
        new = tanh(u[1] + sigmoid(er + hr) * (hn + w.bias_hh[..., 2 * d :]))
        return (lerp(new, h, sigmoid(es + hs)),)

    def one(self, x: Tensor, state: State, weights: list[Tensor]) -> tuple[Tensor, ...]:
        """Return outputs and h by torch's GRU operator: one layer, no dropout, one direction, time first."""
        result: tuple[Tensor, ...] = torch.gru(x, state[0], weights, True, 1, 0.0, self.training, False, False)
        return result


MODEL = ModelSpec(
    name="gru",
    title="GRU",
    family="gated",
    source="Cho et al. 2014, arXiv:1406.1078, torch's form",
    layer=GRU,
    lr=learning_rate(1e-4, 1e-1),
    count=partial(count, gates=3),
)
