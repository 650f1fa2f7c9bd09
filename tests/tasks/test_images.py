"""The image tasks: MNIST and CIFAR-10 as the papers feed them."""

from __future__ import annotations

import hashlib
import inspect
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
import raw_images as raw
import scipy.stats
import torch

from longwave.platform.literature.published import published_rows
from longwave.platform.registry import all_models
from longwave.tasks import mnist98, ncifar, psmnist, scifar, smnist
from longwave.tasks.base.data import Data
from longwave.tasks.base.raw import DataError
from longwave.tasks.base.sequences import Sequences

TASKS = {module.TASK.name: module.TASK for module in (smnist, psmnist, mnist98, scifar, ncifar)}
VARIANTS = {
    "smnist": ["", "lipschitz"],
    "psmnist": ["seed=12008", "seed=5544"],
    "mnist98": [""],
    "scifar": ["", "neighbours"],
    "ncifar": ["", "noise=uniform", "noise=per_sample"],
}
every_task = pytest.mark.parametrize("name", VARIANTS)
every_variant = pytest.mark.parametrize(
    ("name", "variant"), [(name, variant) for name, variants in VARIANTS.items() for variant in variants]
)
SPLITS = ("train", "valid", "test")


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A data folder with both sets, to be read only."""
    folder = tmp_path_factory.mktemp("data")
    raw.write_mnist(folder / "raw/mnist")
    raw.write_cifar10(folder / "raw/cifar10")
    return folder


@pytest.fixture
def load(made: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., Data]:
    """Load a task from the small sets, past the cache in memory."""
    monkeypatch.setenv("LONGWAVE_CACHE", str(made))
    raw.accept_small(monkeypatch, made / "raw")
    return lambda name, variant=None: fresh(name, variant)


def fresh(name: str, variant: str | None = None) -> Data:
    task = TASKS[name]
    return inspect.unwrap(task.load)(task.variant if variant is None else variant)


def of(data: Data, which: str) -> Sequences:
    split = getattr(data, which)
    assert isinstance(split, Sequences)
    return split


def digits(part: str) -> np.ndarray:
    return raw.pictures(300, 28, 28, seed=0) if part == "train" else raw.pictures(40, 28, 28, seed=1)


def photographs(part: str) -> np.ndarray:
    """Return (N, 3, 32, 32) in file order: a row of the files is all red, then all green, then all blue pixels."""
    seeds = range(5) if part == "train" else [5]
    rows = np.concatenate([raw.pictures(60 if part == "train" else 40, 3072, seed=seed) for seed in seeds])
    return rows.reshape(-1, 3, 32, 32)


def originals(name: str, which: str, share: int) -> tuple[np.ndarray, np.ndarray]:
    """Return the images and classes that a split must hold, by Lipschitz RNN's recipe of RandomState(1234)."""
    pictures = photographs if name in ("scifar", "ncifar") else digits
    if which == "test":
        return pictures("test"), raw.classes(40)
    np.random.seed(1234)
    order = np.random.permutation(300)
    size = 300 - 300 // share
    index = order[:size] if which == "train" else order[size:]
    return pictures("train")[index], raw.classes(300)[index]


@pytest.mark.parametrize("which", SPLITS)
@pytest.mark.parametrize(("variant", "share"), [("", 20), ("lipschitz", 30)])
def test_a_digit_is_read_row_by_row(load: Callable[..., Data], variant: str, share: int, which: str) -> None:
    split = of(load("smnist", variant), which)
    images, labels = originals("smnist", which, share)
    assert split.inputs.shape == (len(images), 784, 1) and np.array_equal(split.targets.numpy(), labels)
    for row in range(28):
        for column in range(28):
            assert np.array_equal(split.inputs[:, 28 * row + column, 0].numpy(), images[:, row, column])


@pytest.mark.parametrize("variant", VARIANTS["psmnist"])
@pytest.mark.parametrize("which", SPLITS)
def test_permuted_digits_are_digits_in_the_order_of_the_permutation(
    load: Callable[..., Data], variant: str, which: str
) -> None:
    plain, permuted = of(load("smnist"), which), of(load("psmnist", variant), which)
    torch.default_generator.manual_seed(int(variant.split("=")[1]))  # as the papers' code draws it
    for step, pixel in enumerate(torch.randperm(784).tolist()):
        assert torch.equal(permuted.inputs[:, step], plain.inputs[:, pixel])
    assert torch.equal(permuted.targets, plain.targets)


