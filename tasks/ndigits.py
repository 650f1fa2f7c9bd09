"""Noise-padded digits: classify a handwritten digit read row by row, after a long stretch of noise."""

from __future__ import annotations

from dataclasses import replace
from functools import cache

import numpy as np
import torch

from longwave.tasks.base.data import Data
from longwave.tasks.base.sequences import Sequences, Tail
from longwave.tasks.base.spec import check_variant, note
from longwave.tasks.digits import TASK as DIGITS
from longwave.tasks.digits import read_pixels
from longwave.tasks.ncifar import SEED
from longwave.tasks.ncifar import TASK as NCIFAR

ROWS, PIXELS = 8, 8
"""Steps of an image, and features of a step."""
LENGTHS = {"T=500": 500, "T=1000": 1000}
"""Steps of each variant."""
PER_SAMPLE = ",noise=per_sample"
"""End of the names of variants whose sequences each have their own noise."""


def tails(length: int, per_sample: bool) -> tuple[Tail, Tail, Tail]:
    """Return the noise after the images of the training, the validation and the test split."""
    shape = (length - ROWS, PIXELS)
    if per_sample:
        train, valid, test = (Tail(torch.zeros(shape), "normal", seed) for seed in (1, 2, 3))
        return train, valid, test
    block = Tail(torch.from_numpy(np.random.RandomState(SEED).standard_normal(shape).astype(np.float32)))
    return block, block, block


@cache
def _load(variant: str) -> Data[Sequences]:
    check_variant("ndigits", variant, [length + end for end in ("", PER_SAMPLE) for length in LENGTHS])
    images = read_pixels(np.arange(ROWS * PIXELS), PIXELS)
    length = variant.removesuffix(PER_SAMPLE)
    train, valid, test = tails(LENGTHS[length], length != variant)
    assert images.train is not None
    return Data(
        train=replace(images.train, tail=train),
        valid=replace(images.valid, tail=valid),
        test=replace(images.test, tail=test),
    )


TASK = replace(
    DIGITS,
    name="ndigits",
    title="Noise-padded digits",
    summary="Ten handwritten digits in 8 steps, then noise: keep the answer and ignore the rest, without a download.",
    inputs=PIXELS,
    load=_load,
    recipes={"": replace(NCIFAR.recipes[""], source="LEM's noise-padded CIFAR-10, Table 8")},
    variant="T=1000",
    variants="T=500 or T=1000, one block of N(0, 1) noise for all sequences; T=500,noise=per_sample or"
    " T=1000,noise=per_sample, N(0, 1) noise of its own for each sequence, the same in every epoch",
    length="T",
    lag="T − 8 steps of noise after the image",
    protocols=(note("a surrogate of noise-padded CIFAR-10 for machines without it; no paper prints a number for it"),),
)
