"""What a trial's precision means."""

from __future__ import annotations

from typing import Any

import torch

from longwave.models.base.fused import Fusable
from longwave.models.base.layer import Layer
from longwave.models.kernels.dispatch import STORED
from longwave.platform.errors import ConfigError

PRECISIONS = {"float32": torch.float32, "float64": torch.float64, "bfloat16": torch.float32}
"""The type of weights, data and updates."""


def store_rows(layer: Layer[Any], precision: str) -> None:
    """Let a layer's fused loop store rows as the precision says: in bfloat16, or in float32 as it is.

    Raises:
        ConfigError: No loop that stores rows in bfloat16 can run here.
    """
    if precision != "bfloat16":
        return
    for part in layer.modules():
        if isinstance(part, Fusable):
            part.storage = precision
    way = layer.why()
    if way.path != STORED[precision]:
        raise ConfigError(f"precision bfloat16: {way.reason}. Use float32.")
