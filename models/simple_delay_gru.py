"""Simple delay GRU: one candidate that sees h[n] and h[n−τ] together, and one gate."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from torch import Tensor, lerp, sigmoid, tanh

from longwave.models.base.algebra import affine
from longwave.models.base.delay import TAU, Delayed
from longwave.models.base.param import learning_rate
from longwave.models.base.spec import ModelSpec


@dataclass(frozen=True)
class SimpleDelayWeights:
    """The five maps; b and b3 include the second biases."""

    U: Tensor
    U3: Tensor
    W1: Tensor
    W2: Tensor
    W3: Tensor
    b: Tensor
    b3: Tensor


class SimpleDelayGRU(Delayed[SimpleDelayWeights]):
    """Gated recurrent unit with an unweighted delay, (T, B, p) to (T, B, d).

    Source: Erichson, Lim, Mahoney 2022 (arXiv:2212.00228), eq. 12::

        g[n] = σ(W3 h[n] + U3 x[n])
        h[n+1] = (1 − g[n]) h[n] + g[n] tanh(W1 h[n] + W2 h[n-τ] + U x[n])

    h is 0 before the start. Each of the five maps has a bias, as the printed parameter counts show: ``b`` belongs
    to U, ``c`` to W. Weights and biases start as U(−1/√d, 1/√d). The read-out sees h. Trainable parameters: 3d² + 2dp +
    5d.

    Args:
        tau: 0 ≤ τ ≤ 100,000, in whole input steps; it may differ by member.
        input_size, hidden_size, members, batch_first: See ``Recurrence``.
    """

    WEIGHTS = SimpleDelayWeights
    PARAMS = (TAU,)

    def shapes(self) -> dict[str, tuple[int, ...]]:
        """Return U and U3 (d, p), W1, W2, W3 (d, d), and the bias of each, (d,)."""
        p, d = self.input_size, self.hidden_size
        maps: dict[str, tuple[int, ...]] = {"U": (d, p), "U3": (d, p), "W1": (d, d), "W2": (d, d), "W3": (d, d)}
        return {**maps, **dict.fromkeys(("b", "b3", "c1", "c2", "c3"), (d,))}

    def weights(self, tensors: Mapping[str, Tensor]) -> SimpleDelayWeights:
        """Return the weights, the biases of W added to those of U."""
        b = tensors["b"] + 1.0 * tensors["c1"] + 1.0 * tensors["c2"]
        return super().weights({**tensors, "b": b, "b3": tensors["b3"] + 1.0 * tensors["c3"]})

    def drive(self, x: Tensor, w: SimpleDelayWeights) -> tuple[Tensor, ...]:
        """Return the contributions of x and the biases to the candidate and to the gate."""
        return affine(w.U, x, w.b), affine(w.U3, x, w.b3)

    def next(self, u: tuple[Tensor, ...], h: Tensor, delayed: Tensor, w: SimpleDelayWeights) -> Tensor:
        """Return h[n+1], eq. 12."""
        candidate = tanh(affine(w.W1, h, affine(w.W2, delayed, u[0])))
        return lerp(h, candidate, sigmoid(affine(w.W3, h, u[1])))


MODEL = ModelSpec(
    name="simple_delay_gru",
    title="Simple delay GRU",
    family="delay",
    source="Erichson, Lim, Mahoney 2022, arXiv:2212.00228, eq. 12",
    layer=SimpleDelayGRU,
    lr=learning_rate(5e-4, 1e-2, "τ-GRU, Appendix G"),
    count=lambda p, d, q, **_: 3 * d * d + 2 * d * p + 5 * d + (d + 1) * q,
)
