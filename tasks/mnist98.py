"""MNIST in pieces of eight pixels: a short task, made for studies of robustness."""

from __future__ import annotations

from dataclasses import replace
from functools import cache

from longwave.tasks.base.data import Data
from longwave.tasks.base.sequences import Sequences
from longwave.tasks.base.spec import changes, check_variant, note
from longwave.tasks.formats.images import read_mnist, split_images
from longwave.tasks.smnist import SHARES
from longwave.tasks.smnist import TASK as SMNIST


@cache
def _load(variant: str) -> Data[Sequences]:
    check_variant("mnist98", variant)
    return split_images(read_mnist("mnist98"), SHARES["lipschitz"], lambda x: x.reshape(-1, 98, 8))


TASK = replace(
    SMNIST,
    name="mnist98",
    title="MNIST in 98 steps",
    summary="Ten handwritten digits, eight pixels of a row a step: short enough for models to reach equal losses.",
    inputs=8,
    load=_load,
    recipes={
        "": replace(
            SMNIST.recipe(""), source="ours: LEM's sequential MNIST; nothing is printed for this task", paper=""
        ),
        "lipschitz_rnn": changes(
            clip=None,
            optimiser="sgd",
            numbers={"momentum": 0.9},
            source="Lipschitz RNN, Appendix (SGD with momentum) and code (0.9); the rest ours, not printed",
            paper="lipschitz",
            unstated=("hidden", "batch", "epochs"),
        ),
    },
    variants="",
    protocols=(
        note("Lipschitz RNN prints neither its units nor its η and epochs", "lipschitz"),
        note(
            "Lipschitz RNN prints accuracy under attack and the Hessian, this task the plain test accuracy", "lipschitz"
        ),
    ),
    source="Erichson et al. 2021, arXiv:2006.12070, Table 3; MNIST, each row in 3.5 pieces, byte / 255",
    length="98",
    lag="a whole image, 98 steps",
)
