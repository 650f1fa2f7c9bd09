"""LEM, the long expressive memory: two states that evolve on learned time scales."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

from torch import Generator, Tensor, lerp, nn, sigmoid, tanh

from longwave.models.base.algebra import affine
from longwave.models.base.layer import State
from longwave.models.base.param import OptionValue, Param, learning_rate
from longwave.models.base.recurrence import Recurrence
from longwave.models.base.spec import Best, ModelSpec

DT = Param(
    "dt", "Δt", 0.01, 2.0, False, "steps", "Largest time step of both states.", "LEM, Appendix A: Δt < 2", default=1.0
)
FLOOR = Param(
    "floor",
    "2⁻ⁱ",
    2**-7,
    1.0,
    True,
    "steps",
    "Smallest time step: δ and δ̄ are clipped from below.",
    "LEM, Appendix B, Fig. 6",
    searched=False,
    zero=True,
)


@dataclass(frozen=True)
class LEMWeights:
    """V, W and b by gate 1 and 2 and candidate z and y, with c added to b; Δt and the smallest step."""

    V: Mapping[str, Tensor]
    W: Mapping[str, Tensor]
    b: Mapping[str, Tensor]
    dt: Tensor
    floor: Tensor | None = None


class LEM(Recurrence[LEMWeights]):
    """Long expressive memory, (T, B, p) to (T, B, d).

    Source: Rusch, Mishra, Erichson, Mahoney 2022 (arXiv:2110.04744), eq. 3::

        δ[n]  = Δt σ(W1 y[n-1] + V1 x[n] + b1)        δ̄[n] = Δt σ(W2 y[n-1] + V2 x[n] + b2)
        z[n]  = (1 − δ[n]) z[n-1] + δ[n] tanh(Wz y[n-1] + Vz x[n] + bz)
        y[n]  = (1 − δ̄[n]) y[n-1] + δ̄[n] tanh(Wy z[n] + Vy x[n] + by)

    As in the authors' code each of the eight maps has a bias (``biases=8``): ``b`` belongs to V, ``c`` to W. The
    paper's form has four, which is equivalent. Weights and biases start as U(−1/√d, 1/√d); the read-out, which sees y,
    as N(0, 2/d). Trainable parameters: 4d² + 4dp + 8d.

    Args:
        dt: Δt > 0, in input steps. Both states stay within [−1, 1] for Δt ≤ 1.
        floor: Smallest δ and δ̄, the clipped gates of Appendix B's study (there Δt = 1).
        start: ``"chrono"`` starts all biases at 0 except b1 ~ −log U[1, T_max Δt − 1] (Appendix B.3).
        multiscale: False sets δ = δ̄ = Δt (Table 9), which leaves 2d² + 2dp + 4d trainable parameters.
        biases: 8 or 4.
        input_size, hidden_size, members, batch_first, t_max: See ``Recurrence``.
    """

    WEIGHTS = LEMWeights
    STATE = ("y", "z")
    PARAMS = (DT, FLOOR)
    OPTIONS: ClassVar[Mapping[str, tuple[OptionValue, ...]]] = {
        "start": ("uniform", "chrono"),
        "multiscale": (True, False),
        "biases": (8, 4),
    }
    start: str
    multiscale: bool
    biases: int

    @classmethod
    def relevant(cls, options: Mapping[str, OptionValue]) -> tuple[Param, ...]:
        """Return Δt, and the smallest step if there are gates."""
        return (DT, FLOOR) if options["multiscale"] else (DT,)

    @property
    def gates(self) -> str:
        """The candidates z and y, and the gates 1 and 2 if there are any."""
        return "zy12" if self.multiscale else "zy"

    def shapes(self) -> dict[str, tuple[int, ...]]:
        """Return V (d, p), W (d, d), b and c (d,) for the gates 1 and 2 and the candidates z and y."""
        p, d = self.input_size, self.hidden_size
        kinds: dict[str, tuple[int, ...]] = {"V": (d, p), "W": (d, d), "b": (d,)}
        if self.biases == 8:
            kinds["c"] = (d,)
        return {kind + gate: s for kind, s in kinds.items() for gate in ("12zy" if self.multiscale else "zy")}

    def weights(self, tensors: Mapping[str, Tensor]) -> LEMWeights:
        """Return the weights by gate."""
        # The factor gives c its own gradient tensor: torch shares one between the terms of a plain sum, and clipping in
        # place would then scale it twice.
        b = {k: tensors[f"b{k}"] if self.biases == 4 else tensors[f"b{k}"] + 1.0 * tensors[f"c{k}"] for k in self.gates}
        V, W = ({k: tensors[kind + k] for k in self.gates} for kind in "VW")
        return LEMWeights(V, W, b, tensors["dt"], tensors.get("floor"))

    def draw(self, name: str, weight: Tensor, hyper: Mapping[str, float], generator: Generator | None) -> None:
        """Fill ``weight`` with U(−1/√d, 1/√d), or a bias by chrono initialisation."""
        if self.start == "uniform" or weight.ndim == 2:
            return super().draw(name, weight, hyper, generator)
        weight.zero_()
        if name == "b1":
            longest = max(self.t_max * hyper["dt"] - 1, 1.0)
            nn.init.uniform_(weight, 1.0, longest, generator=generator).log_().neg_()

    def draw_readout(self, weight: Tensor, bias: Tensor, generator: Generator | None) -> None:
        """Fill the read-out: N(0, 2/d) for the weight, the bias as torch.nn.Linear's."""
        nn.init.normal_(weight, 0.0, (2 / self.hidden_size) ** 0.5, generator=generator)
        nn.init.uniform_(bias, -(self.hidden_size**-0.5), self.hidden_size**-0.5, generator=generator)

    def drive(self, x: Tensor, w: LEMWeights) -> tuple[Tensor, ...]:
        """Return V x + b of both candidates, and of both gates."""
        return tuple(affine(w.V[k], x, w.b[k]) for k in self.gates)

    def step(self, u: tuple[Tensor, ...], state: State, w: LEMWeights) -> State:
        """Return (y[n], z[n]), eq. 3; ``lerp(a, b, δ)`` is (1 − δ) a + δ b."""
        y, z = state
        uz, uy, *gates = u
        delta, delta_bar = self._steps(gates, y, w)
        z = lerp(z, tanh(affine(w.W["z"], y, uz)), delta)
        y = lerp(y, tanh(affine(w.W["y"], z, uy)), delta_bar)
        return y, z

    def _steps(self, gates: list[Tensor], y: Tensor, w: LEMWeights) -> tuple[Tensor, Tensor]:
        """Return δ[n] and δ̄[n]."""
        if not self.multiscale:
            return w.dt, w.dt
        delta = w.dt * sigmoid(affine(w.W["1"], y, gates[0]))
        delta_bar = w.dt * sigmoid(affine(w.W["2"], y, gates[1]))
        if w.floor is not None:
            return delta.maximum(w.floor), delta_bar.maximum(w.floor)
        return delta, delta_bar


