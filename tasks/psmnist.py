"""Permuted MNIST: sequential MNIST with one fixed shuffle of the pixels, so that neighbours are far apart."""

from __future__ import annotations

import hashlib
from dataclasses import replace
from functools import cache

import torch
from torch import Tensor

from longwave.tasks.base.data import Data
from longwave.tasks.base.sequences import Sequences
from longwave.tasks.base.spec import changes, note
from longwave.tasks.formats.images import pick_choice, read_mnist, split_images
from longwave.tasks.smnist import SHARES
from longwave.tasks.smnist import TASK as SMNIST

DIGESTS = {
    "seed=12008": "60f334ea81656c7d064409b73a690778b8e05b776c2909bb378536d215fd46cc",
    "seed=5544": "7b6004e6368828a89a666ddc4a2ee1c07513244bff7c798704aaf9b03156ef70",
}
"""SHA-256 of each permutation's numbers, in decimal with a comma between: torch guarantees no stable generator."""


def draw_permutation(variant: str) -> Tensor:
    """Return the order in which a variant reads the 784 pixels: step k shows pixel ``order[k]``.

    Raises:
        ValueError: No such variant.
        RuntimeError: This version of torch draws another permutation than the papers'.
    """
    expected = pick_choice("psmnist", DIGESTS, variant)
    seed = int(variant.removeprefix("seed="))
    order = torch.randperm(784, generator=torch.Generator().manual_seed(seed))
    if hashlib.sha256(",".join(map(str, order.tolist())).encode()).hexdigest() != expected:
        raise RuntimeError(f"torch {torch.__version__} does not draw psmnist's permutation {variant}; use another one.")
    return order


@cache
def _load(variant: str) -> Data[Sequences]:
    order = draw_permutation(variant)
    return split_images(read_mnist("psmnist"), SHARES[""], lambda x: x.reshape(-1, 784, 1)[:, order])


TASK = replace(
    SMNIST,
    name="psmnist",
    title="Permuted sequential MNIST",
    summary="As smnist, with one fixed shuffle of the 784 pixels: neighbours lie far apart in time.",
    load=_load,
    recipes={
        **SMNIST.recipes,
        "": replace(SMNIST.recipe(""), clip=1.1),
        "tau_gru": changes(
            epochs=80,
            drops=(),
            clip=None,
            source="τ-GRU, Table 9; it prints no batch: LEM's",
            paper="taugru",
            unstated=("batch",),
        ),
        "unicornn": changes(
            batch=64,
            epochs=2600,
            drops=(650,),
            clip=None,
            source="UnICORNN, thesis Table 3.8 and §3.3, and code: η falls once in 2600 epochs",
            paper="thesis",
        ),
    },
    variant="seed=12008",
    variants="seed=12008: the permutation of coRNN and Lipschitz RNN; seed=5544: of LEM and UnICORNN; τ-GRU names none",
    protocols=(
        note(
            "the papers draw their 3000 validation images from torch's global generator, this task from"
            " RandomState(1234)",
            minor=True,
        ),
        note(
            "Lipschitz RNN feeds bytes from 0 to 255, this task byte / 255, and it holds out 2000 images", "lipschitz"
        ),
        note("τ-GRU names no permutation; its numbers are listed with seed=12008", "taugru"),
        note("LEM's Table 8 prints η = 3.5e-3 and Δt = 1.9, its code 7.3e-3 and 0.31", "lem", minor=True),
    ),
)
