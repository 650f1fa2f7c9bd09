"""Modular arithmetic without brackets: sums, differences and products modulo 5, trained on short expressions."""

from __future__ import annotations

from dataclasses import replace
from functools import cache

import torch
from torch import Tensor

from longwave.tasks.base.data import Data
from longwave.tasks.base.sequences import Sequences
from longwave.tasks.formats.symbols import ask_last, length_generalisation, seeded_generator
from longwave.tasks.parity import TASK as PARITY
from longwave.tasks.trivial.constant import Majority

BASE = 5
PLUS, MINUS, TIMES, EQUALS, ZERO = 1, 2, 3, 4, 5
"""Symbols, as in xLSTM's repository; the number d is the symbol 5 + d."""


def evaluate(numbers: Tensor, operators: Tensor) -> Tensor:
    """Return the value modulo 5 of the expression up to each number, (n, K); products take precedence.

    Args:
        numbers: (n, K), from 0 to 4.
        operators: (n, K), symbols; operator k follows number k, and the last one is not used.
    """
    total, product = torch.zeros_like(numbers[:, 0]), numbers[:, 0]
    sums = [product]
    for number, operator in zip(numbers.unbind(1)[1:], operators.unbind(1), strict=False):
        times = operator == TIMES
        total = torch.where(times, total, total + product)
        product = torch.where(times, product * number, torch.where(operator == MINUS, -number, number)) % BASE
        sums.append((total + product) % BASE)
    return torch.stack(sums, 1)


def sequences(shortest: int, longest: int, seed: int, n: int) -> Sequences:
    """Return n sequences number, operator, ..., number, '='; all even lengths are equally likely."""
    g = seeded_generator(seed)
    count = longest // 2
    lengths = 2 * torch.randint((shortest + 1) // 2, count + 1, (n,), generator=g)
    numbers = torch.randint(BASE, (n, count), generator=g)
    operators = torch.randint(PLUS, TIMES + 1, (n, count), generator=g)
    symbols = torch.stack((numbers + ZERO, operators), -1).flatten(1)
    symbols.scatter_(1, lengths.unsqueeze(1) - 1, EQUALS)
    return ask_last(symbols, evaluate(numbers, operators).repeat_interleave(2, 1), lengths)


@cache
def _load(variant: str) -> Data[Sequences]:
    return length_generalisation("modular_arithmetic", variant, sequences)


TASK = replace(
    PARITY,
    name="modular_arithmetic",
    title="Modular arithmetic",
    summary="State tracking: + − × modulo 5 with × first, on expressions longer than any in training.",
    inputs=10,
    outputs=BASE,
    chance=100 / BASE,
    load=_load,
    length="4 to 40 in training, 40 to 256 in validation and test, uniform over even lengths; padded at the end",
    tokens=10,
    baselines={"majority": Majority(BASE)},
)