def _count(p: int, d: int, q: int, multiscale: bool = True, biases: int = 8, **_: OptionValue) -> int:
    maps = 4 if multiscale else 2
    return maps * (d * d + d * p + d * biases // 4) + (d + 1) * q


MODEL = ModelSpec(
    name="lem",
    title="LEM",
    family="multiscale",
    source="Rusch et al., ICLR 2022, arXiv:2110.04744, eq. 3",
    layer=LEM,
    lr=learning_rate(1e-4, 1e-1),
    count=_count,
    best=(
        Best("adding N=10000", 128, {"lr": 0.0026, "dt": 0.0242}),
        Best("smnist", 128, {"lr": 0.0018, "dt": 0.21}, "the authors' code clips gradients at 1.0"),
        Best("psmnist", 128, {"lr": 0.0035, "dt": 1.9}, "the authors' code: lr 0.0073, Δt 0.31, clip 1.1"),
        Best("ncifar", 128, {"lr": 0.0018, "dt": 0.95}, "the authors' code: lr 0.00322, Δt 0.44"),
        Best("eigenworms", 32, {"lr": 0.0023, "dt": 0.0016}, "the authors' code: lr 0.00609, Δt 0.00017"),
        Best("bidmc32hr", 128, {"lr": 0.00156, "dt": 0.19}, "the authors' code: lr 0.00211, Δt 0.2371"),
        Best("fitzhugh_nagumo", 16, {"lr": 0.00904, "dt": 1.0}),
        Best("google12", 128, {"lr": 0.00089, "dt": 1.0}),
        Best("ptb_char", 1024, {"lr": 0.00066, "dt": 1.0}),
        Best("ptb_word", 256, {"lr": 0.00068, "dt": 1.0}),
    ),
    best_source="LEM, Appendix A, Table 8",
    printed={
        "without multi-scale gates": {"multiscale": False},
        "chrono init, Delta t=1": {"start": "chrono"},
        "no chrono init, Delta t=1": {},
    },
)
