"""Neural-ODE RNN: the Lipschitz RNN without its linear part, with a free matrix."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from torch import Generator, Tensor, tanh

from longwave.models.base.algebra import affine
from longwave.models.base.layer import State
from longwave.models.base.param import learning_rate
from longwave.models.base.recurrence import Recurrence
from longwave.models.base.spec import ModelSpec
from longwave.models.lipschitz_rnn import EPSILON, SIGMA, draw_small


@dataclass(frozen=True)
class NeuralODEWeights:
    """W, U, b, ε."""

    W: Tensor
    U: Tensor
    b: Tensor
    epsilon: Tensor


class NeuralODERNN(Recurrence[NeuralODEWeights]):
    """Residual recurrent unit, (T, B, p) to (T, B, d).

    Source: Erichson et al. 2021 (arXiv:2006.12070), eq. 11, with an unconstrained W::

        h[n] = h[n-1] + ε tanh(W h[n-1] + U x[n] + b)

    The entries of W start as N(0, (σd/d)²), U and b as U(−1/√p, 1/√p). The read-out sees h. Trainable parameters: d²
    + dp + d.

    Args:
        epsilon: ε > 0, in input steps.
        sigma: σd > 0, scale of the initialisation.
        input_size, hidden_size, members, batch_first: See ``Recurrence``.
    """

    WEIGHTS = NeuralODEWeights
    STATE = ("h",)
    PARAMS = (EPSILON, SIGMA)

    def shapes(self) -> dict[str, tuple[int, ...]]:
        """Return W (d, d), U (d, p), b (d,)."""
        p, d = self.input_size, self.hidden_size
        return {"W": (d, d), "U": (d, p), "b": (d,)}

    def draw(self, name: str, weight: Tensor, hyper: Mapping[str, float], generator: Generator | None) -> None:
        """Fill ``weight``: normal for W, as torch.nn.Linear for U and b."""
        draw_small(name == "W", weight, hyper["sigma"] / self.hidden_size, self.input_size, generator)

    def drive(self, x: Tensor, w: NeuralODEWeights) -> tuple[Tensor, ...]:
        """Return U x + b."""
        return (affine(w.U, x, w.b),)

    def step(self, u: tuple[Tensor, ...], state: State, w: NeuralODEWeights) -> State:
        """Return (h[n],), eq. 11."""
        (h,) = state
        return (h + w.epsilon * tanh(affine(w.W, h, u[0])),)


MODEL = ModelSpec(
    name="neural_ode_rnn",
    title="neural-ODE RNN",
    family="ODE",
    source="Erichson et al., ICLR 2021, arXiv:2006.12070, eq. 11",
    layer=NeuralODERNN,
    lr=learning_rate(1e-4, 1e-1),
    count=lambda p, d, q, **_: d * d + d * p + d + (d + 1) * q,
)
