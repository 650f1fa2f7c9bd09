"""LSTM, the gated baseline."""

from __future__ import annotations

import torch
from torch import Tensor, sigmoid, tanh

from longwave.models.base.algebra import affine
from longwave.models.base.layer import State
from longwave.models.base.param import learning_rate
from longwave.models.base.spec import ModelSpec
from longwave.models.base.torch_rnn import TorchRecurrence, TorchWeights, count


class LSTM(TorchRecurrence):
    """Long short-term memory, (T, B, p) to (T, B, d).

    Source: Hochreiter and Schmidhuber 1997 with forget gates, LEM eq. 15; gates in torch's order i, f, g, o::

        i, f, o = σ(V x[n] + b + W h[n-1] + c)        g = tanh(V x[n] + b + W h[n-1] + c)
        c[n] = f c[n-1] + i g                         h[n] = o tanh(c[n])

    The weights start as U(−1/√d, 1/√d); the read-out sees h. Trainable parameters: 4 (d² + dp + 2d), with one bias per
    gate 4 (d² + dp + d). The chrono-LSTM is the same layer with another initialisation, and the better baseline.

    Args: ``biases``, 2 or 1 per gate; for the others see ``Recurrence``.
    """

    STATE = ("h", "c")
    GATES = 4

    def step(self, u: tuple[Tensor, ...], state: State, w: TorchWeights) -> State:
        """Return (h[n], c[n])."""
        h, c = state
        i, f, g, o = affine(w.weight_hh, h, u[0]).chunk(4, -1)
        c = sigmoid(f) * c + sigmoid(i) * tanh(g)
        return sigmoid(o) * tanh(c), c

    def one(self, x: Tensor, state: State, weights: list[Tensor]) -> tuple[Tensor, ...]:
        """Return outputs, h and c by torch's LSTM operator: one layer, no dropout, one direction, time first."""
        result: tuple[Tensor, ...] = torch.lstm(x, state, weights, True, 1, 0.0, self.training, False, False)
        return result


MODEL = ModelSpec(
    name="lstm",
    title="LSTM",
    family="gated",
    source="Hochreiter and Schmidhuber 1997; Rusch et al. 2022, arXiv:2110.04744, eq. 15",
    layer=LSTM,
    lr=learning_rate(1e-4, 1e-1),
    count=count,
    printed={"(Helfrich)": {}, "(Nguyen)": {}},
)
