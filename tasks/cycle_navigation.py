"""Cycle navigation: the end of a walk on a cycle of five positions, trained on short walks, tested on long ones."""

from __future__ import annotations

from dataclasses import replace
from functools import cache

import torch

from longwave.tasks.base.data import Data
from longwave.tasks.base.sequences import Sequences
from longwave.tasks.base.spec import note
from longwave.tasks.formats.symbols import ask_last, length_generalisation, seeded_generator
from longwave.tasks.parity import TASK as PARITY
from longwave.tasks.trivial.constant import Majority

POSITIONS = 5
MOVES = (0, 1, -1)
"""Moves of the symbols 1, 2 and 3."""


def sequences(shortest: int, longest: int, seed: int, n: int) -> Sequences:
    """Return n sequences of uniform moves; the class is the position reached from position 0."""
    g = seeded_generator(seed)
    lengths = torch.randint(shortest, longest + 1, (n,), generator=g)
    moves = torch.randint(len(MOVES), (n, longest), generator=g)
    return ask_last(moves + 1, torch.tensor(MOVES)[moves].cumsum(1) % POSITIONS, lengths)


@cache
def _load(variant: str) -> Data[Sequences]:
    return length_generalisation("cycle_navigation", variant, sequences)


TASK = replace(
    PARITY,
    name="cycle_navigation",
    title="Cycle navigation",
    summary="State tracking: count moves modulo 5, on sequences longer than any in training.",
    inputs=4,
    outputs=POSITIONS,
    chance=100 / POSITIONS,
    load=_load,
    tokens=4,
    protocols=(
        *PARITY.protocols,
        note("xLSTM's repository walks on a cycle of as many positions as its vocabulary has tokens, minus 4", "xlstm"),
    ),
    baselines={"majority": Majority(POSITIONS)},
)
