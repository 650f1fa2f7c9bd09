"""Permuted digits: sequential digits with one fixed shuffle of the pixels, so that neighbours are far apart."""

from __future__ import annotations

from dataclasses import replace
from functools import cache

import numpy as np

from longwave.tasks.base.data import Data
from longwave.tasks.base.sequences import Sequences
from longwave.tasks.base.spec import check_variant
from longwave.tasks.digits import CORNN, LEM, read_pixels
from longwave.tasks.digits import TASK as DIGITS

SEED = 12008
"""Seed of the permutation, as coRNN and Lipschitz RNN use for permuted MNIST; numpy's legacy stream never changes."""


@cache
def _load(variant: str) -> Data[Sequences]:
    check_variant("pdigits", variant)
    return read_pixels(np.random.RandomState(SEED).permutation(64))


TASK = replace(
    DIGITS,
    name="pdigits",
    title="Permuted digits",
    summary="As digits, with one fixed shuffle of the 64 pixels: neighbours lie far apart in time.",
    load=_load,
    recipes={"": replace(LEM, clip=1.1, source="LEM's permuted MNIST, Table 8 and code", paper="lem"), "cornn": CORNN},
)
