"""The files of MNIST and CIFAR-10: broken ones, evil ones, and sets of the true size."""

from __future__ import annotations

import inspect
import os
import pickle
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import raw_images as raw

from longwave.tasks import mnist98, ncifar, psmnist, scifar, smnist
from longwave.tasks.base.data import Data
from longwave.tasks.base.raw import DataError

TASKS = {module.TASK.name: module.TASK for module in (smnist, psmnist, mnist98, scifar, ncifar)}
IMAGES, LABELS = "mnist/train-images-idx3-ubyte", "mnist/t10k-labels-idx1-ubyte"
CIFAR = "cifar10/cifar-10-batches-py"
FIRST, SECOND, LAST = f"{CIFAR}/data_batch_1", f"{CIFAR}/data_batch_2", f"{CIFAR}/test_batch"
Damage = Callable[[Path], object]


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with both sets, for a test to break."""
    monkeypatch.setenv("LONGWAVE_CACHE", str(tmp_path))
    raw.write_mnist(tmp_path / "raw/mnist")
    raw.write_cifar10(tmp_path / "raw/cifar10")
    return tmp_path / "raw"


def fresh(name: str) -> Data:
    """Load a task past the cache in memory."""
    return inspect.unwrap(TASKS[name].load)(TASKS[name].variant)


def cut(size: int) -> Damage:
    return lambda path: path.write_bytes(path.read_bytes()[:size])


def written(content: bytes) -> Damage:
    return lambda path: path.write_bytes(content)


def idx(n: int, *shape: int, **header: Any) -> Damage:
    return lambda path: raw.write_idx(path, np.zeros((n, *shape), np.uint8), **header)


def batch(n: int, columns: int, labels: int) -> Damage:
    return lambda path: raw.write_batch(path, np.zeros((n, columns), np.uint8), [0] * labels)


def entries(**changes: Any) -> Damage:
    """Write a batch as Python 3 would, with some entries changed."""
    whole = {"data": np.zeros((60, 3072), np.uint8), "labels": [1] * 60, **changes}
    return written(pickle.dumps(whole, protocol=4))


BROKEN: dict[str, tuple[str, str, Damage, str]] = {
    "an empty IDX file": ("smnist", IMAGES, cut(0), r"header must have 16 bytes, got 0"),
    "half a header": ("smnist", LABELS, cut(7), r"header must have 8 bytes, got 7"),
    "labels for images": ("psmnist", IMAGES, idx(60), r"magic number must be 0x00000803, got 0x00000801"),
    "images for labels": ("psmnist", LABELS, idx(40, 28, 28), r"must be 0x00000801, got 0x00000803"),
    "a packed IDX file": ("smnist", LABELS, written(b"\x1f\x8b" + bytes(9)), r"must be 0x00000801, got 0x1f8b0000"),
    "small images": ("mnist98", IMAGES, idx(300, 8, 8), r"have the dimensions \(28, 28\), got \(8, 8\)"),
    "no images": ("smnist", IMAGES, idx(0, 28, 28), r"must hold at least 30 items, got 0"),
    "few labels": ("smnist", LABELS, idx(29), r"must hold at least 30 items, got 29"),
    "a truncated image": ("smnist", IMAGES, cut(15 + 300 * 784), r"300 items must have 235216 bytes, got 235215"),
    "a truncated label": ("smnist", LABELS, cut(47), r"a file of 40 items must have 48 bytes, got 47"),
    "more than it says": ("smnist", LABELS, idx(41, dimensions=(40,)), r"40 items must have 48 bytes, got 49"),
    "a missing label": ("smnist", LABELS, idx(39), r"one label for each of 40 images, got 39"),
    "an eleventh digit": ("smnist", LABELS, lambda path: raw.write_idx(path, np.arange(40, dtype=np.uint8)), r"got 10"),
    "an empty batch": ("scifar", FIRST, cut(0), r"must be a whole pickle .* got EOFError"),
    "a truncated batch": ("ncifar", FIRST, cut(90_000), r"must be a whole pickle .* got \w+Error"),
    "a batch without its end": ("ncifar", FIRST, lambda p: cut(p.stat().st_size - 1)(p), r"must be a whole pickle"),
    "no pickle": ("scifar", LAST, written(b"P6 32 32"), r"must be a whole pickle"),
    "a list": ("scifar", LAST, written(pickle.dumps([1, 2])), r"it must hold a dict, got list"),
    "an empty dict": ("scifar", LAST, written(pickle.dumps({})), r"bytes in 3072 columns, got NoneType"),
    "grey photographs": ("scifar", LAST, batch(40, 1024, 40), r"3072 columns, got uint8 \(40, 1024\)"),
    "wide numbers": ("scifar", LAST, entries(data=np.zeros((60, 3072))), r"got float64 \(60, 3072\)"),
    "a flat array": ("scifar", LAST, entries(data=np.zeros(3072, np.uint8)), r"got uint8 \(3072,\)"),
    "no labels": ("scifar", LAST, entries(labels=None), r"labels must be a list, got NoneType"),
    "a label too many": ("ncifar", SECOND, batch(60, 3072, 61), r"each of 60 images, got 61"),
    "an eleventh class": ("ncifar", SECOND, entries(labels=[0] * 59 + [10]), r"between 0 and 9, got 10"),
    "a negative class": ("ncifar", SECOND, entries(labels=[-1] * 60), r"between 0 and 9, got -1"),
    "a class by name": ("ncifar", SECOND, entries(labels=["frog"] * 60), r"between 0 and 9, got 'frog'"),
    "no photographs": ("ncifar", SECOND, batch(0, 3072, 0), r"must hold at least 30 items, got 0"),
}


@pytest.mark.parametrize("case", BROKEN)
def test_a_broken_file_is_named_with_the_rule_and_nothing_is_kept(folder: Path, case: str) -> None:
    name, file, damage, message = BROKEN[case]
    damage(folder / file)
    with pytest.raises(DataError, match=message) as caught:
        fresh(name)
    text = str(caught.value)
    assert text.startswith(f"{folder / file}: ") and "\n" not in text and text.endswith(".")
    assert [path.name for path in folder.parent.iterdir()] == ["raw"]


class Attack:
    """What an evil pickle does: it calls a function when it is read."""

    def __init__(self, function: Callable[..., Any], *arguments: Any) -> None:
        self.call = function, arguments

    def __reduce__(self) -> tuple[Callable[..., Any], tuple[Any, ...]]:
        return self.call


@pytest.mark.parametrize(
    ("function", "named"), [(os.mkdir, r"\w+\.mkdir"), (eval, r"(builtins|__builtin__)\.eval"), (np.save, "numpy.save")]
)
@pytest.mark.parametrize("protocol", [0, 2, 4])
def test_a_pickle_that_would_run_something_is_refused_before_it_runs(
    folder: Path, function: Callable[..., Any], named: str, protocol: int
) -> None:
    trap = folder.parent / "trap"
    arguments = {os.mkdir: (str(trap),), eval: (f"open({str(trap)!r}, 'w').close()",), np.save: (str(trap), 1)}
    bad = {"data": Attack(function, *arguments[function]), "labels": []}
    (folder / CIFAR / "test_batch").write_bytes(pickle.dumps(bad, protocol))
    with pytest.raises(DataError, match=rf"must be a whole pickle .*, got UnpicklingError {named}\.$"):
        fresh("scifar")
    assert [path.name for path in folder.parent.iterdir()] == ["raw"]


def test_batches_written_again_by_python_3_with_bytes_for_keys_are_the_same_data(folder: Path) -> None:
    before = fresh("ncifar").version
    for path in (folder / CIFAR).iterdir():
        with path.open("rb") as file:
            whole = pickle.load(file, encoding="bytes")
        assert set(whole) == {b"batch_label", b"labels", b"data", b"filenames"}
        path.write_bytes(pickle.dumps(whole, protocol=4))
    assert fresh("ncifar").version == before


def test_one_other_pixel_is_another_version(folder: Path) -> None:
    before = fresh("psmnist").version
    path = folder / IMAGES
    content = bytearray(path.read_bytes())
    content[-1] ^= 1
    path.write_bytes(content)
    assert fresh("psmnist").version != before


FULL = """
import sys
from pathlib import Path
import raw_images
from longwave.platform.training.feed import epoch_batches
from trials import present_trial
from longwave.tasks import ncifar, psmnist

