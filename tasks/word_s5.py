"""Word problem of S5: the running product of a sequence of permutations of five elements."""

from __future__ import annotations

from functools import cache

from longwave.tasks.base.data import Data
from longwave.tasks.base.losses import ACCURACY, cross_entropy
from longwave.tasks.base.sequences import Sequences
from longwave.tasks.base.spec import Recipe, TaskSpec, check_variant, note
from longwave.tasks.formats.groups import symmetric, word_problem
from longwave.tasks.trivial.constant import Majority

ELEMENTS = 120


@cache
def _load(variant: str) -> Data[Sequences]:
    check_variant("word_s5", variant)
    return word_problem(symmetric(5))


TASK = TaskSpec(
    name="word_s5",
    title="Word problem of S5",
    family="state tracking",
    summary="State tracking: multiply permutations of five things, a group that is not solvable, at every step.",
    inputs=ELEMENTS,
    outputs=ELEMENTS,
    targets="at every step",
    loss=cross_entropy,
    metric=ACCURACY,
    chance=100 / ELEMENTS,
    load=_load,
    recipes={
        "": Recipe(
            hidden=128,
            batch=512,
            epochs=32,
            steps=100,
            source="ours: one pass over as many words as Grazzi et al. 2025, 1.6 M in batches of 512, and their 128"
            " units; they make 100 passes by AdamW with weight decay 0.01 and clip 1",
        )
    },
    source="Merrill et al. 2024, arXiv:2404.08819; lengths of Grazzi et al. 2025, arXiv:2411.12537; generated",
    licence="generated, none",
    length="32 in training, 500 in validation and test",
    lag="the whole sequence",
    tokens=ELEMENTS,
    protocols=(
        note(
            "Grazzi et al. train on 1.6 M fixed words and test on 40,000 of up to 500 letters; here training words are"
            " fresh; 1000 words of 500 letters are tested, at every step, and another 1000 validate",
            "grazzi2025",
        ),
    ),
    baselines={"majority": Majority(ELEMENTS)},
)
