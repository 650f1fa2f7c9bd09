"""``longwave bench data``: the memory that tasks need for loading and training batches, each in its own process.

It reads /proc, so it needs Linux.
"""

from __future__ import annotations

import json
import os
import pickle
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from longwave.platform.errors import ConfigError
from longwave.platform.registry import get_task
from longwave.tasks.base.raw import md5_of
from longwave.tasks.base.spec import TaskSpec

BATCHES = 10
MADE_UP = ("mnist", "cifar10")
"""Sources whose files can be made up."""
PROGRAM = """
import json, sys, time
from longwave.platform.training.feed import epoch_batches
from longwave.platform.records.trial import TrialConfig
from longwave.platform.registry import get_task
from longwave.platform.bench.data import accept_made_up
from longwave.platform.processes import peak_memory
task = get_task(sys.argv[1])
if sys.argv[3]:
    accept_made_up(task.files.folder)
def peak_mib():
    return peak_memory() / 2**20
before = peak_mib()
data, recipe = task.load(task.variant), task.recipe("")
config = TrialConfig(task.name, task.variant, "", "", {}, {}, recipe.hidden, recipe.batch, 1, "search", 1,
                     steps=recipe.steps, task_version=task.version, model_version="")
batches, loaded, start = epoch_batches([config], data, 1), peak_mib(), time.perf_counter()
for _, batch in zip(range(int(sys.argv[2])), batches):
    pass
ms = 1000 * (time.perf_counter() - start) / int(sys.argv[2])
shape = list(getattr(batch, batch.INPUTS[0]).shape)
print(json.dumps({"before": before, "loaded": loaded, "peak": peak_mib(), "ms": ms, "shape": shape}))
"""


@dataclass(frozen=True)
class Footprint:
    """The memory that a task needs.

    Attributes:
        name: The task.
        shape: Shape of a batch's inputs: members, examples, then the shape of one example.
        path: ``"real data"``, or ``"made up"``: random bytes in files of the true size.
        ms: Milliseconds per batch.
        before, loaded, peak: Largest resident memory, in MiB: before loading, after it, and after ten batches.
    """

    name: str
    shape: str
    path: str
    ms: float
    before: float
    loaded: float
    peak: float


def measure_footprints(names: Sequence[str]) -> list[Footprint]:
    """Load each task in a fresh process, take ten training batches, and return the memory that took.

    Raises:
        ConfigError: No such task, or its data is not on this machine and cannot be made up. All are checked first.
    """
    for name in names:
        _is_absent(get_task(name))
    return [_measure_footprint(name) for name in names]


def _is_absent(task: TaskSpec) -> bool:
    """Return whether the data of a task must be made up; raise ConfigError if it must and cannot be."""
    if task.files is None or not task.files.missing():
        return False
    if task.files.name not in MADE_UP:
        raise ConfigError(
            f"The data of {task.name} is not on this machine, and cannot be made up. "
            f"Fetch it with: longwave data fetch {task.name}"
        )
    return True


def _measure_footprint(name: str) -> Footprint:
    task = get_task(name)
    absent = _is_absent(task)
    with tempfile.TemporaryDirectory() as folder:
        environment = dict(os.environ)
        if absent and task.files:
            _make_up(task.files.name, Path(folder))
            environment["LONGWAVE_CACHE"] = folder
        done = subprocess.run(
            [sys.executable, "-c", PROGRAM, name, str(BATCHES), "made up" if absent else ""],
            env=environment,
            capture_output=True,
            text=True,
        )
    if done.returncode:
        why = done.stderr.strip().splitlines() or [f"its process ended with status {done.returncode}"]
        raise ConfigError(f"{name} did not load: {why[-1]}")
    measured = json.loads(done.stdout.splitlines()[-1])
    shape = "×".join(map(str, measured.pop("shape")))
    return Footprint(name, shape, "made up" if absent else "real data", **measured)


def _make_up(source: str, folder: Path) -> None:
    """Write the files of MNIST or CIFAR-10, ``source`` of ``MADE_UP``, with random bytes, in their true size."""
    random, target = np.random.RandomState(0), folder / "raw" / source
    if source == "mnist":
        target.mkdir(parents=True)
        for part, n in (("train", 60_000), ("t10k", 10_000)):
            images, labels = random.bytes(n * 784), bytes(k % 10 for k in range(n))
            for kind, sizes, content in (("images-idx3", (n, 28, 28), images), ("labels-idx1", (n,), labels)):
                header = np.array([0x800 + len(sizes), *sizes], ">u4").tobytes()
                (target / f"{part}-{kind}-ubyte").write_bytes(header + content)
    else:
        (target / "cifar-10-batches-py").mkdir(parents=True)
        for name in (*(f"data_batch_{k}" for k in range(1, 6)), "test_batch"):
            batch = {
                "data": random.randint(0, 256, (10_000, 3072), np.uint8),
                "labels": [k % 10 for k in range(10_000)],
            }
            (target / "cifar-10-batches-py" / name).write_bytes(pickle.dumps(batch, protocol=4))
        names = pickle.dumps({"label_names": [str(k) for k in range(10)]})
        (target / "cifar-10-batches-py" / "batches.meta").write_bytes(names)


def accept_made_up(folder: Path) -> None:
    """Make this process accept the made-up files of MNIST or CIFAR-10 in ``folder`` as the originals."""
    from torchvision.datasets import CIFAR10  # type: ignore[import-untyped]

    from longwave.tasks.formats import images

    if folder.name == "mnist":
        images.MD5 = {name: md5_of(folder / name) for name in images.MD5}
    else:
        files = folder / CIFAR10.base_folder
        for listed in (CIFAR10.train_list, CIFAR10.test_list):
            listed[:] = [[name, md5_of(files / name)] for name, _ in listed]
        CIFAR10.meta["md5"] = md5_of(files / CIFAR10.meta["filename"])
