"""LSTM, the gated baseline, through torch's own operator."""

from __future__ import annotations

from collections.abc import Mapping
from types import SimpleNamespace
from typing import ClassVar

import torch
from torch import Tensor

from longwave.models.kernels import Operands
from longwave.models.recurrence import Generators, Recurrence, State
from longwave.models.spec import Choice, ModelSpec, learning_rate


class TorchRecurrence(Recurrence):
    """A layer computed by torch's own operator, once a member.

    Weights carry torch's names without the layer's number: ``weight_ih`` (k d, p), ``weight_hh`` (k d, d), and the
    biases (k d,), for k gates. All start as U(−1/√d, 1/√d), as in torch. With ``biases=1``, as some papers count,
    there is no ``bias_hh``.
    """

    GATES: ClassVar[int]
    OPTIONS: ClassVar[Mapping[str, tuple[Choice, ...]]] = {"biases": (2, 1)}
    biases: int

    def shapes(self) -> dict[str, tuple[int, ...]]:
        """Return the shapes of torch's weights of one layer."""
        p, d, k = self.input_size, self.hidden_size, self.GATES
        both: dict[str, tuple[int, ...]] = {"bias_hh": (k * d,)} if self.biases == 2 else {}
        return {"weight_ih": (k * d, p), "weight_hh": (k * d, d), "bias_ih": (k * d,), **both}

    def run(self, x: Tensor, state: State, weights: list[Tensor]) -> tuple[Tensor, ...]:
        """Return the outputs (T, B, d) and the last state of one member, (1, B, d) each."""
        raise NotImplementedError

    def prepare(self, w: SimpleNamespace) -> None:
        """Put zeros in place of an absent bias."""
        if self.biases == 1:
            w.bias_hh = torch.zeros_like(w.bias_ih)

    def scan(self, x: Tensor, state: State, w: SimpleNamespace, generators: Generators) -> tuple[Tensor, State]:
        """Return the outputs (M, T, B, d) and the last state."""
        return self.through(x, state, w, lambda: self._each(x, state, w))

    def _each(self, x: Tensor, state: State, w: SimpleNamespace) -> tuple[Tensor, State]:
        """Return the same by torch's operator, member by member."""
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

    The weights start as U(−1/√d, 1/√d); the read-out sees h. Trainable numbers: 4 (d² + dp + 2d), with one bias a
    gate 4 (d² + dp + d). The chrono-LSTM is the same layer with another start, and the better baseline.

    Args: ``biases``, 2 or 1 a gate; for the others see ``Recurrence``.
    """

    STATE = ("h", "c")
    GATES = 4

    @property
    def cell(self) -> str | None:
        """``"lstm"``."""
        return "lstm"

    def operands(self, w: SimpleNamespace) -> Operands:
        """Return the weights; the two biases of a gate are one here."""
        return Operands(V=[w.weight_ih], b=[w.bias_ih + 1.0 * w.bias_hh], W=[w.weight_hh])

    def run(self, x: Tensor, state: State, weights: list[Tensor]) -> tuple[Tensor, ...]:
        """Return outputs, h and c by torch's LSTM operator: one layer, no dropout, one direction, time first."""
        result: tuple[Tensor, ...] = torch.lstm(x, state, weights, True, 1, 0.0, self.training, False, False)
        return result


def count(p: int, d: int, q: int, biases: int = 2, gates: int = 4, **_: Choice) -> int:
    """Return the trainable numbers of a layer of torch's form and its read-out."""
    return gates * (d * d + d * p + d * biases) + (d + 1) * q


MODEL = ModelSpec(
    name="lstm",
    title="LSTM",
    family="gated",
    source="Hochreiter and Schmidhuber 1997; Rusch et al. 2022, arXiv:2110.04744, eq. 15",
    layer=LSTM,
    lr=learning_rate(1e-4, 1e-1),
    count=count,
    printed={"(Helfrich)": {}, "(Nguyen)": {}},
    looped=True,
)
