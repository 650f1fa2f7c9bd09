"""Induction heads: when the special token comes again, output the token that followed it the first time."""

from __future__ import annotations

from functools import cache, partial

import torch

from longwave.tasks.base.data import Data
from longwave.tasks.base.losses import ACCURACY, cross_entropy
from longwave.tasks.base.sequences import Sequences
from longwave.tasks.base.spec import Recipe, TaskSpec, check_variant, note
from longwave.tasks.formats.symbols import TEST_SEED, VALID_SEED, seeded_generator
from longwave.tasks.trivial.constant import Majority

TRAINING = 256
"""Steps of a training sequence."""
LENGTHS = {"T=256": 256, "T=1024": 1024, "T=4096": 4096}
"""Steps of a validation and of a test sequence of each variant."""
SYMBOLS = 15
"""Ordinary tokens, 0 ... 14."""
SPECIAL = SYMBOLS
HELD_OUT = 1000
"""Sequences of the validation and of the test split."""


def sequences(length: int, seed: int, n: int) -> Sequences:
    """Return n sequences of uniform ordinary tokens, with the special token at a uniform position and at the last step.

    The class, at the last step, is the token after the first special one, always an ordinary one.
    """
    g = seeded_generator(seed)
    tokens = torch.randint(SYMBOLS, (n, length), generator=g)
    position = torch.randint(length - 2, (n, 1), generator=g)
    tokens.scatter_(1, position, SPECIAL)
    tokens[:, -1] = SPECIAL
    return Sequences(tokens.to(torch.int8), tokens.gather(1, position + 1).squeeze(1))


@cache
def _load(variant: str) -> Data[Sequences]:
    check_variant("induction", variant, LENGTHS)
    long = partial(sequences, LENGTHS[variant])
    return Data(valid=long(VALID_SEED, HELD_OUT), test=long(TEST_SEED, HELD_OUT), stream=partial(sequences, TRAINING))


TASK = TaskSpec(
    name="induction",
    title="Induction heads",
    family="recall",
    summary="Recall: find one marked token in sequences longer than any in training.",
    inputs=SYMBOLS + 1,
    outputs=SYMBOLS,
    loss=cross_entropy,
    metric=ACCURACY,
    chance=100 / SYMBOLS,
    load=_load,
    recipes={
        "": Recipe(
            hidden=64,
            batch=8,
            epochs=25,
            steps=8192,
            source="Mamba, Appendix E.1: 25 epochs of 8192 steps, two layers",
            paper="mamba",
        )
    },
    variant="T=1024",
    variants="T=256, T=1024 or T=4096, the steps of validation and test; Mamba goes from 64 to 2^20",
    source="Olsson et al. 2022; lengths of Gu and Dao 2023 (Mamba), arXiv:2312.00752; generated, fresh batches",
    licence="generated, none",
    length="256 in training, T in validation and test",
    lag="1 to T − 2 steps, T/2 on average",
    tokens=SYMBOLS + 1,
    protocols=(note("sixteen tokens count the special one, so fifteen ordinary ones are left", "mamba", minor=True),),
    baselines={"majority": Majority(SYMBOLS)},
)
