"""FastRNN: a tanh network with two learned scalars that weigh the new state against the old."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from torch import Generator, Tensor, nn, sigmoid, tanh

from longwave.models.base.algebra import affine
from longwave.models.base.layer import State
from longwave.models.base.param import learning_rate
from longwave.models.base.recurrence import Recurrence
from longwave.models.base.spec import ModelSpec


@dataclass(frozen=True)
class FastRNNWeights:
    """The weights, and the scalars a and c."""

    V: Tensor
    W: Tensor
    b: Tensor
    a: Tensor
    c: Tensor


class FastRNN(Recurrence[FastRNNWeights]):
    """Residual recurrent network, (T, B, p) to (T, B, d).

    Source: Kusupati et al. 2018 (arXiv:1901.02358), written from memory, not compared with the paper's
    text; the parameter counts quoted elsewhere confirm its form::

        h[n] = σ(a) tanh(V x[n] + W h[n-1] + b) + σ(c) h[n-1],    a and c scalars

    V and W start as N(0, 0.1²), b as 1, a as −3, c as 3. The read-out sees h. Trainable parameters: d² + dp + d + 2.

    Args: see ``Recurrence``.
    """

    WEIGHTS = FastRNNWeights
    STATE = ("h",)

    def shapes(self) -> dict[str, tuple[int, ...]]:
        """Return V (d, p), W (d, d), b (d,), a and c (1,)."""
        p, d = self.input_size, self.hidden_size
        return {"V": (d, p), "W": (d, d), "b": (d,), "a": (1,), "c": (1,)}

    def draw(self, name: str, weight: Tensor, hyper: Mapping[str, float], generator: Generator | None) -> None:
        """Fill ``weight`` as the authors do."""
        draw_fast({"b": 1.0, "a": -3.0, "c": 3.0}, name, weight, generator)

    def drive(self, x: Tensor, w: FastRNNWeights) -> tuple[Tensor, ...]:
        """Return V x + b."""
        return (affine(w.V, x, w.b),)

    def step(self, u: tuple[Tensor, ...], state: State, w: FastRNNWeights) -> State:
        """Return (h[n],)."""
        (h,) = state
        return (sigmoid(w.a) * tanh(affine(w.W, h, u[0])) + sigmoid(w.c) * h,)


def draw_fast(constants: Mapping[str, float], name: str, weight: Tensor, generator: Generator | None) -> None:
    """Fill ``weight`` with its constant, or with N(0, 0.1²)."""
    if name in constants:
        nn.init.constant_(weight, constants[name])
    else:
        nn.init.normal_(weight, 0.0, 0.1, generator=generator)


MODEL = ModelSpec(
    name="fastrnn",
    title="FastRNN",
    family="plain",
    source="Kusupati et al., NeurIPS 2018, arXiv:1901.02358",
    layer=FastRNN,
    lr=learning_rate(1e-4, 1e-1),
    count=lambda p, d, q, **_: d * d + d * p + d + 2 + (d + 1) * q,
)
