"""Stacked layers: layer l reads the outputs of layer l − 1 at the same step, as in UnICORNN and IndRNN."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Generic

import torch
from torch import Generator, Tensor

from longwave.models.base.dropout import dropped
from longwave.models.base.layer import Generators, State
from longwave.models.base.param import Param
from longwave.models.base.recurrence import Recurrence
from longwave.models.base.weights import W

DROPOUT = Param(
    "dropout",
    "p",
    0.0,
    0.6,
    False,
    "1",
    "Share of a layer's outputs set to zero, the same at every step of a sequence.",
    zero=True,
    most=1.0,
    searched=False,
)


class Stacked(Recurrence[W], Generic[W]):
    """``layers`` layers of equal width. Subclasses define what a single-layer recurrence does, with ``layer_shapes``
    and ``draw_layer`` in place of ``shapes`` and ``draw``.

    A weight ``V`` is stored as ``V1`` … ``VL``; inside a layer it is ``V``. Dropout is variational (Gal and
    Ghahramani 2016): one mask per sequence and layer, on the outputs and not on the recurrence.
    """

    layers: int

    def state_shapes(self) -> dict[str, tuple[int, ...]]:
        """Return the shapes of all layers' states: y1, z1, y2, z2, ..."""
        layers = range(1, self.layers + 1)
        return {f"{name}{k}": (self.hidden_size,) for k in layers for name in self.STATE}

    def layer_shapes(self, layer: int) -> dict[str, tuple[int, ...]]:
        """Return the shape of each weight of one layer, from 1, of one member."""
        raise NotImplementedError

    def draw_layer(self, name: str, layer: int, weight: Tensor, generator: Generator | None) -> None:
        """Fill one member's weight ``name`` of one layer in place."""
        raise NotImplementedError

    def inputs(self, layer: int) -> int:
        """Return the number of input features of a layer, counted from 1."""
        return self.input_size if layer == 1 else self.output_size

    def shapes(self) -> dict[str, tuple[int, ...]]:
        """Return the shapes of all layers' weights."""
        layers = range(1, self.layers + 1)
        return {f"{name}{k}": shape for k in layers for name, shape in self.layer_shapes(k).items()}

    def draw(self, name: str, weight: Tensor, hyper: Mapping[str, float], generator: Generator | None) -> None:
        """Fill ``weight`` as its layer does."""
        kind = self.kind(name)
        self.draw_layer(kind, int(name[len(kind) :]), weight, generator)

    def kind(self, name: str) -> str:
        """Return the name of a weight inside its layer."""
        return name.rstrip("0123456789")

    def of_layer(self, tensors: Mapping[str, Tensor], layer: int) -> dict[str, Tensor]:
        """Return the weights and hyper-parameters of one layer, from 1, under their names inside it."""
        weights = {p.name: tensors[p.name] for p in self.PARAMS if p.name in tensors}
        weights |= {name: tensors[f"{name}{layer}"] for name in self.layer_shapes(layer)}
        return weights | ({"dt": tensors[f"dt_{layer}"]} if f"dt_{layer}" in tensors else {})

    def reads(self, below: list[Tensor], layer: int) -> Tensor:
        """Return the input of a layer's V, (M, T, B, ·), from the input and the outputs of all layers below."""
        return below[-1]

    def readout(self, outputs: Tensor, state: State) -> Tensor:
        """Return the last layer's output after the last step: its state, up to dropout."""
        return outputs[..., -1, :, :] if self._rate() is not None else self._output(state[-len(self.STATE) :])

    def loops(self) -> list[int]:
        """Return the number of input features of each layer."""
        below, sizes = [torch.empty(1, 1, 1, self.input_size, device="meta")], list[int]()
        for k in range(1, self.layers + 1):
            sizes.append(self.reads(below, k).shape[-1])
            below.append(torch.empty(1, 1, 1, self.output_size, device="meta"))
        return sizes

    def loop_weights(self, tensors: Mapping[str, Tensor], loop: int = 0) -> W:
        """Return the inputs of one layer."""
        return self.weights(self.of_layer(tensors, loop + 1))

    def run(self, x: Tensor, state: State, generators: Generators) -> tuple[Tensor, State]:
        """Return the last layer's outputs (M, T, B, OUTPUTS d) and all layers' last states."""
        outputs, n = [x], len(self.STATE)
        last: list[Tensor] = []
        rate = self._rate()
        for k in range(self.layers):
            y, ends = self.through(self.reads(outputs, k + 1), state[k * n : (k + 1) * n], generators, k)
            outputs.append(y if rate is None else dropped(y, rate.to(y.dtype), generators))
            last += ends
        return outputs[-1], tuple(last)

    def _rate(self) -> Tensor | None:
        """Return the dropout rate, or None."""
        return getattr(self, "dropout", None) if self.training else None
