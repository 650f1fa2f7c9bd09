"""Δt-LSTM: an LSTM whose gates are scaled by a fixed time step."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

from torch import Tensor, sigmoid, tanh

from longwave.models.base.algebra import affine
from longwave.models.base.layer import State
from longwave.models.base.param import OptionValue, Param, learning_rate
from longwave.models.base.spec import ModelSpec
from longwave.models.base.torch_rnn import TorchNamed, TorchWeights, count

DT = Param("dt", "Δt", 0.001, 1.0, True, "steps", "Time step that scales the gates.", most=1.0)


@dataclass(frozen=True)
class DtLSTMWeights(TorchWeights):
    """torch's weights, and Δt."""

    dt: Tensor


class DtLSTM(TorchNamed[DtLSTMWeights]):
    """LSTM with gates scaled by Δt, (T, B, p) to (T, B, d).

    Source: Rusch et al. 2022 (arXiv:2110.04744), Appendix D; ``version="v1"`` or ``"v2"``::

        i, f, o = σ(V x[n] + b + W h[n-1] + c)        g = tanh(V x[n] + b + W h[n-1] + c)
        c[n] = Δt f c[n-1] + Δt i g            (v1)   h[n] = o tanh(c[n])
        c[n] = (1 − Δt) f c[n-1] + Δt i g      (v2)

    Weights, their initialisation and the read-out (of h) are the LSTM's. The paper tunes Δt but gives no range.

    Args:
        dt: 0 < Δt ≤ 1, in input steps.
        version: ``"v1"`` or ``"v2"``.
        biases: 2 or 1 per gate.
        input_size, hidden_size, members, batch_first: See ``Recurrence``.
    """

    WEIGHTS = DtLSTMWeights
    STATE = ("h", "c")
    GATES = 4
    PARAMS = (DT,)
    OPTIONS: ClassVar[Mapping[str, tuple[OptionValue, ...]]] = {"version": ("v1", "v2"), **TorchNamed.OPTIONS}
    version: str

    def step(self, u: tuple[Tensor, ...], state: State, w: DtLSTMWeights) -> State:
        """Return (h[n], c[n])."""
        h, c = state
        i, f, g, o = affine(w.weight_hh, h, u[0]).chunk(4, -1)
        share = w.dt if self.version == "v1" else 1 - w.dt
        c = share * sigmoid(f) * c + w.dt * sigmoid(i) * tanh(g)
        return sigmoid(o) * tanh(c), c


MODEL = ModelSpec(
    name="dt_lstm",
    title="Δt-LSTM",
    family="gated",
    source="Rusch et al., ICLR 2022, arXiv:2110.04744, Appendix D, Table 11",
    layer=DtLSTM,
    lr=learning_rate(1e-4, 1e-1),
    count=count,
    printed={"v1": {"version": "v1"}, "v2": {"version": "v2"}},
)
