"""MNIST and CIFAR-10 from their own files, checked, and divided once for all: shared by the image tasks."""

from __future__ import annotations

import pickle
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
import torch
from torch import Tensor

from longwave.tasks.base.data import Data
from longwave.tasks.base.raw import DataError, Remote, Source
from longwave.tasks.base.sequences import Sequences, Tail
from longwave.tasks.base.spec import check_variant

Labelled = tuple[Tensor, Tensor]
"""Images, uint8 (N, ...), and their classes, int64 (N,)."""
Picked = TypeVar("Picked")

CLASSES = 10
LEAST = 30
"""Images a file must hold, so that no split is empty."""
ARRAYS = {
    ("numpy._core.multiarray", "_reconstruct"),
    ("numpy", "ndarray"),
    ("numpy", "dtype"),
}
"""All that a pickle may name. numpy calls its own module numpy.core before version 2."""


def _remote(name: str, md5: str) -> Remote:
    return Remote(f"https://ossci-datasets.s3.amazonaws.com/mnist/{name}.gz", f"{name}.gz", md5, unpack=True)


MNIST = Source(
    name="mnist",
    title="MNIST",
    licence="CC BY-SA 3.0, as its authors state",
    needs=("train-images-idx3-ubyte", "train-labels-idx1-ubyte", "t10k-images-idx3-ubyte", "t10k-labels-idx1-ubyte"),
    remotes=(
        _remote("train-images-idx3-ubyte", "f68b3c2dcbeaaa9fbdd348bbdeb94873"),
        _remote("train-labels-idx1-ubyte", "d53e105ee54ea40749a09fcbcd1e9432"),
        _remote("t10k-images-idx3-ubyte", "9fb629c4189551a2d022fa330f9573f3"),
        _remote("t10k-labels-idx1-ubyte", "ec29112dd5afa0611ce80d1b7f02629c"),
    ),
    by_hand="A folder with the four unpacked IDX files does as well, torchvision's MNIST/raw for example.",
)
CIFAR10 = Source(
    name="cifar10",
    title="CIFAR-10",
    licence="no licence stated; its authors ask to cite Krizhevsky 2009",
    needs=tuple(f"cifar-10-batches-py/{name}" for name in (*(f"data_batch_{k}" for k in range(1, 6)), "test_batch")),
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


def read_idx(path: Path, *shape: int) -> np.ndarray:
    """Return the bytes of an IDX file, (N, *shape).

    Raises:
        DataError: Wrong magic number or dimensions, fewer than ``LEAST`` items, or more or fewer bytes than the header
            says.
    """
    raw = np.fromfile(path, np.uint8)
    head = 8 + 4 * len(shape)
    if len(raw) < head:
        raise DataError(f"{path}: its header must have {head} bytes, got {len(raw)}.")
    magic, n, *dimensions = raw[:head].view(">u4").tolist()
    if magic != 0x801 + len(shape):
        raise DataError(f"{path}: its magic number must be 0x{0x801 + len(shape):08x}, got 0x{magic:08x}.")
    if tuple(dimensions) != shape:
        raise DataError(f"{path}: its items must have the dimensions {shape}, got {tuple(dimensions)}.")
    _check_count(path, n)
    expected = head + n * int(np.prod(shape))
    if len(raw) != expected:
        raise DataError(f"{path}: a file of {n} items must have {expected} bytes, got {len(raw)}.")
    return raw[head:].reshape(n, *shape)


def read_batch(path: Path) -> Labelled:
    """Return the images, (N, 3, 32, 32), and classes of one file of CIFAR-10.

    Raises:
        DataError: Not a pickle, one that names anything but numpy arrays, or one without images and their classes.
    """
    batch = _unpickled(path)
    if not isinstance(batch, dict):
        raise DataError(f"{path}: it must hold a dict, got {type(batch).__name__}.")
    named = {key.decode("latin1") if isinstance(key, bytes) else key: value for key, value in batch.items()}
    images, labels = named.get("data"), named.get("labels")
    if not isinstance(images, np.ndarray) or images.dtype != np.uint8 or images.ndim != 2 or images.shape[1] != 3072:
        kind = f"{images.dtype} {images.shape}" if isinstance(images, np.ndarray) else type(images).__name__
        raise DataError(f"{path}: data must be bytes in 3072 columns, got {kind}.")
    if not isinstance(labels, list):
        raise DataError(f"{path}: labels must be a list, got {type(labels).__name__}.")
    _check_count(path, len(images))
    return torch.from_numpy(images.reshape(-1, 3, 32, 32)), _classes(path, labels, len(images))


def mnist(task: str) -> tuple[Labelled, Labelled]:
    """Return the training and the test images, (N, 28, 28), for ``task``. Raises DataError."""
    place = MNIST.locate(task)

    def read(part: str) -> Labelled:
        images = read_idx(place / f"{part}-images-idx3-ubyte", 28, 28)
        path = place / f"{part}-labels-idx1-ubyte"
        return torch.from_numpy(images), _classes(path, read_idx(path).tolist(), len(images))

    return read("train"), read("t10k")


def cifar10(task: str) -> tuple[Labelled, Labelled]:
    """Return the training and the test images, (N, 3, 32, 32), for ``task``. Raises DataError."""
    *train, test = (read_batch(CIFAR10.locate(task) / name) for name in CIFAR10.needs)
    images, labels = zip(*train, strict=True)
    return (torch.cat(images), torch.cat(labels)), test


def divided(
    images: tuple[Labelled, Labelled],
    share: int,
    arrange: Callable[[Tensor], Tensor],
    tails: Sequence[Tail | None] = (None, None, None),
) -> Data[Sequences]:
    """Return the three splits, fed in bytes.

    One in ``share`` training images validates: the last of the permutation that numpy's RandomState(1234) gives, as
    in the released code of Lipschitz RNN.

    Args:
        images: Training and test images.
        share: 20 keeps 57000 of 60000 to train on.
        arrange: From images (N, ...) to sequences (N, T, p).
        tails: Noise after the training, validation and test sequences.
    """
    (train, labels), (test, answers) = images
    order = torch.from_numpy(np.random.RandomState(1234).permutation(len(labels)))
    kept, held = order.tensor_split([len(labels) - len(labels) // share])
    parts = ((train[kept], labels[kept]), (train[held], labels[held]), (test, answers))
    splits = [Sequences(arrange(x), y, tail) for (x, y), tail in zip(parts, tails, strict=True)]
    return Data(train=splits[0], valid=splits[1], test=splits[2])


def pick(task: str, choices: Mapping[str, Picked], variant: str) -> Picked:
    """Return the choice that ``variant`` names. Raises ValueError if there is none."""
    check_variant(task, variant, choices)
    return choices[variant]


class _Unpickler(pickle.Unpickler):
    """Reads numbers, strings, lists, dicts and numpy arrays, and refuses to look up anything else."""

    def find_class(self, module: str, name: str) -> Any:
        present = module.replace("numpy.core", "numpy._core")
        if (present, name) not in ARRAYS:
            raise pickle.UnpicklingError(f"{module}.{name}")
        return super().find_class(present, name)


def _unpickled(path: Path) -> Any:
    with path.open("rb") as file:
        try:
            return _Unpickler(file, encoding="latin1").load()
        except Exception as error:  # a damaged pickle can raise anything
            why = " ".join(f"{type(error).__name__} {error}".split())
            raise DataError(f"{path}: it must be a whole pickle of numpy arrays and lists alone, got {why}.") from error


def _check_count(path: Path, n: int) -> None:
    if n < LEAST:
        raise DataError(f"{path}: it must hold at least {LEAST} items, got {n}.")


def _classes(path: Path, labels: list[Any], n: int) -> Tensor:
    """Return the classes of n images, int64 (n,)."""
    if len(labels) != n:
        raise DataError(f"{path}: there must be one label for each of {n} images, got {len(labels)}.")
    wrong = [label for label in labels if label not in range(CLASSES)]
    if wrong:
        raise DataError(f"{path}: labels must lie between 0 and {CLASSES - 1}, got {wrong[0]!r}.")
    return torch.tensor(labels, dtype=torch.int64)