FINGERPRINTS = {
    "seed=12008": ([91, 97, 471, 426, 157, 451, 312, 198, 117, 454, 357, 608], [432, 296, 267], "60f334ea81656c7d"),
    "seed=5544": ([327, 72, 48, 129, 109, 101, 69, 569, 79, 263, 618, 589], [588, 393, 62], "7b6004e6368828a8"),
}


@pytest.mark.parametrize("variant", FINGERPRINTS)
def test_the_permutations_have_the_fingerprints_of_the_papers(variant: str) -> None:
    first, last, digest = FINGERPRINTS[variant]
    order = psmnist.draw_permutation(variant).tolist()
    assert (order[:12], order[-3:], sorted(order)) == (first, last, list(range(784)))
    assert hashlib.sha256(",".join(map(str, order)).encode()).hexdigest().startswith(digest)


def test_a_torch_that_draws_another_permutation_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch, "randperm", lambda n, generator: torch.arange(n))
    with pytest.raises(RuntimeError, match=r"^torch 2\..* does not draw psmnist's permutation seed=5544;"):
        psmnist.draw_permutation("seed=5544")


@pytest.mark.parametrize("which", SPLITS)
def test_a_digit_in_98_steps_shows_eight_pixels_a_step(load: Callable[..., Data], which: str) -> None:
    split, (images, labels) = of(load("mnist98"), which), originals("mnist98", which, 30)
    assert np.array_equal(split.targets.numpy(), labels)
    for step in range(98):
        for k in range(8):
            row, column = divmod(8 * step + k, 28)
            assert np.array_equal(split.inputs[:, step, k].numpy(), images[:, row, column])


@pytest.mark.parametrize("which", SPLITS)
def test_a_photograph_shows_the_three_colours_of_one_pixel_a_step(load: Callable[..., Data], which: str) -> None:
    split, (images, labels) = of(load("scifar"), which), originals("scifar", which, 25)
    assert split.inputs.shape == (len(images), 1024, 3) and np.array_equal(split.targets.numpy(), labels)
    for row in range(32):
        for column in range(32):
            assert np.array_equal(split.inputs[:, 32 * row + column].numpy(), images[:, :, row, column])


def test_the_variant_neighbours_shows_three_pixels_of_one_colour_a_step(load: Callable[..., Data]) -> None:
    split, (images, _) = of(load("scifar", "neighbours"), "valid"), originals("scifar", "valid", 25)
    for step in range(1024):
        for k in range(3):
            colour, pixel = divmod(3 * step + k, 1024)
            row, column = divmod(pixel, 32)
            assert np.array_equal(split.inputs[:, step, k].numpy(), images[:, colour, row, column])


@pytest.mark.parametrize("variant", VARIANTS["ncifar"])
@pytest.mark.parametrize("which", SPLITS)
def test_a_padded_photograph_is_32_rows_and_968_steps_of_noise(
    load: Callable[..., Data], variant: str, which: str
) -> None:
    split, (images, labels) = of(load("ncifar", variant), which), originals("ncifar", which, 25)
    assert split.inputs.dtype == torch.uint8 and split.inputs.shape == (len(images), 32, 96)
    assert split.positions == 1000 and np.array_equal(split.targets.numpy(), labels)
    for row in range(32):
        red, green, blue = images[:, 0, row], images[:, 1, row], images[:, 2, row]
        assert np.array_equal(split.inputs[:, row].numpy(), np.concatenate([red, green, blue], axis=1))
    fed = split.take(torch.tensor([[3], [1]])).inputs
    assert fed.shape == (2, 1, 1000, 96) and fed.dtype == torch.float32
    assert torch.equal(fed[:, 0, :32], split.inputs[[3, 1]].float() / 255)


@pytest.mark.parametrize(("variant", "law"), [("", "norm"), ("noise=uniform", "uniform")])
def test_one_block_of_noise_follows_every_photograph(load: Callable[..., Data], variant: str, law: str) -> None:
    data = load("ncifar", variant)
    blocks = [of(data, which).take(torch.arange(5)).inputs[:, 32:] for which in SPLITS]
    assert torch.equal(torch.cat(blocks), blocks[0][:1].expand(15, -1, -1))
    values = blocks[0][0].double().numpy()
    assert scipy.stats.kstest(values.ravel(), law).pvalue > 1e-3
    assert abs(np.corrcoef(values[:-1].ravel(), values[1:].ravel())[0, 1]) < 4 / values.size**0.5
    if law == "uniform":
        assert values.min() >= 0 and values.max() < 1


