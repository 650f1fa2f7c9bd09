"""Copy memory: repeat ten symbols after a long run of blanks."""

from __future__ import annotations

import math
from functools import cache, partial

import torch
from torch import Tensor

from longwave.tasks.base.data import Data
from longwave.tasks.base.losses import CROSS_ENTROPY, cross_entropy
from longwave.tasks.base.sequences import Sequences
from longwave.tasks.base.spec import Recipe, TaskSpec, check_variant, note
from longwave.tasks.formats.symbols import TEST_SEED, VALID_SEED, seeded_generator

DELAYS = {f"L={delay}": delay for delay in (100, 200, 500, 1000)}
"""Blank steps of each variant."""
LENGTH, SYMBOLS = 10, 8
"""Number of symbols to remember, and of different symbols: 1 ... 8."""
BLANK, MARKER = 0, SYMBOLS + 1
HELD_OUT = 1000
"""Sequences of the validation and of the test split."""


def sequences(delay: int, seed: int, n: int) -> Sequences:
    """Return n sequences of T = delay + 20 steps: 10 uniform symbols, ``delay`` blanks, 10 markers.

    The class is blank at all steps except the last ten, where it is the symbols in order.
    """
    symbols = torch.randint(1, SYMBOLS + 1, (n, LENGTH), generator=seeded_generator(seed))
    blanks = torch.full((n, delay), BLANK)
    markers = torch.full((n, LENGTH), MARKER)
    inputs = torch.cat((symbols, blanks, markers), 1).to(torch.int8)
    return Sequences(inputs, torch.cat((torch.full((n, LENGTH), BLANK), blanks, symbols), 1))


def answer_at_once(data: Data[Sequences]) -> Tensor:
    """Return the logits of a guess from the current step alone: blank, then all eight symbols equally likely."""
    marked = (data.test.inputs == MARKER).unsqueeze(-1)
    return torch.where(marked == (torch.arange(SYMBOLS + 1) == BLANK), -100.0, 0.0)


def guess_nats(variant: str) -> float:
    """Return the cross-entropy without memory: ln 8 at ten of the L + 20 steps, and 0 at the others."""
    return LENGTH * math.log(SYMBOLS) / (DELAYS[variant] + 2 * LENGTH)


@cache
def _load(variant: str) -> Data[Sequences]:
    check_variant("copy_memory", variant, DELAYS)
    make = partial(sequences, DELAYS[variant])
    return Data(valid=make(VALID_SEED, HELD_OUT), test=make(TEST_SEED, HELD_OUT), stream=make)


TASK = TaskSpec(
    name="copy_memory",
    title="Copy memory",
    family="recall",
    summary="Memory: remember ten symbols over L blank steps and output them in order.",
    inputs=MARKER + 1,
    outputs=SYMBOLS + 1,
    targets="at every step",
    loss=cross_entropy,
    metric=CROSS_ENTROPY,
    chance=guess_nats,
    load=_load,
    recipes={"": Recipe(hidden=128, batch=128, epochs=40, steps=100, source="ours: 4000 steps; the papers' differ")},
    variant="L=100",
    variants=" or ".join(DELAYS),
    source="Hochreiter and Schmidhuber 1997, Arjovsky et al. 2016, arXiv:1511.06464; generated, fresh batches",
    licence="generated, none",
    length="L + 20",
    lag="L + 10 steps",
    tokens=MARKER + 1,
    protocols=(
        note(
            "S4's repository feeds ten markers, as here, and scores only those ten steps; Arjovsky et al. feed one"
            " marker and score all steps, as here",
        ),
    ),
    baselines={"memoryless": answer_at_once},
)
