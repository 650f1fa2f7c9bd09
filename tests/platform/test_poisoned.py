"""Twenty poisoned files, each given to whatever of Longwave reads its kind: none is executed, each is refused."""

from __future__ import annotations

import io
import json
import pickle
import struct
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from file_server import tar, zipped

from longwave.platform.downloads.unpack import unpack
from longwave.platform.editions import publish
from longwave.platform.errors import ConfigError
from longwave.platform.exchange import bundle
from longwave.platform.sweeps.file.reading import read_sweep
from longwave.platform.training import weights
from longwave.platform.training.checkpoint import Checkpoint
from longwave.tasks.base.cache import cached
from longwave.tasks.base.raw import DataError
from longwave.tasks.formats import images
from longwave.tasks.formats.audio import read_sound
from longwave.tasks.formats.ts_files import read_ts

REFUSED = (ConfigError, DataError, ValueError)


class Touch:
    """Makes the canary when it is unpickled."""

    def __init__(self, canary: Path) -> None:
        self.canary = canary

    def __reduce__(self) -> tuple[Any, ...]:
        import os

        return os.system, (f"touch {self.canary}",)


def npy(canary: Path) -> bytes:
    out = io.BytesIO()
    np.save(out, np.array([Touch(canary)], dtype=object), allow_pickle=True)
    return out.getvalue()


def npz(canary: Path) -> bytes:
    out = io.BytesIO()
    np.savez(out, a=np.array([Touch(canary)], dtype=object))
    return out.getvalue()


def pt(canary: Path, old: bool) -> bytes:
    out = io.BytesIO()
    torch.save({"a": Touch(canary)}, out, _use_new_zipfile_serialization=not old)
    return out.getvalue()


def header(size: int, facts: object = None) -> bytes:
    text = json.dumps(facts).encode()
    return struct.pack("<Q", size or len(text)) + text


def yaml(canary: Path) -> bytes:
    return f"!!python/object/apply:os.system ['touch {canary}']\n".encode()


def load(path: Path) -> None:
    """Load a checkpoint; one that cannot be read is none."""
    if any(True for _ in Checkpoint(path).candidates()):
        raise AssertionError("a poisoned checkpoint was taken")
    raise ValueError("it was taken for none")


def array(path: Path) -> None:
    np.load(path, allow_pickle=False)


def cache(path: Path) -> None:
    """Load a generated data set of which a poisoned file lies in the cache: it is made anew."""
    assert cached(path.stem, lambda: {"a": np.arange(3)})["a"].tolist() == [0, 1, 2]
    raise ValueError("it was made anew")


def image(path: Path) -> None:
    """Load an image set in which one file is poisoned."""
    source, load = (images.CIFAR10, images.read_cifar10) if "batch" in path.name else (images.MNIST, images.read_mnist)
    source.folder.mkdir(parents=True)
    for name in source.needs:
        (source.folder / name).parent.mkdir(exist_ok=True)
        (source.folder / name).write_bytes(path.read_bytes())
    load("a task")


def read_edition(path: Path) -> None:
    publish.read(path.parent)


Reader = Callable[[Path], object]
POISON: tuple[tuple[str, Callable[[Path], bytes], Reader], ...] = (
    ("data_batch_1", lambda c: pickle.dumps(Touch(c)), image),
    ("data_batch_2", lambda c: pickle.dumps({"data": Touch(c)}, protocol=0), image),
    ("data_batch_3", lambda c: b"cbuiltins\neval\n(S'open(\"%s\", \"w\")'\ntR." % str(c).encode(), image),
    ("data_batch_4", lambda c: b"cnumpy.core.multiarray\nfromfile\n(S'/etc/passwd'\ntR.", image),
    ("data_batch_5", lambda c: b"\x80\x04\x95" + struct.pack("<Q", 10**10) + b"N.", image),
    ("a.npy", npy, array),
    ("sound.npy", npy, lambda path: read_sound(path, 16000)),
    ("cached.npz", npz, cache),
    ("a.safetensors", lambda c: pt(c, False), load),
    ("b.safetensors", lambda c: pt(c, True), load),
    ("c.safetensors", lambda c: header(10 * 2**30, {}), load),
    ("d.safetensors", lambda c: header(0, {"a": {"dtype": "F32", "shape": [2**40], "data_offsets": [0, 2**42]}}), load),
    ("e.safetensors", lambda c: pickle.dumps(Touch(c)), load),
    ("f.safetensors", lambda c: pickle.dumps(Touch(c)), weights.read),
    ("sweep.toml", yaml, read_sweep),
    ("bundle.json.xz", lambda c: pickle.dumps(Touch(c)), bundle.read),
    ("manifest.json", yaml, read_edition),
    ("slip.zip", lambda c: zipped((f"../{c.name}", b"x")), lambda p: unpack(p, p.parent)),
    ("slip.tar.gz", lambda c: tar((f"x/../../{c.name}", b"x")), lambda p: unpack(p, p.parent)),
    ("a.tgz", lambda c: tar(("a", {"type": b"2", "linkname": str(c)}), ("a", b"x")), lambda p: unpack(p, p.parent)),
    ("images-idx3-ubyte", lambda c: struct.pack(">IIII", 0x803, 2**31 - 1, 28, 28), image),
    ("a.ts", yaml, lambda path: read_ts(path, 2, 8)),
)  # fmt: skip


@pytest.mark.parametrize(("name", "poison", "read"), POISON, ids=[name for name, _, _ in POISON])
def test_a_poisoned_file_is_refused_and_nothing_in_it_is_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, poison: Callable[[Path], bytes], read: Reader
) -> None:
    folder, canary = tmp_path / "in", tmp_path / "canary"
    folder.mkdir()
    monkeypatch.setenv("LONGWAVE_CACHE", str(folder))
    (folder / name).write_bytes(poison(canary))
    with pytest.raises(REFUSED, match=r"\w") as caught:
        read(folder / name)
    assert not canary.exists() and "\n" not in str(caught.value).strip()


def test_a_pickle_of_the_corpus_would_have_made_the_canary(tmp_path: Path) -> None:
    pickle.loads(pickle.dumps(Touch(tmp_path / "canary")))
    assert (tmp_path / "canary").exists()


def test_a_zip_that_calls_itself_an_array_is_made_anew(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LONGWAVE_CACHE", str(tmp_path))
    for content in (b"", b"PK\x03\x04", b"\x93NUMPY"):
        (tmp_path / "k.npz").write_bytes(content)
        assert cached("k", lambda: {"a": np.arange(2)})["a"].tolist() == [0, 1]
    with zipfile.ZipFile(tmp_path / "k.npz") as again:
        assert again.namelist() == ["a.npy"]