def test_noise_per_sample_is_normal_and_another_for_each_photograph_of_each_split(load: Callable[..., Data]) -> None:
    data = load("ncifar", "noise=per_sample")
    blocks = [of(data, which).take(torch.arange(4)).inputs[:, 32:] for which in SPLITS]
    noise = torch.cat(blocks).flatten(1).double().numpy()
    assert scipy.stats.kstest(noise.ravel(), "norm").pvalue > 1e-3
    between = np.corrcoef(noise) - np.eye(12)
    assert np.abs(between).max() < 5 / noise.shape[1] ** 0.5
    again = of(data, "train").take(torch.tensor([2, 0])).inputs[:, 32:]
    assert torch.equal(again, blocks[0][[2, 0]])


@every_variant
def test_an_image_task_feeds_bytes_of_every_class_and_no_sequence_twice(
    load: Callable[..., Data], name: str, variant: str
) -> None:
    data, seen = load(name, variant), []
    for which in SPLITS:
        split = of(data, which)
        assert split.inputs.dtype == torch.uint8 and split.inputs.shape[2] == TASKS[name].inputs
        assert split.targets.dtype == torch.int64 and set(split.targets.tolist()) == set(range(10))
        assert split.inputs.untyped_storage().nbytes() == split.inputs.numel()
        seen += [row.tobytes() for row in split.inputs.numpy()]
    assert len(set(seen)) == len(seen) == 340
    assert TASKS[name].trivial(data) == {"majority": 10.0}


VERSIONS = {
    ("smnist", ""): "b9fc15ab2837",
    ("smnist", "lipschitz"): "8efd699b2215",
    ("psmnist", "seed=12008"): "88de03304be6",
    ("psmnist", "seed=5544"): "e7ea6180805e",
    ("mnist98", ""): "a254b4734daa",
    ("scifar", ""): "5318050e5e56",
    ("scifar", "neighbours"): "5a3947144b09",
    ("ncifar", ""): "feb8414f23fd",
    ("ncifar", "noise=uniform"): "4edccc4a524a",
    ("ncifar", "noise=per_sample"): "0450f2d3346a",
}
"""As of the readers of IDX files and pickles that stood here before torchvision's."""


@every_variant
def test_torchvision_reads_the_tensors_that_every_trial_so_far_was_trained_on(
    load: Callable[..., Data], name: str, variant: str
) -> None:
    assert load(name, variant).version == VERSIONS[name, variant]


@every_variant
def test_the_data_depend_on_no_global_seed_and_each_variant_is_another_version(
    load: Callable[..., Data], name: str, variant: str
) -> None:
    versions = []
    for seed in (1, 2):
        torch.default_generator.manual_seed(seed)
        np.random.seed(seed)
        versions.append(load(name, variant).version)
    others = {load(name, other).version for other in VARIANTS[name] if other != variant}
    assert versions[0] == versions[1] and versions[0] not in others


@every_task
def test_an_image_task_refuses_an_unknown_variant_even_without_its_files(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LONGWAVE_CACHE", str(tmp_path))
    for variant in ("nonsense", "seed=1", "noise=fixed", "lipschitz "):
        with pytest.raises(ValueError, match=rf"^{name} (has one variant|takes a variant).*, got '{variant}'\.$"):
            fresh(name, variant)


@every_task
def test_an_image_task_without_its_files_says_how_to_get_them(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LONGWAVE_CACHE", str(tmp_path))
    with pytest.raises(
        DataError, match=rf"^{name} needs (MNIST|CIFAR-10): .* Get it with: longwave data fetch {name}\."
    ):
        fresh(name)
    assert list(tmp_path.iterdir()) == []


@every_task
def test_the_board_finds_the_published_numbers_of_an_image_task(name: str) -> None:
    task = TASKS[name]
    mine = [row for row in published_rows() if row["task"] == name]
    assert {row["ours"] for row in mine} - {"-"} <= set(VARIANTS[name])
    here = {row["model"] for row in mine if row["metric"] == task.metric.name}
    if name == "mnist98":  # printed under attack alone
        assert {"accuracy_pgd_linf", "hessian_trace"} <= {row["metric"] for row in mine} and not here
    else:
        assert here >= {"lipschitz_rnn", "tau_gru"}
    assert set(task.recipes) - {""} <= set(all_models())
