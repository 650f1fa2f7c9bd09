"""Gated antisymmetric RNN: the antisymmetric RNN with an input gate that shares its recurrent matrix."""

from __future__ import annotations

from dataclasses import dataclass

from torch import Tensor, sigmoid, tanh

from longwave.models.antisymmetric_rnn import Antisymmetric, AntisymmetricWeights
from longwave.models.base.algebra import affine
from longwave.models.base.layer import State
from longwave.models.base.param import learning_rate
from longwave.models.base.spec import ModelSpec


@dataclass(frozen=True)
class GatedAntisymmetricWeights(AntisymmetricWeights):
    """The antisymmetric RNN's, and the gate's Ug and bg."""

    Ug: Tensor
    bg: Tensor


class GatedAntisymmetricRNN(Antisymmetric[GatedAntisymmetricWeights]):
    """Antisymmetric recurrent unit with gate, (T, B, p) to (T, B, d).

    Source: Chang et al. 2019 (arXiv:1902.09689), written from memory, not compared with the paper's text;
    the parameter counts quoted elsewhere confirm its form::

        a = (M − Mᵀ − γ I) h[n-1]                    g = σ(a + U_g x[n] + b_g)
        h[n] = h[n-1] + ε g tanh(a + U x[n] + b)

    Weights start as in the antisymmetric RNN; the read-out sees h. Trainable parameters: d (d − 1)/2 + 2 (dp + d).

    Args: see ``AntisymmetricRNN``.
    """

    WEIGHTS = GatedAntisymmetricWeights

    def shapes(self) -> dict[str, tuple[int, ...]]:
        """Return M, U, b and the gate's Ug (d, p), bg (d,)."""
        p, d = self.input_size, self.hidden_size
        return {**super().shapes(), "Ug": (d, p), "bg": (d,)}

    def drive(self, x: Tensor, w: GatedAntisymmetricWeights) -> tuple[Tensor, ...]:
        """Return U x + b and U_g x + b_g."""
        return affine(w.U, x, w.b), affine(w.Ug, x, w.bg)

    def step(self, u: tuple[Tensor, ...], state: State, w: GatedAntisymmetricWeights) -> State:
        """Return (h[n],)."""
        (h,) = state
        a = affine(w.A, h)
        return (h + w.epsilon * sigmoid(a + u[1]) * tanh(a + u[0]),)


MODEL = ModelSpec(
    name="gated_antisymmetric_rnn",
    title="Gated antisymmetric RNN",
    family="ODE",
    source="Chang et al., ICLR 2019, arXiv:1902.09689",
    layer=GatedAntisymmetricRNN,
    lr=learning_rate(1e-4, 1e-1),
    count=lambda p, d, q, **_: d * (d - 1) // 2 + 2 * (d * p + d) + (d + 1) * q,
)
