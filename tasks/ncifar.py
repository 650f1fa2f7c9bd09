"""Noise-padded CIFAR-10: classify a photograph read row by row, after a long stretch of noise."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import cache

import numpy as np
import torch
from torch import Tensor

from longwave.tasks.base.data import Data
from longwave.tasks.base.sequences import Sequences, Tail
from longwave.tasks.base.spec import changes, note
from longwave.tasks.formats.images import pick_choice, read_cifar10, split_images
from longwave.tasks.scifar import BY_SGD, SHARE
from longwave.tasks.scifar import TASK as SCIFAR

NOISE = (968, 96)
"""Steps and features of the noise."""
SEED = 1000
"""Of the one block of noise; the papers' seeds are unknown or depend on the version of torch."""
Tails = list[Tail]
"""Of the training, the validation and the test split."""


def image_rows(images: Tensor) -> Tensor:
    """Turn images (N, 3, 32, 32) into sequences (N, 32, 96): step r is row r in red, then in green, then in blue."""
    return images.permute(0, 2, 1, 3).reshape(-1, 32, 96)


def _fixed(values: np.ndarray) -> Tails:
    return [Tail(torch.from_numpy(values.astype(np.float32)))] * 3


def _normal() -> Tails:
    return _fixed(np.random.RandomState(SEED).standard_normal(NOISE))


def _uniform() -> Tails:
    return _fixed(np.random.RandomState(SEED).random_sample(NOISE))


def _per_sample() -> Tails:
    return [Tail(torch.zeros(NOISE), "normal", seed) for seed in (1, 2, 3)]


LAWS: dict[str, Callable[[], Tails]] = {"": _normal, "noise=uniform": _uniform, "noise=per_sample": _per_sample}


@cache
def _load(variant: str) -> Data[Sequences]:
    tails = pick_choice("ncifar", LAWS, variant)()
    return split_images(read_cifar10("ncifar"), SHARE, image_rows, tails)


TASK = replace(
    SCIFAR,
    name="ncifar",
    title="Noise-padded CIFAR-10",
    summary="Ten kinds of photographs in 32 steps, then 968 steps of noise: keep the answer and ignore the rest.",
    inputs=96,
    load=_load,
    recipes={
        "": replace(SCIFAR.recipe(""), source="LEM, Table 8; its code takes batches of 100", paper="lem"),
        "cornn": changes(batch=100, source="coRNN, Tables 2 and 7, and code", paper="cornn"),
        "lipschitz_rnn": SCIFAR.recipes["lipschitz_rnn"],
        "unicornn": changes(
            batch=30, epochs=500, drops=(250,), source="UnICORNN, thesis Table 3.8 and §3.3", paper="thesis"
        ),
        "tau_gru": SCIFAR.recipes["tau_gru"],
    },
    variants="empty: one block of N(0, 1) noise for all sequences, as all released code does; noise=uniform: one block "
    "of U[0, 1) noise, as coRNN's text says; noise=per_sample: N(0, 1) noise of its own for each sequence, the same in "
    "every epoch, as the texts of Lipschitz RNN and τ-GRU may be read",
    protocols=(
        note("coRNN trains on 47000 images, this task and the others on 48000", "cornn"),
        note(
            "the texts of coRNN and UnICORNN speak of uniform noise, their code draws N(0, 1), as here",
            "cornn",
            "thesis",
            minor=True,
        ),
        note("τ-GRU may mean noise of each sequence's own: see the variant noise=per_sample", "taugru"),
        note(
            "the papers draw their one block of noise in each run, this task keeps it fixed for all runs",
            minor=True,
        ),
        BY_SGD,
    ),
    source="Chang et al. 2019, arXiv:1902.09689; CIFAR-10, byte / 255; 48000 train, 2000 validate",
    length="1000",
    lag="968 steps of noise after the image",
)
