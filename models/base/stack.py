"""Stacked layers: layer l reads the outputs of layer l − 1 at the same step, as in UnICORNN and IndRNN."""

from __future__ import annotations

from collections.abc import Mapping
from types import SimpleNamespace
from typing import Any

import torch
from torch import Generator, Tensor

from longwave.models.base.algebra import affine
from longwave.models.base.param import Param
from longwave.models.base.recurrence import Generators, Recurrence, State

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


class Stacked(Recurrence):
    """``layers`` layers of equal width. Subclasses give ``STATE``, ``layer_shapes``, ``draw_layer``, ``step``.

    A weight called ``V`` is held as ``V1`` … ``VL``; inside a layer it is ``V`` again. Dropout is variational (Gal and
    Ghahramani 2016): one mask a sequence and layer, on the outputs and not on the recursion.
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
        """Return the features that a layer, from 1, reads."""
        return self.input_size if layer == 1 else self.hidden_size

    def shapes(self) -> dict[str, tuple[int, ...]]:
        """Return the shapes of all layers' weights."""
        layers = range(1, self.layers + 1)
        return {f"{name}{k}": shape for k in layers for name, shape in self.layer_shapes(k).items()}

    def draw(self, name: str, weight: Tensor, hyper: Mapping[str, float], generator: Generator | None) -> None:
        """Fill ``weight`` as its layer says."""
        kind = name.rstrip("0123456789")
        self.draw_layer(kind, int(name[len(kind) :]), weight, generator)

    def reads(self, below: list[Tensor], w: SimpleNamespace) -> Tensor:
        """Return what a layer's V reads, (M, T, B, ·), of the input and the outputs of all layers below it."""
        return below[-1]

    def drive(self, x: Tensor, w: SimpleNamespace) -> tuple[Tensor, ...]:
        """Return V x + b of one layer."""
        return (affine(w.V, x, w.b),)

    def readout(self, outputs: Tensor, state: State) -> Tensor:
        """Return the last output: the state itself has no dropout."""
        return outputs[:, -1]

    def scan(self, x: Tensor, state: State, w: SimpleNamespace, generators: Generators) -> tuple[Tensor, State]:
        """Return the last layer's outputs (M, T, B, d) and all layers' last states."""
        outputs, n = [x], len(self.STATE)
        last: list[Tensor] = []
        for k in range(self.layers):
            own = self._own(w, k + 1)
            y, ends = super().scan(self.reads(outputs, own), state[k * n : (k + 1) * n], own, generators)
            outputs.append(self._drop(y, w, generators))
            last += ends
        return outputs[-1], tuple(last)

    def _own(self, w: SimpleNamespace, layer: int) -> SimpleNamespace:
        own: dict[str, Any] = {p.name: getattr(w, p.name, None) for p in self.PARAMS}
        own |= {name: getattr(w, f"{name}{layer}") for name in self.layer_shapes(layer)}
        own["dt"] = getattr(w, f"dt_{layer}", own.get("dt"))
        return SimpleNamespace(**own)

    def _drop(self, y: Tensor, w: SimpleNamespace, generators: Generators) -> Tensor:
        if not self.training or not hasattr(w, "dropout"):
            return y
        rows, d = y.shape[2:]
        each = generators or [torch.default_generator] * len(y)
        draws = torch.stack([torch.rand(rows, d, generator=g) for g in each]).to(y)
        scale: Tensor = (draws >= w.dropout) / (1 - w.dropout).clamp_min(torch.finfo(y.dtype).tiny)
        return y * scale.unsqueeze(1)
