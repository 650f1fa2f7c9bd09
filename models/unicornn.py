"""UnICORNN: stacked layers of undamped, independent, controlled oscillators."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

from torch import Generator, Tensor, nn, sigmoid, tanh

from longwave.models.base.algebra import affine
from longwave.models.base.layer import State
from longwave.models.base.param import OptionValue, Param, learning_rate
from longwave.models.base.spec import Best, ModelSpec
from longwave.models.base.stack import DROPOUT, Stacked
from longwave.models.kernels.cells import OSCILLATOR, by_hand

MOST_LAYERS = 6
DT = Param("dt", "Δt", 0.01, 1.0, True, "steps", "Largest time step of a neuron.", most=1.0)
ALPHA = Param("alpha", "α", 0.0, 30.0, False, "1", "Control: squared frequency added to every oscillator.", zero=True)
DTS = tuple(
    Param(
        f"dt_{k}",
        f"Δt{'₁₂₃₄₅₆'[k - 1]}",
        1e-5,
        1.0,
        True,
        "steps",
        f"Δt of layer {k} alone.",
        most=1.0,
        default="dt",
        searched=False,
    )
    for k in range(1, MOST_LAYERS + 1)
)


@dataclass(frozen=True)
class UnICORNNWeights:
    """One layer's weights, its Δt, and α."""

    V: Tensor
    w: Tensor
    b: Tensor
    c: Tensor
    dt: Tensor
    alpha: Tensor


class UnICORNN(Stacked[UnICORNNWeights]):
    """Undamped independent controlled oscillatory RNN, (T, B, p) to (T, B, d).

    Source: Rusch and Mishra 2021 (arXiv:2103.05487), in the thesis eq. 3.6; layers l = 1 … L, y⁰ = x::

        z[n] = z[n-1] − Δt σ(c) (tanh(w y[n-1] + V yˡ⁻¹[n] + b) + α y[n-1])
        y[n] = y[n-1] + Δt σ(c) z[n]

    w, b and c are vectors: a neuron sees its own past and the layer below. Each layer is a symplectic map and can be
    inverted exactly. Initialisation: w as U(0, 1), c as U(−0.1, 0.1), b as 0, V as Kaiming-uniform with slope 8, U(−k,
    k) with k² = 6/(65 · inputs); the read-out, of the last layer's y, as N(0, 2/d), its bias as 0. Trainable
    parameters: (dp + 3d) + (L − 1)(d² + 3d).

    Args:
        dt: 0 < Δt ≤ 1, in input steps, of all layers.
        dt_1 … dt_6: Δt of a single layer.
        alpha: α ≥ 0. Bounded states need (Δt σ(c))² (α + w) < 4.
        dropout: Share p of each layer's outputs set to 0 in training, one mask for all steps.
        layers: L, 1 to 6.
        multiscale: Whether c is trained; if not, it keeps its initial value, and there are L d parameters fewer.
        input_size, hidden_size, members, batch_first: See ``Recurrence``.
    """

    WEIGHTS = UnICORNNWeights
    STATE = ("y", "z")
    PARAMS = (DT, ALPHA, DROPOUT, *DTS)
    OPTIONS: ClassVar[Mapping[str, tuple[OptionValue, ...]]] = {
        "layers": (3, *(k for k in range(1, MOST_LAYERS + 1) if k != 3)),
        "multiscale": (True, False),
    }
    multiscale: bool

    @classmethod
    def relevant(cls, options: Mapping[str, OptionValue]) -> tuple[Param, ...]:
        """Return the parameters of as many layers as there are."""
        return (DT, ALPHA, DROPOUT, *DTS[: int(options["layers"])])

    def layer_shapes(self, layer: int) -> dict[str, tuple[int, ...]]:
        """Return V (d, inputs), w, b and c (d,)."""
        d = self.hidden_size
        return {"V": (d, self.inputs(layer)), "w": (d,), "b": (d,), "c": (d,)}

    def untrained(self) -> frozenset[str]:
        """Return the names of c if it is not trained."""
        return frozenset() if self.multiscale else frozenset(f"c{k}" for k in range(1, self.layers + 1))

    def draw_layer(self, name: str, layer: int, weight: Tensor, generator: Generator | None) -> None:
        """Fill ``weight`` as in the thesis, §3.4."""
        bound = (6 / (65 * self.inputs(layer))) ** 0.5
        low, high = {"w": (0.0, 1.0), "b": (0.0, 0.0), "c": (-0.1, 0.1)}.get(name, (-bound, bound))
        nn.init.uniform_(weight, low, high, generator=generator)

    def draw_readout(self, weight: Tensor, bias: Tensor, generator: Generator | None) -> None:
        """Fill the read-out: N(0, 2/d), bias 0."""
        nn.init.normal_(weight, 0.0, (2 / self.hidden_size) ** 0.5, generator=generator)
        bias.zero_()

    def drive(self, x: Tensor, w: UnICORNNWeights) -> tuple[Tensor, ...]:
        """Return V x + b of one layer."""
        return (affine(w.V, x, w.b),)

    @by_hand(OSCILLATOR)
    def step(self, u: tuple[Tensor, ...], state: State, w: UnICORNNWeights) -> State:
        """Return (y[n], z[n]) of one layer, eq. 3.6."""
        y, z = state
        z = z - w.dt * sigmoid(w.c) * (tanh(w.w * y + u[0]) + w.alpha * y)
        return y + w.dt * sigmoid(w.c) * z, z


def count(p: int, d: int, q: int, layers: int = 3, multiscale: bool = True, **_: OptionValue) -> int:
    """Return the trainable parameters of the layers and the read-out."""
    vectors = 3 if multiscale else 2
    return d * p + (layers - 1) * d * d + layers * vectors * d + (d + 1) * q


MODEL = ModelSpec(
    name="unicornn",
    title="UnICORNN",
    family="oscillator",
    source="Rusch and Mishra, ICML 2021, arXiv:2103.05487; thesis, eq. 3.6",
    layer=UnICORNN,
    lr=learning_rate(1e-4, 1e-1),
    count=count,
    best=(
        Best(
            "ncifar", 128, {"lr": 3.14e-2, "dropout": 0.1, "dt": 0.126, "alpha": 13.0}, "the authors' log: lr 3.14e-3"
        ),
        Best("psmnist", 128, {"lr": 1.14e-3, "dropout": 0.1, "dt": 0.482, "alpha": 12.53}),
        Best("psmnist", 256, {"lr": 2.51e-3, "dropout": 0.1, "dt": 0.19, "alpha": 30.65}),
        Best(
            "imdb",
            128,
            {"lr": 1.67e-4, "dropout": 0.61, "dt_1": 6.6e-3, "dt": 0.205, "alpha": 0.0, "layers": 2},
            "the authors' log: lr 0.000164; dropout 0.65 of whole words",
        ),
        Best(
            "eigenworms",
            32,
            {"lr": 8.59e-3, "dropout": 0.0, "dt_1": 2.81e-5, "dt": 3.43e-2, "alpha": 0.0, "layers": 2},
            "the authors' log: lr 0.0076",
        ),
        Best("bidmc32rr", 128, {"lr": 3.98e-3, "dropout": 0.1, "dt": 0.011, "alpha": 9.0}),
        Best("bidmc32hr", 128, {"lr": 2.88e-3, "dropout": 0.1, "dt": 0.046, "alpha": 10.0}),
    ),
    best_source="thesis, Table 3.8",
)
