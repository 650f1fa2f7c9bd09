"""Sequential CIFAR-10: classify a colour photograph read pixel by pixel."""

from __future__ import annotations

from functools import cache

from torch import Tensor

from longwave.tasks.base.data import Data
from longwave.tasks.base.losses import ACCURACY, cross_entropy
from longwave.tasks.base.sequences import Sequences
from longwave.tasks.base.spec import Recipe, TaskSpec, changes, note
from longwave.tasks.formats.images import CIFAR10, CLASSES, pick_choice, read_cifar10, split_images
from longwave.tasks.trivial.constant import Majority

SHARE = 25
"""One in so many training images validates: 2000 of 50000."""
BY_SGD = note(
    "Lipschitz RNN's text names Adam; its η of 0.1 and factor of 0.2 belong to its code's SGD, which its recipe takes",
    "lipschitz",
)
"""Of both tasks made from CIFAR-10."""


def colours(images: Tensor) -> Tensor:
    """Turn images (N, 3, 32, 32) into sequences (N, 1024, 3): step 32 r + c is (red, green, blue) of pixel (r, c)."""
    return images.permute(0, 2, 3, 1).reshape(-1, 1024, 3)


def neighbours(images: Tensor) -> Tensor:
    """Turn images (N, 3, 32, 32) into sequences (N, 1024, 3): three pixels of a row in one colour, colour by colour."""
    return images.reshape(-1, 1024, 3)


ARRANGEMENTS = {"": colours, "neighbours": neighbours}


@cache
def _load(variant: str) -> Data[Sequences]:
    arrange = pick_choice("scifar", ARRANGEMENTS, variant)
    return split_images(read_cifar10("scifar"), SHARE, arrange)


TASK = TaskSpec(
    name="scifar",
    title="Sequential CIFAR-10",
    family="images",
    summary="Ten kinds of photographs, one of 1024 colour pixels a step: memory and expressivity at once.",
    inputs=3,
    outputs=CLASSES,
    loss=cross_entropy,
    metric=ACCURACY,
    chance=100 / CLASSES,
    load=_load,
    recipes={
        "": Recipe(
            hidden=128,
            batch=120,
            epochs=120,
            drops=(100,),
            source="ours: LEM's nCIFAR-10; it prints none for this task",
        ),
        "lipschitz_rnn": changes(
            hidden=256,
            batch=128,
            epochs=100,
            drops=(90,),
            optimiser="sgd",
            numbers={"momentum": 0.9, "drop_factor": 0.2},
            source="Lipschitz RNN, Table 8 and Appendix C; batch and momentum: code",
            paper="lipschitz",
        ),
        "tau_gru": changes(
            epochs=50, drops=(), source="τ-GRU, Table 9; it prints no batch: LEM's", paper="taugru", unstated=("batch",)
        ),
    },
    variants="empty: the three colours of one pixel a step, as the papers say; neighbours: three neighbouring pixels "
    "of one colour a step, all red before all green before all blue, as the released code of Lipschitz RNN does",
    protocols=(
        BY_SGD,
        note(
            "Lipschitz RNN's code has at times cropped, mirrored and normalised the images, this task feeds byte / 255",
            "lipschitz",
        ),
        note("τ-GRU prints neither its splits nor its preprocessing", "taugru"),
    ),
    source="Chang et al. 2019, arXiv:1902.09689; CIFAR-10, pixels row by row, byte / 255; 48000 train, 2000 validate",
    licence=CIFAR10.licence,
    length="1024",
    lag="a whole image, 1024 steps",
    files=CIFAR10,
    baselines={"majority": Majority(CLASSES)},
)
