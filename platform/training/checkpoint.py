"""Checkpoints of packs: safetensors with a checksum, written whole or not at all. Nothing is ever unpickled."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from longwave.files import atomic_file
from longwave.platform.paths import raise_os_errors

if TYPE_CHECKING:
    from torch import Tensor
    from upath import UPath

    from longwave.platform.paths import AnyPath

Somewhere = TypeVar("Somewhere", "Path", "UPath", "AnyPath")
FORMAT = "3"
"""Version of what a checkpoint holds. Bump it when a tensor or a fact comes, goes or means something else."""
CHECKSUM = sha256().digest_size
"""Bytes of the SHA-256 of all before them, with which a file ends."""


@dataclass(frozen=True)
class Saved:
    """What a checkpoint holds: tensors by name, and plain JSON data."""

    tensors: dict[str, Tensor]
    facts: dict[str, Any]


@dataclass(frozen=True)
class Checkpoint:
    """The checkpoint of one pack, and the one before it.

    Attributes:
        path: Its file; on a cluster one that all nodes reach. The one before lies beside it.
        older: Files of packs whose checkpoints may serve where it has none.
    """

    path: AnyPath
    older: tuple[AnyPath, ...] = ()

    def save(self, saved: Saved) -> None:
        """Write a new file, and keep the previous one.

        Raises:
            OSError: It could not be written, as on a full disk; what was there is still there, or beside it.
        """
        from safetensors.torch import save

        tensors = {name: tensor.contiguous() for name, tensor in saved.tensors.items()}
        content = save(tensors, {"format": FORMAT, "facts": json.dumps(saved.facts)})
        _put(self.path, content + sha256(content).digest())

    def load(self) -> Saved | None:
        """Return the first intact one, or None: the pack then starts from the beginning."""
        return next(self.candidates(), None)

    def candidates(self) -> Iterator[Saved]:
        """Yield each that is whole: the newest, the one before it, and in the same order those of ``older``."""
        for path in (self.path, *self.older):
            for file in (path, _before(path)):
                if (saved := _read(file)) is not None:
                    yield saved

    @property
    def parted(self) -> bool:
        """Whether the pack ran out of memory, so that its parts have checkpoints of their own."""
        start, known = f"{self.path.stem}.", {self.path.name, _before(self.path).name}
        parts = {n for n in _names(self.path.parent) if n.startswith(start) and n.endswith(self.path.suffix)}
        return bool(parts - known)

    def part(self, name: str) -> Checkpoint:
        """Return the checkpoint of a part of the pack, which goes on from here where it has none of its own."""
        return Checkpoint(_beside(self.path, name), (self.path, *self.older))

    def remove(self) -> None:
        """Delete its files, those of its parts, and what a save that was killed left; none of ``older``."""
        begins = (f"{self.path.stem}.", f".{self.path.stem}.")
        with raise_os_errors(self.path):
            for name in [name for name in _names(self.path.parent) if name.startswith(begins)]:
                with suppress(IsADirectoryError):  # somebody else's
                    (self.path.parent / name).unlink(missing_ok=True)


def _names(folder: AnyPath) -> list[str]:
    """Return the names of the files in a folder: thousands, of which no path is made. None where it is not there."""
    with suppress(FileNotFoundError, NotADirectoryError), raise_os_errors(folder):
        return os.listdir(folder) if isinstance(folder, Path) else [file.name for file in folder.iterdir()]
    return []


def _put(path: AnyPath, content: bytes) -> None:
    """Put a file in its place, whole or not at all, and the one that was there beside it."""
    if isinstance(path, Path):
        path.parent.mkdir(parents=True, exist_ok=True)
        with atomic_file(path) as partial:
            partial.write_bytes(content)
            with suppress(FileNotFoundError, IsADirectoryError, NotADirectoryError):
                path.replace(_before(path))
        return
    with raise_os_errors(path):
        with suppress(FileNotFoundError):
            path.fs.cp_file(path.path, _before(path).path)
        path.fs.pipe_file(path.path, content)


def _beside(path: Somewhere, name: str) -> Somewhere:
    return path.with_stem(f"{path.stem}.{name}")


def _before(path: Somewhere) -> Somewhere:
    """Return where the checkpoint before the newest lies."""
    return _beside(path, "before")


def _read(path: AnyPath) -> Saved | None:
    """Return what a file holds; None if it is not there, not what was written, or of another version."""
    from safetensors.torch import load

    try:
        with raise_os_errors(path):
            content = path.read_bytes()
    except OSError:
        return None
    body = content[:-CHECKSUM]
    if sha256(body).digest() != content[-CHECKSUM:]:
        return None
    metadata = json.loads(body[8 : 8 + int.from_bytes(body[:8], "little")])["__metadata__"]
    return Saved(load(body), json.loads(metadata["facts"])) if metadata["format"] == FORMAT else None
