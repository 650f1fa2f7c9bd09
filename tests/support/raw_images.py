"""Small MNIST and CIFAR-10 sets in the formats of the real files."""

from __future__ import annotations

import struct
from pathlib import Path

import numpy as np
import pytest
from torchvision.datasets import CIFAR10  # type: ignore[import-untyped]

from longwave.platform.bench.data import accept_made_up
from longwave.tasks.formats import images


def pictures(n: int, *shape: int, seed: int) -> np.ndarray:
    """Return n random images, uint8 (n, *shape)."""
    return np.random.RandomState(seed).randint(0, 256, (n, *shape), np.uint8)


def classes(n: int) -> np.ndarray:
    """Return n labels, uint8 (n,): 0, 1, ..., 9, 0, ... in the order in which the tasks split n images."""
    labels = np.empty(n, np.uint8)
    labels[np.random.RandomState(1234).permutation(n)] = np.arange(n) % 10
    return labels


def write_idx(path: Path, items: np.ndarray, dimensions: tuple[int, ...] | None = None, magic: int = 0) -> None:
    """Write bytes (N, ...) as an IDX file; ``dimensions`` and ``magic`` replace those of its header."""
    sizes = items.shape if dimensions is None else dimensions
    path.parent.mkdir(parents=True, exist_ok=True)
    header = struct.pack(f">{1 + len(sizes)}I", magic or 0x800 + items.ndim, *sizes)
    path.write_bytes(header + items.tobytes())


def write_mnist(folder: Path, train: int = 300, test: int = 40) -> None:
    """Write the four files of MNIST with ``train`` and ``test`` images."""
    for seed, (part, n) in enumerate([("train", train), ("t10k", test)]):
        write_idx(folder / f"{part}-images-idx3-ubyte", pictures(n, 28, 28, seed=seed))
        write_idx(folder / f"{part}-labels-idx1-ubyte", classes(n))


def _text(value: str) -> bytes:
    return b"U" + bytes([len(value)]) + value.encode()


def _array(items: np.ndarray) -> bytes:
    """Return the opcodes that Python 2 wrote for a matrix of bytes."""
    rows, columns = items.shape
    start = b"cnumpy.core.multiarray\n_reconstruct\n" + b"cnumpy\nndarray\n" + b"K\x00\x85" + _text("b") + b"\x87R"
    kind = b"cnumpy\ndtype\n" + _text("u1") + b"K\x00K\x01\x87R"
    kind += b"(K\x03" + _text("|") + b"NNN" + 2 * (b"J" + struct.pack("<i", -1)) + b"K\x00tb"
    shape = b"J" + struct.pack("<i", rows) + b"J" + struct.pack("<i", columns) + b"\x86"
    return start + b"(K\x01" + shape + kind + b"\x89T" + struct.pack("<i", items.size) + items.tobytes() + b"tb"


def write_batch(path: Path, images: np.ndarray, labels: list[int]) -> None:
    """Write bytes (n, 3072) and n labels as the pickle, protocol 2 of Python 2, of one file of CIFAR-10."""
    listed = b"](" + b"".join(b"K" + bytes([label]) for label in labels) + b"e"
    names = b"](" + b"".join(_text(f"picture_{k:06d}.png") for k in range(len(labels))) + b"e"
    fields = _text("batch_label") + _text("a batch") + _text("labels") + listed
    fields += _text("data") + _array(images) + _text("filenames") + names
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(b"\x80\x02}(" + fields + b"u.")


def write_cifar10(folder: Path, train: int = 300, test: int = 40) -> None:
    """Write the six files of CIFAR-10 with ``train`` images in five equal parts and ``test`` more."""
    labels, part = classes(train).tolist(), train // 5
    for k in range(5):
        here = slice(k * part, (k + 1) * part)
        path = folder / f"cifar-10-batches-py/data_batch_{k + 1}"
        write_batch(path, pictures(part, 3072, seed=k), labels[here])
    write_batch(folder / "cifar-10-batches-py/test_batch", pictures(test, 3072, seed=5), classes(test).tolist())
    (folder / "cifar-10-batches-py/batches.meta").write_bytes(b"\x80\x02}" + _text("label_names") + b"](" + b"es.")


def accept_small(patch: pytest.MonkeyPatch, raw: Path) -> None:
    """Accept the files in ``raw`` as the originals while ``patch`` lasts, although their MD5 differ."""
    patch.setattr(images, "MD5", images.MD5)
    for name in ("train_list", "test_list"):
        patch.setattr(CIFAR10, name, [*getattr(CIFAR10, name)])
    patch.setattr(CIFAR10, "meta", {**CIFAR10.meta})
    for name in ("mnist", "cifar10"):
        accept_made_up(raw / name)
