"""The files of MNIST and CIFAR-10: broken ones, evil ones, and sets of the true size."""

from __future__ import annotations

import gzip
import inspect
import os
import pickle
import re
import socket
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import raw_images as raw
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from longwave.platform.bench.data import accept_made_up
from longwave.tasks import mnist98, ncifar, psmnist, scifar, smnist
from longwave.tasks.base.data import Data
from longwave.tasks.base.raw import DataError
from longwave.tasks.formats import images

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
    raw.accept_small(monkeypatch, tmp_path / "raw")
    return tmp_path / "raw"


def fresh(name: str) -> Data:
    """Load a task past the cache in memory."""
    return inspect.unwrap(TASKS[name].load)(TASKS[name].variant)


def cut(size: int) -> Damage:
    return lambda path: path.write_bytes(path.read_bytes()[:size])


def written(content: bytes) -> Damage:
    return lambda path: path.write_bytes(content)


def copied(name: str) -> Damage:
    return lambda path: path.write_bytes(path.with_name(name).read_bytes())


def made_a_folder(path: Path) -> None:
    path.unlink()
    path.mkdir()


def pickled_again(path: Path) -> None:
    """Write a batch as Python 3 would."""
    with path.open("rb") as file:
        whole = pickle.load(file, encoding="bytes")
    path.write_bytes(pickle.dumps(whole, protocol=4))


OTHER = r"its MD5 must be [0-9a-f]{32}, got [0-9a-f]{32}\. Fetch it again\."
BROKEN: dict[str, tuple[str, str, Damage, str]] = {
    "an empty IDX file": ("smnist", IMAGES, cut(0), OTHER),
    "a truncated image": ("psmnist", IMAGES, cut(15 + 300 * 784), OTHER),
    "a truncated label": ("mnist98", LABELS, cut(47), OTHER),
    "test labels that are training labels": ("smnist", LABELS, copied("train-labels-idx1-ubyte"), OTHER),
    "a packed IDX file": ("smnist", LABELS, lambda p: p.write_bytes(gzip.compress(p.read_bytes())), OTHER),
    "a folder of images": ("smnist", IMAGES, made_a_folder, r"it must be a file, got a folder\."),
    "an empty batch": ("scifar", FIRST, cut(0), OTHER),
    "a truncated batch": ("ncifar", FIRST, cut(90_000), OTHER),
    "no pickle": ("scifar", LAST, written(b"P6 32 32"), OTHER),
    "a pickle of another protocol": ("ncifar", SECOND, pickled_again, OTHER),
    "a training batch twice": ("ncifar", SECOND, copied("data_batch_1"), OTHER),
    "a test batch that is a training batch": ("scifar", LAST, copied("data_batch_1"), OTHER),
    "other names": ("scifar", f"{CIFAR}/batches.meta", written(b"N."), OTHER),
    "a folder of photographs": ("scifar", LAST, made_a_folder, r"it must be a file, got a folder\."),
}


@pytest.mark.parametrize("case", BROKEN)
def test_a_broken_file_is_named_with_the_rule_and_nothing_is_kept(folder: Path, case: str) -> None:
    name, file, damage, message = BROKEN[case]
    damage(folder / file)
    with pytest.raises(DataError, match=rf"^{re.escape(str(folder / file))}: {message}$"):
        fresh(name)
    assert [path.name for path in folder.parent.iterdir()] == ["raw"]


@given(data=st.data())
@settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_a_file_with_one_other_byte_or_cut_anywhere_is_refused(folder: Path, data: st.DataObject) -> None:
    name, files = data.draw(st.sampled_from([("mnist98", images.MNIST.needs), ("scifar", images.CIFAR10.needs)]))
    path = TASKS[name].files.folder / data.draw(st.sampled_from(files))
    whole = path.read_bytes()
    where = data.draw(st.integers(0, len(whole) - 1))
    other = bytes([whole[where] ^ data.draw(st.integers(1, 255))]) + whole[where + 1 :]
    path.write_bytes(whole[:where] + data.draw(st.sampled_from([b"", other])))
    try:
        with pytest.raises(DataError, match=rf"^{re.escape(str(path))}: {OTHER}$"):
            fresh(name)
    finally:
        path.write_bytes(whole)


