"""EigenWorms: distinguish five kinds of worm by almost 18,000 steps of their motion."""

from __future__ import annotations

import math
from functools import cache

import numpy as np
import torch

from longwave.tasks.base.cache import cached
from longwave.tasks.base.data import Data
from longwave.tasks.base.losses import ACCURACY, cross_entropy
from longwave.tasks.base.raw import Remote, Source, fingerprint
from longwave.tasks.base.sequences import Sequences
from longwave.tasks.base.spec import Recipe, TaskSpec, changes, check_variant, note
from longwave.tasks.formats.ts_files import both_parts
from longwave.tasks.trivial.constant import Majority
from longwave.tasks.trivial.neighbours import Nearest
from longwave.tasks.trivial.rocket import MiniRocket

STEPS, FEATURES, CLASSES = 17984, 6, 5
SEED = 1234
"""Of both shuffles, as in LEM's code."""
FILES = Source(
    name="eigenworms",
    title="EigenWorms",
    licence="none stated; cite Bagnall et al. 2018 and Brown et al. 2013",
    needs=("EigenWorms_TRAIN.ts", "EigenWorms_TEST.ts"),
    remotes=(
        Remote("https://www.timeseriesclassification.com/aeon-toolkit/EigenWorms.zip", "EigenWorms.zip", unpack=True),
    ),
    by_hand="Or unpack EigenWorms.zip of timeseriesclassification.com and give its folder.",
    counts={"series": 259, "different series": 236},  # 236: Walker et al. 2024, who drop duplicates
)


def split_indices(n: int, share: float) -> tuple[np.ndarray, np.ndarray]:
    """Return the indices that scikit-learn's ``train_test_split(test_size=share, random_state=1234)`` gives."""
    order = np.random.RandomState(SEED).permutation(n)
    held_out = math.ceil(n * share)
    return order[held_out:], order[:held_out]


def _parse() -> dict[str, np.ndarray]:
    """Return the series of TRAIN, then those of TEST, and their classes."""
    arrays = both_parts(FILES, STEPS, FEATURES, CLASSES)
    FILES.check_count("different series", len({series.tobytes() for series in arrays["values"]}), at_least=True)
    return arrays


@cache
def _load(variant: str) -> Data[Sequences]:
    check_variant("eigenworms", variant)
    folder = FILES.locate("eigenworms")
    arrays = cached(f"eigenworms-2-{fingerprint(folder / name for name in FILES.needs)}", _parse)
    values, labels = torch.from_numpy(arrays["values"]), torch.from_numpy(arrays["labels"])
    train, held_out = split_indices(len(values), 0.3)
    valid, test = (held_out[half] for half in split_indices(len(held_out), 0.5))

    def split(index: np.ndarray) -> Sequences:
        return Sequences(values[index], labels[index])

    return Data(train=split(train), valid=split(valid), test=split(test))


EARLIER = "UnICORNN as in the thesis, §3.3, and its code"


TASK = TaskSpec(
    name="eigenworms",
    title="EigenWorms",
    family="physiology and motion",
    summary="Very long real series: wild type or one of four mutants, by six coefficients of a worm's motion.",
    inputs=FEATURES,
    outputs=CLASSES,
    loss=cross_entropy,
    metric=ACCURACY,
    chance=None,
    load=_load,
    recipes={
        "": Recipe(hidden=32, batch=8, epochs=50, source="LEM, Tables 2 and 8 and the authors' code", paper="lem"),
        "unicornn": changes(epochs=250, source=EARLIER, paper="thesis"),
        "cornn": changes(epochs=250, source=EARLIER, paper="thesis"),
        "indrnn": changes(epochs=250, source=EARLIER, paper="thesis"),
        "exprnn": changes(hidden=64, epochs=250, source=EARLIER, paper="thesis"),
    },
    source="UEA archive (Bagnall et al. 2018), Brown et al. 2013; TRAIN and TEST merged and split again, 181/39/39",
    licence=FILES.licence,
    length="17984",
    lag="LEM's Table 11: the last 500 steps, or 200 steps at random, do not suffice",
    protocols=(
        note("UnICORNN's code gives no seed of the split; this task takes LEM's", "thesis"),
        note("the test split has 39 series: one more right is 2.6 %", minor=True),
    ),
    files=FILES,
    baselines={"majority": Majority(CLASSES), "1-NN": Nearest(CLASSES), "MiniRocket": MiniRocket(CLASSES)},
)
