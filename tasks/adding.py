"""Adding problem: sum the two marked numbers of a long sequence."""

from __future__ import annotations

import re
from functools import cache, partial

import torch

from longwave.tasks.base.data import Data
from longwave.tasks.base.losses import MSE, mean_squared_error
from longwave.tasks.base.sequences import Sequences
from longwave.tasks.base.spec import Recipe, TaskSpec, changes
from longwave.tasks.formats.symbols import TEST_SEED, VALID_SEED
from longwave.tasks.trivial.constant import Mean

HELD_OUT = 1000
"""Sequences of the validation and of the test split."""


def sequences(length: int, seed: int, n: int) -> Sequences:
    """Return n sequences of T = ``length`` steps, inputs (n, T, 2), targets (n, 1).

    Channel 0 is u ~ U[0, 1). Channel 1 is 0 except for two ones: one uniform in the first ⌊T/2⌋ steps, one in the
    rest. The target is the sum of the two marked u.
    """
    g = torch.Generator().manual_seed(seed)
    values = torch.rand(n, length, generator=g)
    marks = torch.zeros(n, length)
    marks.scatter_(1, torch.randint(length // 2, (n, 1), generator=g), 1.0)
    marks.scatter_(1, torch.randint(length // 2, length, (n, 1), generator=g), 1.0)
    return Sequences(torch.stack((values, marks), -1), (values * marks).sum(1, keepdim=True))


@cache
def _load(variant: str) -> Data[Sequences]:
    match = re.fullmatch(r"N=([1-9]\d*)", variant)
    if not match or not 2 <= int(match[1]) <= 1_000_000:
        raise ValueError(
            f"adding takes a variant N=<steps> between N=2 and N=1000000, for example N=500, got {variant!r}."
        )
    make = partial(sequences, int(match[1]))
    return Data(valid=make(VALID_SEED, HELD_OUT), test=make(TEST_SEED, HELD_OUT), stream=make)


TASK = TaskSpec(
    name="adding",
    title="Adding problem",
    family="arithmetic",
    summary="Memory: add two numbers that lie up to N steps apart among distractors.",
    inputs=2,
    outputs=1,
    loss=mean_squared_error,
    metric=MSE,
    chance=1 / 6,
    load=_load,
    recipes={
        "": Recipe(
            hidden=128,
            batch=50,
            epochs=300,
            steps=100,
            source="LEM, Table 8: 30,000 steps, scored every 100",
            paper="lem",
        ),
        "cornn": changes(epochs=600, source="coRNN, Table 7: up to 60,000 steps", paper="cornn"),
    },
    variant="N=500",
    variants="N=<steps>; the papers print N = 500, 2000, 5000 and 10000",
    source="Hochreiter and Schmidhuber 1997; generated, fresh batches at every step",
    licence="generated, none",
    length="N",
    lag="up to N steps, N/2 on average",
    version="2",
    baselines={"mean": Mean()},
)
