"""Even pairs: whether the first and the last bit differ, trained on short sequences, tested on long ones."""

from __future__ import annotations

from dataclasses import replace
from functools import cache

import torch

from longwave.tasks.base.data import Data
from longwave.tasks.base.sequences import Sequences
from longwave.tasks.formats.symbols import ask_last, length_generalisation, seeded_generator
from longwave.tasks.parity import TASK as PARITY


def sequences(shortest: int, longest: int, seed: int, n: int) -> Sequences:
    """Return n sequences of uniform bits, fed as 1 and 2; the class is 1 where the last is not the first.

    The number of neighbouring pairs 01 and 10 is then odd, hence the task's name.
    """
    g = seeded_generator(seed)
    lengths = torch.randint(shortest, longest + 1, (n,), generator=g)
    bits = torch.randint(2, (n, longest), generator=g)
    return ask_last(bits + 1, (bits != bits[:, :1]).long(), lengths)


@cache
def _load(variant: str) -> Data[Sequences]:
    return length_generalisation("even_pairs", variant, sequences)


TASK = replace(
    PARITY,
    name="even_pairs",
    title="Even pairs",
    summary="State tracking: compare the first bit with the last, on sequences longer than any in training.",
    load=_load,
)
