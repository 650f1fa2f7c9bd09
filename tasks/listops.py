"""ListOps: the value of a long nested expression of MIN, MAX, MED and SUM modulo 10, read symbol by symbol."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache, partial
from random import Random

import numpy as np
import torch
from torch import Tensor

from longwave.tasks.base.cache import cached
from longwave.tasks.base.data import Data
from longwave.tasks.base.losses import ACCURACY, cross_entropy
from longwave.tasks.base.sequences import Sequences
from longwave.tasks.base.spec import Recipe, TaskSpec, check_variant, note
from longwave.tasks.formats.symbols import PAD, TEST_SEED, VALID_SEED, ask_last
from longwave.tasks.trivial.constant import Majority

DEPTH, MAX_ARGUMENTS = 10, 10
"""Maximal depth, at which nodes are digits, and maximal number of arguments of an operator."""
SHARE = 0.25
"""Probability of an operator at a node above that depth."""
SHORTEST, LONGEST = 501, 1999
"""Symbols of an expression: one for a digit, two for an operator, which has a closing bracket."""
HELD_OUT = 2000
"""Sequences of the validation and of the test split."""


def _median(values: list[int]) -> int:
    ordered, n = sorted(values), len(values)
    return (ordered[(n - 1) // 2] + ordered[n // 2]) // 2


OPERATORS: tuple[Callable[[list[int]], int], ...] = (min, max, _median, lambda values: sum(values) % 10)
"""[MIN, [MAX, [MED and [SM."""
DIGIT, OPERATOR, CLOSE = 1, 11, 15
"""Symbols: the digit d is 1 + d, an operator 11 ... 14."""


def draw_expression(draw: Callable[[], float], symbols: list[int], depth: int = 1) -> int:
    """Append a random expression to ``symbols`` and return its value.

    Args:
        draw: Returns a number uniform in [0, 1).
        symbols: The expression is appended.
        depth: Of the expression's root.
    """
    if depth == DEPTH or draw() >= SHARE:
        digit = int(10 * draw())
        symbols.append(DIGIT + digit)
        return digit
    operator = int(len(OPERATORS) * draw())
    symbols.append(OPERATOR + operator)
    arguments = [draw_expression(draw, symbols, depth + 1) for _ in range(2 + int((MAX_ARGUMENTS - 1) * draw()))]
    symbols.append(CLOSE)
    return OPERATORS[operator](arguments)


def draw_expressions(seed: int, n: int) -> dict[str, np.ndarray]:
    """Return n expressions of 501 to 1999 symbols, (n, 1999) int8 padded at the end, and their values, (n,) int8."""
    draw = Random(seed).random  # the only method that Python guarantees to be reproducible
    rows, values = np.full((n, LONGEST), PAD, np.int8), np.empty(n, np.int8)
    row = 0
    while row < n:
        symbols: list[int] = []
        values[row] = draw_expression(draw, symbols)
        if SHORTEST <= len(symbols) <= LONGEST:
            rows[row, : len(symbols)] = symbols
            row += 1
    return {"symbols": rows, "values": values}


def _split(made: dict[str, np.ndarray]) -> Sequences:
    symbols, values = torch.from_numpy(made["symbols"]), torch.from_numpy(made["values"]).long()
    lengths: Tensor = (symbols != PAD).sum(1)
    return ask_last(symbols, values.unsqueeze(1).expand(-1, LONGEST), lengths)


@cache
def _load(variant: str) -> Data[Sequences]:
    check_variant("listops", variant)
    valid, test = (
        _split(cached(f"listops-1-{seed}-{HELD_OUT}", partial(draw_expressions, seed, HELD_OUT)))
        for seed in (VALID_SEED, TEST_SEED)
    )
    return Data(valid=valid, test=test, stream=lambda seed, n: _split(draw_expressions(seed, n)))


TASK = TaskSpec(
    name="listops",
    title="ListOps",
    family="arithmetic",
    summary="Hierarchy: evaluate a nested expression of 501 to 1999 symbols.",
    inputs=CLOSE + 1,
    outputs=10,
    targets="at every step",
    loss=cross_entropy,
    metric=ACCURACY,
    chance=None,
    load=_load,
    recipes={
        "": Recipe(
            hidden=128,
            batch=32,
            epochs=50,
            steps=100,
            source="ours: the budget of Long Range Arena's repository, 5000 steps of 32; its Transformer is 512 wide",
        )
    },
    source="Nangia and Bowman 2018; generator of Tay et al. 2021 (Long Range Arena), arXiv:2011.04006, with a seed",
    licence="generated, none",
    length="501 to 1999, some 1045 on average; padded at the end",
    lag="up to the whole expression",
    tokens=CLOSE + 1,
    protocols=(
        note("Long Range Arena trains on 96,000 fixed expressions; here they are fresh at every step", "lra"),
        note(
            "Long Range Arena's generator has no seed and keeps its expressions in a set, so no two runs give the same"
            " splits; published numbers are for other expressions from the same distribution",
            "lra",
            minor=True,
        ),
    ),
    baselines={"majority": Majority(10)},
)
