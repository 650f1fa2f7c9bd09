"""LEM, the long expressive memory: two states that evolve on learned time scales."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

from torch import Tensor, lerp, sigmoid, tanh

from longwave.models.recurrence import Hyper, Recurrence, State, affine
from longwave.models.spec import ModelSpec, Param, Sizes, learning_rate

DT = Param("dt", "Δt", 0.01, 2.0, False, "steps", "Largest time step of both states.", "LEM, Appendix A: Δt < 2")


class LEM(Recurrence):
    """Long expressive memory, (T, B, p) to (T, B, d).

    Source: Rusch, Mishra, Erichson, Mahoney 2022 (arXiv:2110.04744), eq. 3::

        δ[n]  = Δt σ(W1 y[n-1] + V1 x[n] + b1)        δ̄[n] = Δt σ(W2 y[n-1] + V2 x[n] + b2)
        z[n]  = (1 − δ[n]) z[n-1] + δ[n] tanh(Wz y[n-1] + Vz x[n] + bz)
        y[n]  = (1 − δ̄[n]) y[n-1] + δ̄[n] tanh(Wy z[n] + Vy x[n] + by)

    As in the authors' code each of the eight maps carries a bias (the paper's form has four, which says the same):
    ``b`` belongs to V, ``c`` to W. Weights and biases start as U(−1/√d, 1/√d). The read-out sees y.

    Args:
        dt: Δt > 0, in input steps. Both states stay within [−1, 1] for Δt ≤ 1.
        input_size, hidden_size, members, batch_first: See ``Recurrence``.
    """

    STATE = ("y", "z")
    PARAMS = (DT,)

    def __init__(
        self,
        input_size: int,
        hidden_size: int,
        *,
        dt: Hyper = 1.0,
        members: int | None = None,
        batch_first: bool = False,
    ) -> None:
        super().__init__(input_size, hidden_size, members=members, batch_first=batch_first, dt=dt)

    def shapes(self) -> dict[str, tuple[int, ...]]:
        """Return V (d, p), W (d, d), b and c (d,) for the gates 1 and 2 and the candidates z and y."""
        p, d = self.input_size, self.hidden_size
        kinds: dict[str, tuple[int, ...]] = {"V": (d, p), "W": (d, d), "b": (d,), "c": (d,)}
        return {kind + gate: shape for kind, shape in kinds.items() for gate in ("1", "2", "z", "y")}

    def drive(self, x: Tensor, w: SimpleNamespace) -> tuple[Tensor, ...]:
        """Return V x + b of both gates and both candidates."""
        return (
            affine(w.V1, x, _total(w.b1, w.c1)),
            affine(w.V2, x, _total(w.b2, w.c2)),
            affine(w.Vz, x, _total(w.bz, w.cz)),
            affine(w.Vy, x, _total(w.by, w.cy)),
        )

    def step(self, u: tuple[Tensor, ...], state: State, w: SimpleNamespace) -> State:
        """Return (y[n], z[n]), eq. 3; ``lerp(a, b, δ)`` is (1 − δ) a + δ b."""
        y, z = state
        u1, u2, uz, uy = u
        delta = w.dt * sigmoid(affine(w.W1, y, u1))
        delta_bar = w.dt * sigmoid(affine(w.W2, y, u2))
        z = lerp(z, tanh(affine(w.Wz, y, uz)), delta)
        y = lerp(y, tanh(affine(w.Wy, z, uy)), delta_bar)
        return y, z


def _total(b: Tensor, c: Tensor) -> Tensor:
    """Return b + c. The factor gives c a gradient of its own: torch hands a plain sum's two terms the same memory,
    and clipping in place would then scale it twice."""
    return b + 1.0 * c


def _build(sizes: Sizes, members: int, **chosen: Any) -> LEM:
    return LEM(sizes.inputs, sizes.hidden, members=members, **chosen)


MODEL = ModelSpec(
    name="lem",
    title="LEM",
    source="Rusch et al., ICLR 2022, arXiv:2110.04744, eq. 3",
    params=LEM.PARAMS,
    lr=learning_rate(1e-4, 1e-1),
    build=_build,
    kaiming_readout=True,
)
