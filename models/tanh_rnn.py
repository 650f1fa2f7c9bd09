"""tanh RNN, the oldest baseline."""

from __future__ import annotations

from functools import partial

import torch
from torch import Tensor, tanh

from longwave.models.base.algebra import affine
from longwave.models.base.layer import State
from longwave.models.base.param import learning_rate
from longwave.models.base.spec import ModelSpec
from longwave.models.base.torch_rnn import TorchRecurrence, TorchWeights, count


class TanhRNN(TorchRecurrence):
    """Elman's recurrent network, (T, B, p) to (T, B, d).

    Source: Elman 1990 in torch's form::

        h[n] = tanh(V x[n] + b + W h[n-1] + c)

    The weights start as U(−1/√d, 1/√d); the read-out sees h. Trainable parameters: d² + dp + 2d, with one bias d² + dp
    + d.

    Args: ``biases``, 2 or 1; for the others see ``Recurrence``.
    """

    STATE = ("h",)
    GATES = 1

    def step(self, u: tuple[Tensor, ...], state: State, w: TorchWeights) -> State:
        """Return (h[n],)."""
        return (tanh(affine(w.weight_hh, state[0], u[0])),)

    def one(self, x: Tensor, state: State, weights: list[Tensor]) -> tuple[Tensor, ...]:
        """Return outputs and h by torch's operator: one layer, no dropout, one direction, time first."""
        result: tuple[Tensor, ...] = torch.rnn_tanh(x, state[0], weights, True, 1, 0.0, self.training, False, False)
        return result


MODEL = ModelSpec(
    name="tanh_rnn",
    title="tanh RNN",
    family="plain",
    source="Elman 1990, torch's form",
    layer=TanhRNN,
    lr=learning_rate(1e-4, 1e-1),
    count=partial(count, gates=1),
    printed={"RNN baseline": {}, "vanilla RNN": {}},
)
