"""Sequential MNIST: classify a handwritten digit read pixel by pixel."""

from __future__ import annotations

from functools import cache

from longwave.tasks.base.data import Data
from longwave.tasks.base.losses import ACCURACY, cross_entropy
from longwave.tasks.base.sequences import Sequences
from longwave.tasks.base.spec import Recipe, TaskSpec, changes, note
from longwave.tasks.formats.images import CLASSES, MNIST, pick_choice, read_mnist, split_images
from longwave.tasks.trivial.constant import Majority

SHARES = {"": 20, "lipschitz": 30}
"""One in so many training images validates, by variant: 3000 or 2000 of 60000."""


@cache
def _load(variant: str) -> Data[Sequences]:
    share = pick_choice("smnist", SHARES, variant)
    return split_images(read_mnist("smnist"), share, lambda x: x.reshape(-1, 784, 1))


TASK = TaskSpec(
    name="smnist",
    title="Sequential MNIST",
    family="images",
    summary="Ten handwritten digits, one of 784 pixels a step: the strokes must be remembered over rows of background.",
    inputs=1,
    outputs=CLASSES,
    loss=cross_entropy,
    metric=ACCURACY,
    chance=None,
    load=_load,
    recipes={
        "": Recipe(
            hidden=128,
            batch=128,
            epochs=120,
            drops=(100,),
            clip=1.0,
            source="LEM, Table 8 and code (clipping)",
            paper="lem",
        ),
        "cornn": changes(batch=120, clip=None, source="coRNN, Tables 1 and 7, and code", paper="cornn"),
        "lipschitz_rnn": changes(
            epochs=100,
            drops=(90,),
            clip=None,
            source="Lipschitz RNN, Table 8 and Appendix C; batch: code",
            paper="lipschitz",
        ),
        "tau_gru": changes(
            epochs=60,
            drops=(),
            clip=None,
            source="τ-GRU, Table 9; it prints no batch: LEM's",
            paper="taugru",
            unstated=("batch",),
        ),
    },
    variants="empty: 57000 images to train, 3000 to validate, as coRNN and LEM; lipschitz: 58000 and 2000, as its code",
    protocols=(
        note(
            "coRNN and LEM draw their validation images from torch's global generator, this task from"
            " RandomState(1234)",
            "cornn",
            "lem",
            minor=True,
        ),
        note("coRNN prints the accuracy of the last epoch, not of the epoch that validates best", "cornn"),
        note("Lipschitz RNN's code selects no epoch by validation, this task the best one", "lipschitz"),
        note("τ-GRU prints neither its splits nor its batch", "taugru"),
    ),
    source="Le et al. 2015, arXiv:1504.00941; MNIST, pixels row by row, byte / 255",
    licence=MNIST.licence,
    length="784",
    lag="a whole image, 784 steps",
    files=MNIST,
    baselines={"majority": Majority(CLASSES)},
)
