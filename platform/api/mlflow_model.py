"""The model of ``mlflow.pyfunc.load_model``: a trained network, as from ``lw.load``."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import torch

from longwave.platform.api.loading import TrainedNetwork
from longwave.platform.errors import ConfigError
from longwave.platform.training.weights import read


def _load_pyfunc(path: str) -> LoadedModel:
    """Return the predictor of a weights file; MLflow calls this by its name.

    Raises:
        ConfigError: The file is damaged.
    """
    weights = read(Path(path))
    if weights is None:
        raise ConfigError(f"The model at {path} has no weights.")
    return LoadedModel(TrainedNetwork(weights))


class LoadedModel:
    """Predicts with the network, from arrays to arrays."""

    def __init__(self, network: TrainedNetwork) -> None:
        self.network = network

    def predict(self, x: Any, params: object = None) -> np.ndarray[Any, Any]:
        """Return what ``TrainedNetwork.predict`` does, for numbers (B, T, p) or tokens (B, T)."""
        return self.network.predict(torch.as_tensor(np.asarray(x))).numpy()
