"""Word problem of A5: the running product of a sequence of even permutations of five elements."""

from __future__ import annotations

from dataclasses import replace
from functools import cache

from longwave.tasks.base.data import Data
from longwave.tasks.base.sequences import Sequences
from longwave.tasks.base.spec import check_variant
from longwave.tasks.formats.groups import alternating, word_problem
from longwave.tasks.trivial.constant import Majority
from longwave.tasks.word_s5 import TASK as WORD_S5

ELEMENTS = 60


@cache
def _load(variant: str) -> Data[Sequences]:
    check_variant("word_a5", variant)
    return word_problem(alternating(5))


TASK = replace(
    WORD_S5,
    name="word_a5",
    title="Word problem of A5",
    summary="State tracking: multiply even permutations of five things, the smallest simple group, at every step.",
    inputs=ELEMENTS,
    outputs=ELEMENTS,
    chance=100 / ELEMENTS,
    load=_load,
    tokens=ELEMENTS,
    baselines={"majority": Majority(ELEMENTS)},
)
