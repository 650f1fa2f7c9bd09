"""Noise-padded digits against scikit-learn's images, and the laws of the noise that follows them."""

from __future__ import annotations

from collections.abc import Sequence as Pieces

import numpy as np
import pytest
import scipy.stats
import torch

from longwave.platform.registry import get_task
from longwave.tasks.base.data import Data
from longwave.tasks.base.predictor import measure
from longwave.tasks.base.sequences import Sequences

VARIANTS = [f"T={length}{noise}" for length in (500, 1000) for noise in ("", ",noise=per_sample")]


def splits(variant: str) -> Pieces[Sequences]:
    data: Data[Sequences] = get_task("ndigits").load(variant)
    assert data.train is not None
    return data.train, data.valid, data.test


@pytest.mark.parametrize("variant", VARIANTS)
def test_each_of_eight_rows_of_an_image_is_a_step_and_the_rest_is_noise(variant: str) -> None:
    from sklearn.datasets import load_digits

    digits = load_digits()
    shuffle, first = np.random.RandomState(1234).permutation(1797), 0
    for split, n in zip(splits(variant), (1197, 300, 300), strict=True):
        chosen = shuffle[first : first + n]
        fed = split.take(torch.arange(n))
        assert fed.inputs.shape == (n, int(variant.removeprefix("T=").partition(",")[0]), 8)
        assert np.array_equal(fed.inputs[:, :8].numpy(), (digits.images[chosen] / 16).astype(np.float32))
        assert np.array_equal(fed.targets.numpy(), digits.target[chosen])
        first += n


def test_one_block_of_normal_noise_follows_every_image() -> None:
    blocks = torch.cat([split.take(torch.arange(5)).inputs[:, 8:] for split in splits("T=500")])
    assert torch.equal(blocks, blocks[:1].expand(15, -1, -1))
    assert scipy.stats.kstest(blocks[0].double().numpy().ravel(), "norm").pvalue > 1e-3


def test_noise_of_its_own_is_another_for_each_image_of_each_split_and_the_same_each_time() -> None:
    blocks = [split.take(torch.arange(4)).inputs[:, 8:] for split in splits("T=500,noise=per_sample")]
    noise = torch.cat(blocks).flatten(1).double().numpy()
    assert scipy.stats.kstest(noise.ravel(), "norm").pvalue > 1e-3
    assert np.abs(np.corrcoef(noise) - np.eye(12)).max() < 5 / noise.shape[1] ** 0.5
    assert torch.equal(splits("T=500,noise=per_sample")[0].take(torch.arange(4)).inputs[:, 8:], blocks[0])


@pytest.mark.parametrize(("variant", "least", "most"), [("T=500", 95, 100), ("T=500,noise=per_sample", 5, 20)])
def test_the_nearest_neighbour_knows_a_digit_where_all_have_one_noise_alone(
    variant: str, least: float, most: float
) -> None:
    task = get_task("ndigits")
    score = measure(task.baselines["1-NN"], task.load(variant), task.metric, task.id, ()).score
    assert least <= score <= most


def test_other_variants_are_refused() -> None:
    with pytest.raises(ValueError, match=r"^ndigits takes a variant T=500 or T=1000 or T=500,noise=per_sample or "):
        get_task("ndigits").load("")
