"""What ``longwave bench kernels`` measures: the layer of each cell, and the sizes of the papers' tasks."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import torch

from longwave.models.base.recurrence import Recurrence
from longwave.models.base.spec import ModelSpec, Sizes
from longwave.models.cornn import CoRNN
from longwave.models.gru import GRU
from longwave.models.lem import LEM
from longwave.models.lipschitz_rnn import LipschitzRNN
from longwave.models.lstm import LSTM
from longwave.models.tau_gru import TauGRU
from longwave.models.unicornn import UnICORNN
from longwave.platform.registry import get_model, shipped_models


@dataclass(frozen=True)
class Size:
    """Sizes of one call: steps T, sequences B, features p, hidden d; and the lag τ of a cell with a delay."""

    steps: int
    batch: int
    inputs: int
    hidden: int
    lag: int = 65

    @property
    def shape(self) -> tuple[int, int, int]:
        """Shape of the input."""
        return self.steps, self.batch, self.inputs

    def __str__(self) -> str:
        return f"T={self.steps} B={self.batch} p={self.inputs} d={self.hidden}"


@dataclass(frozen=True)
class PackSize:
    """A pack of LEM: members, size of each, and threads; 0 means all of the machine."""

    members: int
    size: Size
    threads: int = 1


DT = 0.5
LAYERS: Mapping[str, Callable[..., Recurrence[Any]]] = {
    "lem": partial(LEM, dt=DT),
    "cornn": partial(CoRNN, dt=0.042, gamma=2.7, epsilon=4.7),
    "lipschitz_euler": partial(LipschitzRNN, epsilon=0.03, beta=0.75, gamma=0.001),
    "lipschitz_rk2": partial(LipschitzRNN, epsilon=0.03, beta=0.75, gamma=0.001, scheme="rk2"),
    "tau_gru": TauGRU,
    "lstm": LSTM,
    "gru": GRU,
    "unicornn": partial(UnICORNN, dt=0.2, alpha=10.0, layers=1),
}
"""The layer of each cell, with hyper-parameters as in published settings."""

FITZHUGH, PSMNIST = Size(1000, 32, 1, 16), Size(784, 128, 1, 128)
NCIFAR, ADDING = Size(1000, 120, 96, 128), Size(2000, 50, 2, 128)
EIGENWORMS = Size(17984, 8, 6, 32)
SHORT_ADDING = Size(500, 50, 2, 128)
"""Size at which every model's loop is timed with a vanishing gradient."""
ON_PROCESSOR: Mapping[str, Sequence[Size]] = dict.fromkeys(LAYERS, (FITZHUGH, PSMNIST)) | {
    "lem": (FITZHUGH, PSMNIST, NCIFAR, ADDING)
}
ON_GPU: Mapping[str, Sequence[Size]] = {
    "lem": (
        PSMNIST,
        NCIFAR,
        Size(10000, 50, 2, 128),
        Size(4000, 32, 2, 128),
        EIGENWORMS,
        FITZHUGH,
        Size(150, 128, 1, 1024),
        *(Size(784, batch, 1, 128) for batch in (1, 4, 16, 64, 256, 1024)),
    ),
    "cornn": (Size(784, 120, 1, 128), Size(784, 120, 1, 256)),
    "lipschitz_euler": (Size(784, 128, 1, 64), PSMNIST, Size(784, 128, 1, 256)),
    "lipschitz_rk2": (Size(784, 128, 1, 64), PSMNIST),
    "tau_gru": (PSMNIST, Size(5000, 50, 2, 128, 2000)),
    "lstm": (PSMNIST,),
    "gru": (PSMNIST,),
    "unicornn": (PSMNIST, Size(784, 128, 1, 256), EIGENWORMS, Size(2000, 128, 128, 128)),
}
PACKS_ON_PROCESSOR = (PackSize(16, FITZHUGH), PackSize(16, FITZHUGH, 0))
PACKS_ON_GPU = tuple(PackSize(members, FITZHUGH) for members in (2, 8, 16, 32, 128)) + (PackSize(64, EIGENWORMS),)


def make_layer(cell: str, size: Size, device: torch.device, members: int | None = None) -> Recurrence[Any]:
    """Return the layer of a cell or a model, from seed 0; parameters without default take the upper end of their
    range."""
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        if cell not in LAYERS:
            return _model_layer(get_model(cell), size, members).to(device)
        lag = {"tau": size.lag} if cell == "tau_gru" else {}
        return LAYERS[cell](size.inputs, size.hidden, members=members, **lag).to(device)


def recurrent_models() -> list[str]:
    """Return the models whose layer runs over time, by name."""
    return [name for name, spec in shipped_models().items() if issubclass(spec.layer, Recurrence)]


def _model_layer(spec: ModelSpec, size: Size, members: int | None) -> Recurrence[Any]:
    hyper: dict[str, Any] = {p.name: p.high for p in spec.space("") if p.name != "lr" and p.default is None}
    layer = spec.build(Sizes(size.inputs, size.hidden, 1, size.steps), members, **hyper)
    assert isinstance(layer, Recurrence)
    return layer
