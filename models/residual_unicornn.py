"""Residual UnICORNN: UnICORNN with skip connections from a layer further below."""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

import torch
from torch import Generator, Tensor

from longwave.models.base.param import OptionValue, learning_rate
from longwave.models.base.spec import ModelSpec
from longwave.models.unicornn import MOST_LAYERS, UnICORNN, UnICORNNWeights, count


class ResidualUnICORNN(UnICORNN):
    """UnICORNN with skip connections, (T, B, p) to (T, B, d).

    Source: thesis, eqs. 3.79 and 3.80. The recursion is UnICORNN's; layers l > S are driven by two layers::

        V yˡ⁻¹[n] + Λ yˡ⁻ˢ⁻¹[n] + b    in place of    V yˡ⁻¹[n] + b

    Λ is (d, d), or (d, p) where layer l − S − 1 is the input. The source specifies no initialisation of it; here it
    starts as V does, all else as in UnICORNN, and the read-out sees the last layer's y. Trainable parameters:
    UnICORNN's and (L − S − 1) d² + dp.

    Args: ``skip`` is S, 2 or 3 and below ``layers``; for the others see ``UnICORNN``.
    """

    OPTIONS: ClassVar[Mapping[str, tuple[OptionValue, ...]]] = {
        "layers": (MOST_LAYERS, *range(3, MOST_LAYERS)),
        "skip": (2, 3),
        "multiscale": (True, False),
    }
    skip: int

    @classmethod
    def check_options(cls, options: Mapping[str, OptionValue]) -> None:
        """Refuse as many layers as are skipped: none of them would have a Λ."""
        if options["layers"] == options["skip"]:
            words = f"layers {options['layers']} with skip {options['skip']} has no skip connection"
            raise ValueError(f"{words}. Set layers above skip, up to {MOST_LAYERS}.")

    def layer_shapes(self, layer: int) -> dict[str, tuple[int, ...]]:
        """Return V, w, b, c, and Lambda (d, inputs of layer l − S) above layer S."""
        shapes = super().layer_shapes(layer)
        if layer > self.skip:
            shapes["Lambda"] = (self.hidden_size, self.inputs(layer - self.skip))
        return shapes

    def draw_layer(self, name: str, layer: int, weight: Tensor, generator: Generator | None) -> None:
        """Fill ``weight`` as in UnICORNN; Lambda as V of the layer whose input it shares."""
        if name == "Lambda":
            return super().draw_layer("V", layer - self.skip, weight, generator)
        return super().draw_layer(name, layer, weight, generator)

    def weights(self, tensors: Mapping[str, Tensor]) -> UnICORNNWeights:
        """Return one layer's weights, V and Λ concatenated if there is a Λ."""
        both = {"V": torch.cat([tensors["V"], tensors["Lambda"]], -1)} if "Lambda" in tensors else {}
        return super().weights({**tensors, **both})

    def reads(self, below: list[Tensor], layer: int) -> Tensor:
        """Return yˡ⁻¹, above layer S concatenated with yˡ⁻ˢ⁻¹, the input of Λ."""
        return torch.cat([below[-1], below[-1 - self.skip]], -1) if layer > self.skip else below[-1]


def _count(p: int, d: int, q: int, layers: int = MOST_LAYERS, skip: int = 2, **more: OptionValue) -> int:
    return count(p, d, q, layers=layers, **more) + (layers - skip - 1) * d * d + d * p  # type: ignore[arg-type]


MODEL = ModelSpec(
    name="residual_unicornn",
    title="Residual UnICORNN",
    family="oscillator",
    source="Rusch, thesis, eqs. 3.79 and 3.80",
    layer=ResidualUnICORNN,
    lr=learning_rate(1e-4, 1e-1),
    count=_count,
)
