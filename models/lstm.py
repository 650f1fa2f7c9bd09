"""LSTM, the gated baseline, through torch's own operator."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any, ClassVar

import torch
from torch import Tensor

from longwave.models.recurrence import Recurrence, State
from longwave.models.spec import ModelSpec, Sizes, learning_rate


class TorchRecurrence(Recurrence):
    """A layer computed by torch's own operator, once a member.

    Weights carry torch's names without the layer's number: ``weight_ih`` (k d, p), ``weight_hh`` (k d, d), and both
    biases (k d,), for k gates. All start as U(−1/√d, 1/√d), as in torch.
    """

    GATES: ClassVar[int]

    def shapes(self) -> dict[str, tuple[int, ...]]:
        """Return the shapes of torch's four weights of one layer."""
        p, d, k = self.input_size, self.hidden_size, self.GATES
        return {"weight_ih": (k * d, p), "weight_hh": (k * d, d), "bias_ih": (k * d,), "bias_hh": (k * d,)}

    def run(self, x: Tensor, state: State, weights: list[Tensor]) -> tuple[Tensor, ...]:
        """Return the outputs (T, B, d) and the last state of one member, (1, B, d) each."""
        raise NotImplementedError

    def scan(self, x: Tensor, state: State, w: SimpleNamespace) -> tuple[Tensor, State]:
        """Return the outputs (M, T, B, d) and the last state, member by member."""
        results = [
            self.run(
                x[k],
                tuple(s[k : k + 1] for s in state),
                [w.weight_ih[k], w.weight_hh[k], w.bias_ih[k, 0], w.bias_hh[k, 0]],
            )
            for k in range(len(x))
        ]
        outputs, *last = zip(*results, strict=True)
        return torch.stack(outputs), tuple(torch.cat(s) for s in last)


class LSTM(TorchRecurrence):
    """Long short-term memory, (T, B, p) to (T, B, d).

    Source: Hochreiter and Schmidhuber 1997 with forget gates, LEM eq. 15; gates in torch's order i, f, g, o::

        i, f, o = σ(V x[n] + b + W h[n-1] + c)        g = tanh(V x[n] + b + W h[n-1] + c)
        c[n] = f c[n-1] + i g                         h[n] = o tanh(c[n])

    Args: see ``Recurrence``. The read-out sees h.
    """

    STATE = ("h", "c")
    GATES = 4

    def run(self, x: Tensor, state: State, weights: list[Tensor]) -> tuple[Tensor, ...]:
        """Return outputs, h and c by torch's LSTM operator: one layer, no dropout, one direction, time first."""
        result: tuple[Tensor, ...] = torch.lstm(x, state, weights, True, 1, 0.0, self.training, False, False)
        return result


def _build(sizes: Sizes, members: int, **chosen: Any) -> LSTM:
    return LSTM(sizes.inputs, sizes.hidden, members=members, **chosen)


MODEL = ModelSpec(
    name="lstm",
    title="LSTM",
    source="Hochreiter and Schmidhuber 1997; Rusch et al. 2022, arXiv:2110.04744, eq. 15",
    params=(),
    lr=learning_rate(1e-4, 1e-1),
    build=_build,
    looped=True,
)
