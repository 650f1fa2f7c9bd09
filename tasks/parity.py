"""Parity: whether a sequence of bits has an odd number of ones, trained on short sequences, tested on long ones."""

from __future__ import annotations

from functools import cache

import torch

from longwave.tasks.base.data import Data
from longwave.tasks.base.losses import ACCURACY, cross_entropy
from longwave.tasks.base.sequences import Sequences
from longwave.tasks.base.spec import Recipe, TaskSpec, note
from longwave.tasks.base.variants import FRESH
from longwave.tasks.formats.symbols import BY_LENGTH, ask_last, length_generalisation, seeded_generator
from longwave.tasks.trivial.constant import Majority


def sequences(shortest: int, longest: int, seed: int, n: int) -> Sequences:
    """Return n sequences of uniform bits, fed as 1 and 2; the class is their sum modulo 2."""
    g = seeded_generator(seed)
    lengths = torch.randint(shortest, longest + 1, (n,), generator=g)
    bits = torch.randint(2, (n, longest), generator=g)
    return ask_last(bits + 1, bits.cumsum(1) % 2, lengths)


@cache
def _load(variant: str) -> Data[Sequences]:
    return length_generalisation("parity", variant, sequences)


TASK = TaskSpec(
    name="parity",
    title="Parity",
    family="state tracking",
    summary="State tracking: a state that any bit may flip, on sequences longer than any in training.",
    inputs=3,
    outputs=2,
    targets="at every step",
    loss=cross_entropy,
    metric=ACCURACY,
    chance=100 / 2,
    load=_load,
    recipes={
        "": Recipe(
            hidden=64,
            batch=256,
            epochs=100,
            steps=200,
            source="ours: the budget of xLSTM's repository, experiments/parity_xlstm11.yaml, 20,000 steps scored every"
            " 200; it trains by AdamW with weight decay 0.1, warm-up and a cosine",
        )
    },
    variants=f"{FRESH}: other test sequences",
    source="Delétang et al. 2023, arXiv:2207.02098; lengths of xLSTM, arXiv:2405.04517; generated, fresh batches",
    licence="generated, none",
    length="3 to 40 in training, 40 to 256 in validation and test, uniform; padded at the end",
    lag="the whole sequence",
    tokens=3,
    protocols=(
        note(
            "validation sequences are as long as test sequences and have their own seed, as in xLSTM's repository,"
            " so the epoch is selected by generalisation; there are 1024 of them, xLSTM takes 8192",
            "xlstm",
            minor=True,
        ),
        note("xLSTM's repository counts the answer as a symbol, so its sequences are one symbol shorter", "xlstm"),
        note(
            "Grazzi et al. print scaled accuracy, (accuracy − chance) / (1 − chance), also of xLSTM; here it is"
            " accuracy",
            "grazzi2025",
            "xlstm",
        ),
    ),
    baselines={"majority": Majority(2)},
    further=BY_LENGTH,
)
