"""MNIST and CIFAR-10 as read by torchvision, originals only, with fixed splits shared by the image tasks."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TypeVar

import numpy as np
import torch
from torch import Tensor

from longwave.tasks.base.data import Data
from longwave.tasks.base.raw import Remote, Source, check_md5
from longwave.tasks.base.sequences import Sequences, Tail
from longwave.tasks.base.spec import check_variant

Labelled = tuple[Tensor, Tensor]
"""Images, uint8 (N, ...), and their classes, int64 (N,)."""
Picked = TypeVar("Picked")

CLASSES = 10
MD5 = {
    "train-images-idx3-ubyte": "6bbc9ace898e44ae57da46a324031adb",
    "train-labels-idx1-ubyte": "a25bea736e30d166cdddb491f175f624",
    "t10k-images-idx3-ubyte": "2646ac647ad5339dbf082846283269ea",
    "t10k-labels-idx1-ubyte": "27ae3e4e09519cfbb04c329615203637",
}
"""MD5 of MNIST's unpacked files, which torchvision does not check, unlike the packed ones and CIFAR-10's."""


def _describe_remote(name: str, md5: str) -> Remote:
    return Remote(f"https://ossci-datasets.s3.amazonaws.com/mnist/{name}.gz", f"{name}.gz", md5, unpack=True)


MNIST = Source(
    name="mnist",
    title="MNIST",
    licence="CC BY-SA 3.0, as its authors state",
    needs=("train-images-idx3-ubyte", "train-labels-idx1-ubyte", "t10k-images-idx3-ubyte", "t10k-labels-idx1-ubyte"),
    remotes=(
        _describe_remote("train-images-idx3-ubyte", "f68b3c2dcbeaaa9fbdd348bbdeb94873"),
        _describe_remote("train-labels-idx1-ubyte", "d53e105ee54ea40749a09fcbcd1e9432"),
        _describe_remote("t10k-images-idx3-ubyte", "9fb629c4189551a2d022fa330f9573f3"),
        _describe_remote("t10k-labels-idx1-ubyte", "ec29112dd5afa0611ce80d1b7f02629c"),
    ),
    by_hand="A folder with the four unpacked IDX files does as well, torchvision's MNIST/raw for example.",
)
CIFAR10 = Source(
    name="cifar10",
    title="CIFAR-10",
    licence="no licence stated; its authors ask to cite Krizhevsky 2009",
    needs=tuple(
        f"cifar-10-batches-py/{name}"
        for name in (*(f"data_batch_{k}" for k in range(1, 6)), "test_batch", "batches.meta")
    ),
    remotes=(
        Remote(
            "https://www.cs.toronto.edu/~kriz/cifar-10-python.tar.gz",
            "cifar-10-python.tar.gz",
            "c58f30108f718f92721af3b95e74349a",
            unpack=True,
        ),
    ),
    by_hand="A folder that holds cifar-10-batches-py, the version for Python, does as well.",
)


def read_mnist(task: str) -> tuple[Labelled, Labelled]:
    """Return the training and the test images, (N, 28, 28), for ``task``, read by torchvision. Raises DataError."""
    from torchvision.datasets.mnist import read_image_file, read_label_file  # type: ignore[import-untyped]

    folder = MNIST.locate(task)
    for name in MNIST.needs:
        check_md5(folder / name, MD5[name])

    def read(part: str) -> Labelled:
        images = read_image_file(str(folder / f"{part}-images-idx3-ubyte"))
        return images, read_label_file(str(folder / f"{part}-labels-idx1-ubyte"))

    return read("train"), read("t10k")


def read_cifar10(task: str) -> tuple[Labelled, Labelled]:
    """Return the training and the test images, (N, 3, 32, 32), for ``task``, read by torchvision. Raises DataError."""
    from torchvision.datasets import CIFAR10 as Photographs  # type: ignore[import-untyped]

    folder = CIFAR10.locate(task)
    meta = (Photographs.meta["filename"], Photographs.meta["md5"])
    for name, md5 in (*Photographs.train_list, *Photographs.test_list, meta):
        check_md5(folder / Photographs.base_folder / name, md5)  # torchvision checks too, but does not say which

    def read(train: bool) -> Labelled:
        photographs = Photographs(folder, train=train)
        images = torch.from_numpy(photographs.data).permute(0, 3, 1, 2).contiguous()
        return images, torch.tensor(photographs.targets, dtype=torch.int64)

    return read(True), read(False)


def split_images(
    images: tuple[Labelled, Labelled],
    share: int,
    arrange: Callable[[Tensor], Tensor],
    tails: Sequence[Tail | None] = (None, None, None),
) -> Data[Sequences]:
    """Return the three splits, as bytes.

    One in ``share`` training images is for validation: the last of a permutation by numpy's RandomState(1234), as in
    the released code of Lipschitz RNN.

    Args:
        images: Training and test images.
        share: 20 keeps 57000 of 60000 to train on.
        arrange: From images (N, ...) to sequences (N, T, p).
        tails: Noise after the training, validation and test sequences.
    """
    (train, labels), (test, answers) = images
    order = torch.from_numpy(np.random.RandomState(1234).permutation(len(labels)))
    first, valid = order.tensor_split([len(labels) - len(labels) // share])
    parts = ((train[first], labels[first]), (train[valid], labels[valid]), (test, answers))
    splits = [Sequences(arrange(x), y, tail) for (x, y), tail in zip(parts, tails, strict=True)]
    return Data(train=splits[0], valid=splits[1], test=splits[2])


def pick_choice(task: str, choices: Mapping[str, Picked], variant: str) -> Picked:
    """Return the choice that ``variant`` names. Raises ValueError if there is none."""
    check_variant(task, variant, choices)
    return choices[variant]
