"""Free runs from paths of dynamical systems: noise on the inputs, the noiseless path as the target."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import torch

from longwave.tasks.base.data import Data
from longwave.tasks.base.feedback import FreeRuns
from longwave.tasks.base.sequences import Sequences
from longwave.tasks.formats.ode import States

SIZES = {"train": 128, "valid": 128, "test": 512}
"""Series of each split, drawn in this order."""


@dataclass(frozen=True)
class FreeProtocol:
    """How a path becomes a free run.

    Attributes:
        centre, spread: Subtracted from every value, and divisor of the result: about mean and standard deviation of all
            series, so that errors and noise are in standard deviations.
        noise: Standard deviation of the noise on the inputs.
        warm: Given steps.
        horizon: Steps of the free run.
    """

    centre: float
    spread: float
    noise: float
    warm: int
    horizon: int

    @property
    def steps(self) -> int:
        """Steps of a path."""
        return self.warm + self.horizon

    def arrays(self, path: States, random: np.random.RandomState) -> dict[str, np.ndarray]:
        """Return inputs and targets from a path (steps, N, p) of all series, by name, float32."""
        clean = (path.swapaxes(0, 1) - self.centre) / self.spread
        noisy = clean + self.noise * draw_normal(random, clean.shape)
        ends = np.cumsum(list(SIZES.values()))[:-1]
        series = {}
        for split, truth, observed in zip(SIZES, np.split(clean, ends), np.split(noisy, ends), strict=True):
            series[f"{split}-shown"] = observed if split == "train" else observed[:, : self.warm]
            if split != "train":
                series[f"{split}-asked"] = truth[:, self.warm :]
        return {name: np.ascontiguousarray(values, dtype=np.float32) for name, values in series.items()}


def draw_normal(random: np.random.RandomState, shape: tuple[int, ...]) -> States:
    """Return nearly normal numbers of mean 0 and variance 1: sums of 12 uniform ones, bit-identical on any machine."""
    total = np.full(shape, -6.0)
    for _ in range(12):
        total += random.uniform(0, 1, shape)
    return total


def free_runs(arrays: Mapping[str, np.ndarray]) -> Data[Sequences]:
    """Return data to train on the next noisy value at each step, and to score free runs against the noiseless path."""
    tensors = {name: torch.from_numpy(values) for name, values in arrays.items()}
    observed = tensors["train-shown"]
    return Data(
        train=Sequences(observed[:, :-1].contiguous(), observed[:, 1:].contiguous()),
        valid=FreeRuns(tensors["valid-shown"], tensors["valid-asked"]),
        test=FreeRuns(tensors["test-shown"], tensors["test-asked"]),
    )
