"""IndRNN: stacked layers of independent neurons, each with one recurrent weight."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

import torch
from torch import Generator, Tensor, nn, relu

from longwave.models.base.algebra import affine
from longwave.models.base.layer import State
from longwave.models.base.param import OptionValue, learning_rate
from longwave.models.base.spec import ModelSpec
from longwave.models.base.stack import DROPOUT, Stacked


@dataclass(frozen=True)
class IndWeights:
    """One layer's weights."""

    V: Tensor
    w: Tensor
    b: Tensor


class IndRNN(Stacked[IndWeights]):
    """Independently recurrent network, (T, B, p) to (T, B, d).

    Source: Li et al. 2018 (arXiv:1803.04831), written from memory, not compared with the paper's text;
    layers l = 1 … L, h⁰ = x::

        h[n] = ReLU(V hˡ⁻¹[n] + w h[n-1] + b),    w a vector with |w| ≤ 2^(1/T_max)

    so that no neuron's memory grows by more than a factor of 2 over T_max steps: w is clipped after each update. w
    starts as U(0, 2^(1/T_max)), in the last layer as U(2^(−1/T_max), 2^(1/T_max)); V as U(−1/√k, 1/√k) for k inputs, b
    as 0. No batch normalisation. The read-out sees the last layer's h. Trainable parameters: dp + (L − 1) d² + 2Ld.

    Args:
        dropout: Share p of each layer's outputs set to 0 in training, one mask for all steps.
        layers: L, 1 to 6.
        input_size, hidden_size, members, batch_first, t_max: See ``Recurrence``.
    """

    WEIGHTS = IndWeights
    STATE = ("h",)
    PARAMS = (DROPOUT,)
    OPTIONS: ClassVar[Mapping[str, tuple[OptionValue, ...]]] = {"layers": (2, 1, 3, 4, 5, 6)}

    def layer_shapes(self, layer: int) -> dict[str, tuple[int, ...]]:
        """Return V (d, inputs), w and b (d,)."""
        d = self.hidden_size
        return {"V": (d, self.inputs(layer)), "w": (d,), "b": (d,)}

    def draw_layer(self, name: str, layer: int, weight: Tensor, generator: Generator | None) -> None:
        """Fill ``weight`` as in the paper."""
        largest, bound = 2 ** (1 / self.t_max), self.inputs(layer) ** -0.5
        least = 1 / largest if layer == self.layers else 0.0
        low, high = {"w": (least, largest), "b": (0.0, 0.0), "V": (-bound, bound)}[name]
        nn.init.uniform_(weight, low, high, generator=generator)

    def drive(self, x: Tensor, w: IndWeights) -> tuple[Tensor, ...]:
        """Return V x + b of one layer."""
        return (affine(w.V, x, w.b),)

    def step(self, u: tuple[Tensor, ...], state: State, w: IndWeights) -> State:
        """Return (h[n],) of one layer."""
        return (relu(u[0] + w.w * state[0]),)

    @torch.no_grad()
    def constrain(self) -> None:
        """Clip w of all layers to |w| ≤ 2^(1/T_max)."""
        largest = 2 ** (1 / self.t_max)
        for k in range(1, self.layers + 1):
            self.get_parameter(f"w{k}").clamp_(-largest, largest)


MODEL = ModelSpec(
    name="indrnn",
    title="IndRNN",
    family="plain",
    source="Li et al., CVPR 2018, arXiv:1803.04831",
    layer=IndRNN,
    lr=learning_rate(1e-4, 1e-1),
    count=lambda p, d, q, layers=2, **_: d * p + (layers - 1) * d * d + 2 * layers * d + (d + 1) * q,
    version="2",
)
