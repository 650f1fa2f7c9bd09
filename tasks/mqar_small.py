"""Multi-query associative recall with few tokens: ``mqar``, small enough for a CPU and for narrow networks."""

from __future__ import annotations

from dataclasses import replace
from functools import cache, partial

from longwave.tasks.base.data import Data
from longwave.tasks.base.sequences import Sequences
from longwave.tasks.base.spec import Recipe, check_variant, note
from longwave.tasks.formats.symbols import TEST_SEED, VALID_SEED
from longwave.tasks.mqar import TASK as MQAR
from longwave.tasks.mqar import last_value, sequences

SIZES = {"T=64,kv=8": (64, 8), "T=128,kv=16": (128, 16)}
"""Steps T and pairs of each variant."""
VALUES = 32
"""Keys are 1 ... 31, values 32 ... 63; all other tokens are 0."""
HELD_OUT = 1024
"""Sequences of the validation and of the test split."""


@cache
def _load(variant: str) -> Data[Sequences]:
    check_variant("mqar_small", variant, SIZES)
    make = partial(sequences, *SIZES[variant], values=VALUES, blank=True)
    return Data(valid=make(VALID_SEED, HELD_OUT), test=make(TEST_SEED, HELD_OUT), stream=make)


TASK = replace(
    MQAR,
    name="mqar_small",
    title="Multi-query associative recall, 64 tokens",
    summary="Recall: output the value that was shown with a key, for many keys at once, from 64 tokens.",
    inputs=2 * VALUES,
    outputs=2 * VALUES,
    chance=100 / VALUES,
    load=_load,
    recipes={
        "": Recipe(
            hidden=64,
            batch=64,
            epochs=100,
            steps=200,
            source="ours, for a CPU; Zoology has 8192 tokens and 64 passes over 100,000 sequences",
        )
    },
    variant="T=64,kv=8",
    variants=" or ".join(SIZES),
    tokens=2 * VALUES,
    protocols=(
        note(
            "Zoology has 8192 tokens, which makes nearly all weights those of the embedding and the output; here"
            " they are 64, given as one-hot vectors",
            "zoology",
        ),
        note("tokens between queries are 0, as in a configuration of Figure 2 in Zoology's repository", minor=True),
        note(
            "chance is a uniform guess among the 32 values; the last value shown is right for 1 query in kv", minor=True
        ),
    ),
    baselines={"last value shown": partial(last_value, 2 * VALUES)},
)