raw_images.write_mnist(Path(sys.argv[1]) / "raw/mnist", 60000, 10000)
raw_images.write_cifar10(Path(sys.argv[1]) / "raw/cifar10", 50000, 10000)
for task in (psmnist.TASK, ncifar.TASK):
    data = task.load(task.variant)
    config = present_trial(task.name, task.variant, "", "lem", {}, {}, 128, 128, 1, "search", 1)
    batches = epoch_batches([config], data, 1)
    for _ in range(10):
        batch = next(batches)
    print(*(len(split.inputs) for split in (data.train, data.valid, data.test)), *batch.x.shape)
print(next(int(line.split()[1]) for line in open("/proc/self/status") if line.startswith("VmHWM")) / 2**20)
"""


def test_sets_of_the_true_size_load_and_feed_in_less_than_one_and_a_half_gigabytes(tmp_path: Path) -> None:
    places = {"LONGWAVE_CACHE": str(tmp_path), "PYTHONPATH": str(Path(raw.__file__).parent)}
    command = [sys.executable, "-c", FULL, str(tmp_path)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300, env={**os.environ, **places})
    assert done.returncode == 0, done.stderr
    digits, photographs, peak = done.stdout.splitlines()
    assert digits == "57000 3000 10000 1 784 128 1"
    assert photographs == "48000 2000 10000 1 1000 128 96"
    print(f"peak resident memory: {float(peak):.2f} GiB")
    assert float(peak) < 1.5e9 / 2**30
