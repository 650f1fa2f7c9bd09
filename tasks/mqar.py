"""Multi-query associative recall: given keys with values, recall the value of each key that comes again."""

from __future__ import annotations

from functools import cache, partial

import torch
from torch import Tensor

from longwave.tasks.base.batch import NO_TARGET
from longwave.tasks.base.data import Data
from longwave.tasks.base.losses import ACCURACY, cross_entropy
from longwave.tasks.base.sequences import Sequences
from longwave.tasks.base.spec import Recipe, TaskSpec, check_variant, note
from longwave.tasks.formats.symbols import TEST_SEED, VALID_SEED, draw_distinct, seeded_generator

SIZES = {"T=64,kv=4": (64, 4), "T=128,kv=8": (128, 8), "T=256,kv=16": (256, 16), "T=512,kv=64": (512, 64)}
"""Steps T and pairs of each variant."""
VOCABULARY = 8192
VALUES = VOCABULARY // 2
"""Keys are 1 ... 4095, values 4096 ... 8191."""
POWER = 0.01
"""A query comes g positions of two steps after the pairs with probability ∝ g^(POWER − 1)."""
HELD_OUT_STEPS = 2**15
"""Steps of the validation and of the test split for every T: 2048 queries, or 4096 with 64 pairs."""


def sequences(length: int, pairs: int, seed: int, n: int, *, values: int = VALUES, blank: bool = False) -> Sequences:
    """Return n sequences: ``pairs`` keys each with its value, then other tokens among which each key comes once more.

    Keys are distinct, and so are values. The target is where the key comes again: at step 2·pairs + 2(g − 1),
    the g distinct, each from 1 to length/2 − pairs.

    Args:
        values: Number of possible values; keys are 1 ... values − 1, values are values ... 2·values − 1.
        blank: Whether all other tokens are 0; otherwise they are uniform.
    """
    g = seeded_generator(seed)
    keys = 1 + draw_distinct(n, pairs, torch.ones(values - 1), g)
    shown = values + draw_distinct(n, pairs, torch.ones(values), g)
    positions = 2 * pairs + 2 * draw_distinct(n, pairs, torch.arange(1, length // 2 - pairs + 1) ** (POWER - 1), g)
    inputs = torch.randint(1 if blank else 2 * values, (n, length), generator=g)
    inputs[:, : 2 * pairs] = torch.stack((keys, shown), -1).flatten(1)
    targets = torch.full((n, length), NO_TARGET)
    return Sequences(inputs.scatter(1, positions, keys).to(torch.int16), targets.scatter(1, positions, shown))


def last_value(vocabulary: int, data: Data[Sequences]) -> Tensor:
    """Return the last value shown as the answer to all queries, which is right for one query a sequence."""
    test = data.test
    pairs = int((test.targets[0] != NO_TARGET).sum())
    shown = torch.nn.functional.one_hot(test.inputs[:, 2 * pairs - 1].long(), vocabulary).double()
    return shown.unsqueeze(1).expand(-1, test.positions, -1)


@cache
def _load(variant: str) -> Data[Sequences]:
    check_variant("mqar", variant, SIZES)
    length, pairs = SIZES[variant]
    make, held_out = partial(sequences, length, pairs), HELD_OUT_STEPS // length
    return Data(valid=make(VALID_SEED, held_out), test=make(TEST_SEED, held_out), stream=make)


TASK = TaskSpec(
    name="mqar",
    title="Multi-query associative recall",
    family="recall",
    summary="Recall: output the value that was shown with a key, for many keys at once.",
    inputs=64,
    outputs=VOCABULARY,
    targets="at every step",
    loss=cross_entropy,
    metric=ACCURACY,
    chance=100 / VALUES,
    load=_load,
    recipes={
        "": Recipe(
            hidden=64,
            batch=512,
            epochs=64,
            steps=196,
            source="ours: the budget of Zoology's Figure 2, 64 passes over 100,000 sequences of T ≤ 128; it trains by"
            " AdamW with weight decay 0.1 and a cosine",
        )
    },
    variant="T=64,kv=4",
    variants=" or ".join(SIZES),
    source="Arora et al. 2024 (Zoology), arXiv:2312.04927; generated, fresh batches at every step",
    licence="generated, none",
    length="T",
    lag="1 to T − 3 steps; most queries soon after the pairs",
    tokens=VOCABULARY,
    protocols=(
        note(
            "Zoology trains on 100,000 fixed sequences and tests on 3000; here training sequences are fresh, and 32,768"
            " steps are tested: 512 sequences of T=64, 64 of T=512",
            "zoology",
        ),
        note(
            "a configuration of Figure 2 in Zoology's repository feeds token 0 between queries; here tokens"
            " are uniform",
            "zoology",
        ),
        note(
            "chance is a uniform guess among the 4096 values; the last value shown is right for 1 query in kv",
            minor=True,
        ),
    ),
    baselines={"last value shown": partial(last_value, VOCABULARY)},
)
