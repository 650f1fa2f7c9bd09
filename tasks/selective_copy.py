"""Selective copy: repeat in order sixteen symbols that were scattered among blanks."""

from __future__ import annotations

from functools import cache, partial

import torch

from longwave.tasks.base.batch import NO_TARGET
from longwave.tasks.base.data import Data
from longwave.tasks.base.losses import ACCURACY, cross_entropy
from longwave.tasks.base.sequences import Sequences
from longwave.tasks.base.spec import Recipe, TaskSpec, check_variant, note
from longwave.tasks.formats.symbols import TEST_SEED, VALID_SEED, draw_distinct, seeded_generator
from longwave.tasks.trivial.constant import Majority

LENGTHS = {"T=256": 256, "T=4096": 4096}
"""Steps before the markers of each variant."""
LENGTH, SYMBOLS = 16, 14
"""Number of symbols to remember, and of different symbols: 1 ... 14."""
BLANK, MARKER = 0, SYMBOLS + 1
HELD_OUT = 1000
"""Sequences of the validation and of the test split."""


def sequences(length: int, seed: int, n: int) -> Sequences:
    """Return n sequences: ``length`` blanks with 16 uniform symbols at distinct uniform positions, then 16 markers.

    Only the steps of the markers have classes: the symbols minus 1, in order of position.
    """
    g = seeded_generator(seed)
    symbols = torch.randint(1, SYMBOLS + 1, (n, LENGTH), generator=g)
    positions = draw_distinct(n, LENGTH, torch.ones(length), g).sort(1).values
    shown = torch.full((n, length), BLANK).scatter(1, positions, symbols)
    inputs = torch.cat((shown, torch.full((n, LENGTH), MARKER)), 1).to(torch.int8)
    return Sequences(inputs, torch.cat((torch.full((n, length), NO_TARGET), symbols - 1), 1))


@cache
def _load(variant: str) -> Data[Sequences]:
    check_variant("selective_copy", variant, LENGTHS)
    make = partial(sequences, LENGTHS[variant])
    return Data(valid=make(VALID_SEED, HELD_OUT), test=make(TEST_SEED, HELD_OUT), stream=make)


TASK = TaskSpec(
    name="selective_copy",
    title="Selective copy",
    family="recall",
    summary="Selection: remember only the sixteen symbols at random positions among T steps.",
    inputs=MARKER + 1,
    outputs=SYMBOLS,
    targets="at every step",
    loss=cross_entropy,
    metric=ACCURACY,
    chance=100 / SYMBOLS,
    load=_load,
    recipes={
        "": Recipe(
            hidden=64,
            batch=64,
            epochs=400,
            steps=1000,
            source="Mamba, Appendix E.1: 400,000 steps, two layers, learning rate 1e-4",
            paper="mamba",
        )
    },
    variant="T=256",
    variants="T=4096 is Mamba's, T=256 is ours, for a CPU",
    source="Gu and Dao 2023 (Mamba), arXiv:2312.00752, in the form of S4's repository; generated, fresh batches",
    licence="generated, none",
    length="T + 16",
    lag="16 to T steps",
    tokens=MARKER + 1,
    protocols=(
        note(
            "sixteen tokens count the blank and the marker, so fourteen symbols are left, as in S4's repository",
            "mamba",
            minor=True,
        ),
    ),
    baselines={"majority": Majority(SYMBOLS)},
)
