"""FastGRNN: a gated network whose gate and candidate share their matrices."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from torch import Generator, Tensor, sigmoid, tanh

from longwave.models.base.algebra import affine
from longwave.models.base.layer import State
from longwave.models.base.param import learning_rate
from longwave.models.base.recurrence import Recurrence
from longwave.models.base.spec import ModelSpec
from longwave.models.fastrnn import draw_fast


@dataclass(frozen=True)
class FastGRNNWeights:
    """The weights of gate and candidate."""

    V: Tensor
    W: Tensor
    bg: Tensor
    bh: Tensor
    zeta: Tensor
    nu: Tensor


class FastGRNN(Recurrence[FastGRNNWeights]):
    """Gated recurrent network with shared matrices, (T, B, p) to (T, B, d).

    Source: Kusupati et al. 2018 (arXiv:1901.02358), written from memory, not compared with the paper's
    text; the parameter counts quoted elsewhere confirm its form::

        s = V x[n] + W h[n-1]                        g = σ(s + b_g)
        h[n] = (σ(ζ) (1 − g) + σ(ν)) tanh(s + b_h) + g h[n-1],    ζ and ν scalars

    V and W start as N(0, 0.1²), both biases as 1, ζ as 1, ν as −4. The read-out sees h. Trainable parameters: d² + dp +
    2d + 2.

    Args: see ``Recurrence``.
    """

    WEIGHTS = FastGRNNWeights
    STATE = ("h",)

    def shapes(self) -> dict[str, tuple[int, ...]]:
        """Return V (d, p), W (d, d), bg and bh (d,), zeta and nu (1,)."""
        p, d = self.input_size, self.hidden_size
        return {"V": (d, p), "W": (d, d), "bg": (d,), "bh": (d,), "zeta": (1,), "nu": (1,)}

    def draw(self, name: str, weight: Tensor, hyper: Mapping[str, float], generator: Generator | None) -> None:
        """Fill ``weight`` as the authors do."""
        draw_fast({"bg": 1.0, "bh": 1.0, "zeta": 1.0, "nu": -4.0}, name, weight, generator)

    def drive(self, x: Tensor, w: FastGRNNWeights) -> tuple[Tensor, ...]:
        """Return V x."""
        return (affine(w.V, x),)

    def step(self, u: tuple[Tensor, ...], state: State, w: FastGRNNWeights) -> State:
        """Return (h[n],)."""
        (h,) = state
        s = affine(w.W, h, u[0])
        g = sigmoid(s + w.bg)
        return ((sigmoid(w.zeta) * (1 - g) + sigmoid(w.nu)) * tanh(s + w.bh) + g * h,)


MODEL = ModelSpec(
    name="fastgrnn",
    title="FastGRNN",
    family="gated",
    source="Kusupati et al., NeurIPS 2018, arXiv:1901.02358",
    layer=FastGRNN,
    lr=learning_rate(1e-4, 1e-1),
    count=lambda p, d, q, **_: d * d + d * p + 2 * d + 2 + (d + 1) * q,
)