@pytest.mark.parametrize("name", ["smnist", "scifar"])
def test_what_is_not_the_published_file_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    monkeypatch.setenv("LONGWAVE_CACHE", str(tmp_path))
    raw.write_mnist(tmp_path / "raw/mnist")
    raw.write_cifar10(tmp_path / "raw/cifar10")
    sums = {"smnist": "6bbc9ace898e44ae57da46a324031adb", "scifar": "c99cafc152244af753f735de768cd75f"}
    with pytest.raises(DataError, match=rf"(train-images-idx3-ubyte|data_batch_1): its MD5 must be {sums[name]}, got "):
        fresh(name)


@pytest.mark.integration
def test_torchvision_is_imported_where_it_is_used() -> None:
    code = (
        "import sys; from longwave.platform.registry import all_tasks; all_tasks(); print('torchvision' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60)
    assert (done.stdout, done.returncode) == ("False\n", 0), done.stderr


def test_torchvision_downloads_nothing(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from torchvision.datasets import CIFAR10, MNIST, utils  # type: ignore[import-untyped]

    for owner, call in ((CIFAR10, "download"), (MNIST, "download"), (utils, "download_url"), (socket, "socket")):
        monkeypatch.setattr(owner, call, None)
    assert fresh("smnist").version and fresh("scifar").version
    (folder / LAST).unlink()
    with pytest.raises(DataError, match=r"^scifar needs CIFAR-10: cifar-10-batches-py/test_batch is not in "):
        fresh("scifar")


class Attack:
    """What an evil pickle does: it calls a function when it is read."""

    def __init__(self, function: Callable[..., Any], *arguments: Any) -> None:
        self.call = function, arguments

    def __reduce__(self) -> tuple[Callable[..., Any], tuple[Any, ...]]:
        return self.call


@pytest.mark.parametrize("function", [os.mkdir, eval, np.save])
@pytest.mark.parametrize("protocol", [0, 2, 4])
def test_a_pickle_that_would_run_something_is_refused_before_it_runs(
    folder: Path, function: Callable[..., Any], protocol: int
) -> None:
    trap = folder.parent / "trap"
    arguments = {os.mkdir: (str(trap),), eval: (f"open({str(trap)!r}, 'w').close()",), np.save: (str(trap), 1)}
    bad = {"data": Attack(function, *arguments[function]), "labels": []}
    (folder / CIFAR / "test_batch").write_bytes(pickle.dumps(bad, protocol))
    with pytest.raises(DataError, match=rf"test_batch: {OTHER}$"):
        fresh("scifar")
    assert [path.name for path in folder.parent.iterdir()] == ["raw"]


def test_one_other_pixel_is_another_version(folder: Path) -> None:
    before = fresh("psmnist").version
    path = folder / IMAGES
    content = bytearray(path.read_bytes())
    content[-1] ^= 1
    path.write_bytes(content)
    accept_made_up(folder / "mnist")
    assert fresh("psmnist").version != before


FULL = """
import sys
from pathlib import Path
import raw_images
from longwave.platform.bench.data import accept_made_up
from longwave.platform.training.feed import epoch_batches
from trials import present_trial
from longwave.tasks import ncifar, psmnist

raw_images.write_mnist(Path(sys.argv[1]) / "raw/mnist", 60000, 10000)
raw_images.write_cifar10(Path(sys.argv[1]) / "raw/cifar10", 50000, 10000)
for task in (psmnist.TASK, ncifar.TASK):
    accept_made_up(task.files.folder)
    data = task.load(task.variant)
    config = present_trial(task.name, task.variant, "", "lem", {}, {}, 128, 128, 1, "search", 1)
    batches = epoch_batches([config], data, 1)
    for _ in range(10):
        batch = next(batches)
    print(*(len(split.inputs) for split in (data.train, data.valid, data.test)), *batch.x.shape)
print(next(int(line.split()[1]) for line in open("/proc/self/status") if line.startswith("VmHWM")) / 2**20)
"""


@pytest.mark.slow  # 130,000 images are drawn, written, hashed and read
def test_sets_of_the_true_size_load_and_feed_in_less_than_one_and_a_half_gigabytes(tmp_path: Path) -> None:
    environment = {"LONGWAVE_CACHE": str(tmp_path), "PYTHONPATH": str(Path(raw.__file__).parent)}
    command = [sys.executable, "-c", FULL, str(tmp_path)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300, env={**os.environ, **environment})
    assert done.returncode == 0, done.stderr
    digits, photographs, peak = done.stdout.splitlines()
    assert digits == "57000 3000 10000 1 784 128 1"
    assert photographs == "48000 2000 10000 1 1000 128 96"
    print(f"peak resident memory: {float(peak):.2f} GiB")
    assert float(peak) < 1.5e9 / 2**30
