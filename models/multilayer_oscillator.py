"""Multi-layer neural oscillator: stacked layers of independent oscillators y'' = tanh(w y + V u + b)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

from torch import Generator, Tensor, nn

from longwave.models.base.algebra import affine
from longwave.models.base.layer import State
from longwave.models.base.param import OptionValue, learning_rate
from longwave.models.base.spec import ModelSpec
from longwave.models.base.stack import DROPOUT, Stacked
from longwave.models.neural_oscillator import ACTIVATIONS, DT, OSCILLATOR, oscillate


@dataclass(frozen=True)
class MultilayerWeights:
    """One layer's weights and its Δt."""

    V: Tensor
    w: Tensor
    b: Tensor
    dt: Tensor


class MultilayerOscillator(Stacked[MultilayerWeights]):
    """Multi-layer neural oscillator, (T, B, p) to (T, B, d).

    Source: Lanthaler, Rusch, Mishra 2023 (arXiv:2305.08753), in the thesis eq. 4.2; layers l = 1 … L, y⁰ = u::

        y'' = s(w y + V yˡ⁻¹ + b),    w a vector

    in the two schemes of ``NeuralOscillator``, layer by layer: a layer is driven by the layer below at the same step.
    As a differential equation it is the general form with a block-bidiagonal W (eq. 4.3); the steps differ by O(Δt),
    and with several layers both schemes are of order 1. Three layers suffice for universality. The source specifies no
    initialisation: weights and biases start as U(−1/√k, 1/√k), with k the number of the layer's inputs for V and d
    otherwise. The read-out sees the last layer's y. Trainable parameters: dp + (L − 1) d² + 2Ld.

    Args:
        dt: Δt > 0, in input steps, of all layers.
        dropout: Share p of each layer's outputs set to 0 in training, one mask for all steps.
        layers: L, 1 to 6.
        scheme, activation: See ``NeuralOscillator``.
        input_size, hidden_size, members, batch_first: See ``Recurrence``.
    """

    WEIGHTS = MultilayerWeights
    STATE = ("y", "z")
    PARAMS = (DT, DROPOUT)
    OPTIONS: ClassVar[Mapping[str, tuple[OptionValue, ...]]] = {"layers": (3, 1, 2, 4, 5, 6), **OSCILLATOR}
    scheme: str
    activation: str

    def layer_shapes(self, layer: int) -> dict[str, tuple[int, ...]]:
        """Return V (d, inputs), w and b (d,)."""
        d = self.hidden_size
        return {"V": (d, self.inputs(layer)), "w": (d,), "b": (d,)}

    def draw_layer(self, name: str, layer: int, weight: Tensor, generator: Generator | None) -> None:
        """Fill ``weight`` with U(−1/√k, 1/√k)."""
        bound = (self.inputs(layer) if name == "V" else self.hidden_size) ** -0.5
        nn.init.uniform_(weight, -bound, bound, generator=generator)

    def drive(self, x: Tensor, w: MultilayerWeights) -> tuple[Tensor, ...]:
        """Return V x + b of one layer."""
        return (affine(w.V, x, w.b),)

    def step(self, u: tuple[Tensor, ...], state: State, w: MultilayerWeights) -> State:
        """Return (y[n], z[n]) of one layer."""
        s = ACTIVATIONS[self.activation]
        return oscillate(lambda y: s(w.w * y + u[0]), state, w.dt, self.scheme)


MODEL = ModelSpec(
    name="multilayer_oscillator",
    title="Multi-layer neural oscillator",
    family="oscillator",
    source="Lanthaler, Rusch, Mishra, NeurIPS 2023, arXiv:2305.08753; thesis, eq. 4.2",
    layer=MultilayerOscillator,
    lr=learning_rate(1e-4, 1e-1),
    count=lambda p, d, q, layers=3, **_: d * p + (layers - 1) * d * d + 2 * layers * d + (d + 1) * q,
)
