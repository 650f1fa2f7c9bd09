"""Types of a trial's precision."""

from __future__ import annotations

from typing import Any

import torch

from longwave.models.base.fused import Fusable
from longwave.models.base.layer import Layer
from longwave.models.kernels.dispatch import STORED
from longwave.platform.errors import ConfigError

PRECISIONS = {"float32": torch.float32, "float64": torch.float64, "bfloat16": torch.float32}
"""Type of weights, data and updates, by precision."""


def store_values(layer: Layer[Any], precision: str) -> None:
    """Make a layer's fused loop store values in bfloat16 if the precision requires it.

    Raises:
        ConfigError: No loop that stores values in bfloat16 is available here.
    """
    if precision != "bfloat16":
        return
    for part in layer.modules():
        if isinstance(part, Fusable):
            part.storage = precision
    route = layer.why()
    if route.path != STORED[precision]:
        raise ConfigError(f"precision bfloat16: {route.reason}. Use float32.")
