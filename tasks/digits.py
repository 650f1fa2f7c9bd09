"""Sequential digits: classify a handwritten digit read pixel by pixel."""

from __future__ import annotations

from dataclasses import replace
from functools import cache

import numpy as np
import torch

from longwave.tasks.base.data import Data
from longwave.tasks.base.losses import ACCURACY, cross_entropy
from longwave.tasks.base.sequences import Sequences
from longwave.tasks.base.spec import TaskSpec, changes, check_variant, note
from longwave.tasks.smnist import TASK as SMNIST
from longwave.tasks.trivial.constant import Majority
from longwave.tasks.trivial.kernel import KernelRidge
from longwave.tasks.trivial.neighbours import Nearest
from longwave.tasks.trivial.rocket import MiniRocket

SIZES = {"train": 1197, "valid": 300, "test": 300}
"""Images of each split: consecutive pieces of one fixed shuffle."""
CORNN = changes(batch=120, clip=None, source="coRNN's sequential MNIST, Tables 1 and 7", paper="cornn")
LEM = replace(SMNIST.recipe(""), source="LEM's sequential MNIST, Table 8 and code")


def read_pixels(order: np.ndarray, features: int = 1) -> Data[Sequences]:
    """Return scikit-learn's 1797 digits as 64 pixels in [0, 1] in ``order``, (64,), ``features`` of them a step."""
    from sklearn.datasets import load_digits  # type: ignore[import-untyped]

    digits = load_digits()
    shuffle = np.random.RandomState(1234).permutation(len(digits.target))
    images = torch.from_numpy((digits.data[shuffle][:, order] / 16).astype(np.float32))
    labels = torch.from_numpy(digits.target[shuffle].astype(np.int64))
    sizes = list(SIZES.values())
    pieces = zip(images.unflatten(1, (-1, features)).split(sizes), labels.split(sizes), strict=True)
    train, valid, test = (Sequences(x.contiguous(), y) for x, y in pieces)
    return Data(train=train, valid=valid, test=test)


@cache
def _load(variant: str) -> Data[Sequences]:
    check_variant("digits", variant)
    return read_pixels(np.arange(64))


TASK = TaskSpec(
    name="digits",
    title="Sequential digits",
    family="images",
    summary="Ten handwritten digits, one of 64 pixels a step: real images without a download.",
    inputs=1,
    outputs=10,
    loss=cross_entropy,
    metric=ACCURACY,
    chance=None,
    load=_load,
    recipes={"": LEM, "cornn": CORNN},
    source="scikit-learn's bundled digits (UCI Optical Recognition of Handwritten Digits, test part)",
    licence="CC BY 4.0",
    length="64",
    lag="a whole image, 64 steps",
    protocols=(note("a surrogate of sequential MNIST for machines without it; no paper prints a number for it"),),
    baselines={
        "majority": Majority(10),
        "1-NN": Nearest(10),
        "kernel ridge": KernelRidge(10),
        "MiniRocket": MiniRocket(10),
    },
)
