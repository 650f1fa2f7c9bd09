"""ParaLSTM: an LSTM with diagonal recurrent weights, coupled gates and peepholes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from torch import Generator, Tensor, lerp, sigmoid, tanh

from longwave.models.base.algebra import affine
from longwave.models.base.layer import State
from longwave.models.base.param import learning_rate
from longwave.models.base.recurrence import Recurrence
from longwave.models.base.spec import ModelSpec
from longwave.models.paragru import draw_diagonal


@dataclass(frozen=True)
class ParaLSTMWeights:
    """B, b and the diagonal a of the gates f and o and of the candidate z; the peepholes c of both gates."""

    Bf: Tensor
    bf: Tensor
    af: Tensor
    cf: Tensor
    Bz: Tensor
    bz: Tensor
    az: Tensor
    Bo: Tensor
    bo: Tensor
    ao: Tensor
    co: Tensor


class ParaLSTM(Recurrence[ParaLSTMWeights]):
    """LSTM with diagonal recurrent weights and coupled input and forget gates, (T, B, p) to (T, B, d).

    Source: Danieli et al. 2025, ParaRNN (arXiv:2510.21450), and the authors' code (apple/ml-pararnn) with one head::

        f = σ(af h[n-1] + cf c[n-1] + Bf x[n] + bf)       z = tanh(az h[n-1] + Bz x[n] + bz)
        c[n] = f c[n-1] + (1 − f) z
        o = σ(ao h[n-1] + co c[n] + Bo x[n] + bo)         h[n] = o tanh(c[n])

    a and the peepholes start as N(0, 4/(5d)), B Xavier-uniform, U(−k, k) with k² = 6/(p + d), bf falls evenly from 0
    in the first unit to −1 in the last, and the other biases are 0. The read-out sees h. Trainable parameters: 3dp +
    8d.

    Args: see ``Recurrence``.
    """

    WEIGHTS = ParaLSTMWeights
    STATE = ("h", "c")

    def shapes(self) -> dict[str, tuple[int, ...]]:
        """Return B (d, p), b and a (d,), of f, z and o, and the peepholes cf and co (d,)."""
        p, d = self.input_size, self.hidden_size
        kinds = (("B", (d, p)), ("b", (d,)), ("a", (d,)), ("c", (d,)))
        return {kind + gate: shape for gate in "fzo" for kind, shape in kinds if kind + gate != "cz"}

    def draw(self, name: str, weight: Tensor, hyper: Mapping[str, float], generator: Generator | None) -> None:
        """Fill ``weight`` as in the authors' code."""
        draw_diagonal(name, weight, "bf", generator)

    def drive(self, x: Tensor, w: ParaLSTMWeights) -> tuple[Tensor, ...]:
        """Return B x + b of f, z and o."""
        return affine(w.Bf, x, w.bf), affine(w.Bz, x, w.bz), affine(w.Bo, x, w.bo)

    def step(self, u: tuple[Tensor, ...], state: State, w: ParaLSTMWeights) -> State:
        """Return (h[n], c[n])."""
        (uf, uz, uo), (h, c) = u, state
        c = lerp(tanh(w.az * h + uz), c, sigmoid(w.af * h + w.cf * c + uf))
        return sigmoid(w.ao * h + w.co * c + uo) * tanh(c), c


MODEL = ModelSpec(
    name="paralstm",
    title="ParaLSTM",
    family="gated scan",
    source="Danieli et al., ICLR 2026, arXiv:2510.21450, and the authors' code",
    layer=ParaLSTM,
    lr=learning_rate(1e-4, 1e-1),
    count=lambda p, d, q, **_: 3 * d * p + 8 * d + (d + 1) * q,
)
