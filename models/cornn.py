"""coRNN: a network of coupled, damped, driven oscillators."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import torch
from torch import Tensor, nn, tanh

from longwave.models.recurrence import Hyper, Recurrence, State, affine
from longwave.models.spec import ModelSpec, Param, Sizes, learning_rate

TABLE = "coRNN, Appendix A, Table 7"
DT = Param("dt", "Δt", 0.01, 0.1, True, "steps", "Time step of the discretised oscillators.", TABLE)
GAMMA = Param("gamma", "γ", 0.1, 10.0, True, "1", "Squared natural frequency.", TABLE, zero=True)
EPSILON = Param("epsilon", "ε", 0.1, 10.0, True, "1", "Damping of the velocity.", TABLE, zero=True)
DAMPING = ("explicit", "implicit")


class CoRNN(Recurrence):
    """Coupled oscillatory RNN, (T, B, p) to (T, B, d).

    Source: Rusch and Mishra 2021 (arXiv:2010.00951), eq. 3. With ``damping="explicit"``, as in all its experiments::

        z[n] = z[n-1] + Δt (tanh(W y[n-1] + 𝒲 z[n-1] + V x[n] + b) − γ y[n-1] − ε z[n-1])
        y[n] = y[n-1] + Δt z[n]

    With ``damping="implicit"`` ε z[n] replaces ε z[n-1], and so z[n] is the explicit sum without its damping term,
    divided by 1 + Δt ε. Weights start as U(−k, k), k = 1/√(p + 2d): one affine map over x, z and y, as in the
    authors' code for the adding, image and activity tasks. The read-out sees y. 𝒲 is ``Wz`` here.

    Args:
        dt: Δt > 0, in input steps.
        gamma, epsilon: γ ≥ 0 and ε ≥ 0, pure numbers. Stable, and |y|² + |z|²/γ ≤ d n Δt/γ, for ε > 1/2 and
            Δt < (2ε − 1)/(γ + ε²) (explicit) or Δt < (2ε − 1)/γ (implicit).
        damping: ``"explicit"`` or ``"implicit"``.
        input_size, hidden_size, members, batch_first: See ``Recurrence``.
    """

    STATE = ("y", "z")
    PARAMS = (DT, GAMMA, EPSILON)

    def __init__(
        self,
        input_size: int,
        hidden_size: int,
        *,
        dt: Hyper,
        gamma: Hyper,
        epsilon: Hyper,
        damping: str = "explicit",
        members: int | None = None,
        batch_first: bool = False,
    ) -> None:
        if damping not in DAMPING:
            raise ValueError(f"CoRNN: damping must be one of {', '.join(DAMPING)}, got {damping!r}.")
        self.damping = damping
        hyper = {"dt": dt, "gamma": gamma, "epsilon": epsilon}
        super().__init__(input_size, hidden_size, members=members, batch_first=batch_first, **hyper)

    def shapes(self) -> dict[str, tuple[int, ...]]:
        """Return V (d, p), W and Wz (d, d), b (d,)."""
        p, d = self.input_size, self.hidden_size
        return {"V": (d, p), "W": (d, d), "Wz": (d, d), "b": (d,)}

    def draw(self, name: str, weight: Tensor, generator: torch.Generator | None) -> None:
        """Fill ``weight`` with U(−k, k), k = 1/√(p + 2d)."""
        bound = (self.input_size + 2 * self.hidden_size) ** -0.5
        nn.init.uniform_(weight, -bound, bound, generator=generator)

    def drive(self, x: Tensor, w: SimpleNamespace) -> tuple[Tensor, ...]:
        """Return V x + b."""
        return (affine(w.V, x, w.b),)

    def step(self, u: tuple[Tensor, ...], state: State, w: SimpleNamespace) -> State:
        """Return (y[n], z[n]), eq. 3."""
        y, z = state
        force = tanh(affine(w.W, y, affine(w.Wz, z, u[0]))) - w.gamma * y
        if self.damping == "implicit":
            z = (z + w.dt * force) / (1 + w.dt * w.epsilon)
        else:
            z = z + w.dt * (force - w.epsilon * z)
        return y + w.dt * z, z


def _build(sizes: Sizes, members: int, **chosen: Any) -> CoRNN:
    return CoRNN(sizes.inputs, sizes.hidden, members=members, **chosen)


_STIFF = {"gamma": (1.0, 100.0), "epsilon": (1.0, 100.0)}

MODEL = ModelSpec(
    name="cornn",
    title="coRNN",
    source="Rusch and Mishra, ICLR 2021, arXiv:2010.00951, eq. 3",
    params=CoRNN.PARAMS,
    lr=learning_rate(1e-4, 1e-1, TABLE),
    build=_build,
    options={"damping": DAMPING},
    ranges={"adding": _STIFF},
)
