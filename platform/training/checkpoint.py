"""Checkpoints of packs: safetensors with a checksum, written atomically. Nothing is ever unpickled."""

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
"""Version of the content of checkpoints. Bump it when a tensor or a fact is added, removed or changes its meaning."""
CHECKSUM = sha256().digest_size
"""Size in bytes of the SHA-256 of the content, with which a file ends."""


@dataclass(frozen=True)
class Saved:
    """The content of a checkpoint: tensors by name, and plain JSON data."""

    tensors: dict[str, Tensor]
    facts: dict[str, Any]


@dataclass(frozen=True)
class Checkpoint:
    """The checkpoint files of one pack: the newest and the previous one.

    Attributes:
        path: Its file, reachable from all nodes of a cluster. The previous one is beside it.
        older: Files of packs whose checkpoints can be used if it has none.
    """

    path: AnyPath
    older: tuple[AnyPath, ...] = ()

    def save(self, saved: Saved) -> None:
        """Write a new file, and keep the previous one.

        Raises:
            OSError: It could not be written, as on a full disk; the previous file is kept, at its place or beside it.
        """
        from safetensors.torch import save

        tensors = {name: tensor.contiguous() for name, tensor in saved.tensors.items()}
        content = save(tensors, {"format": FORMAT, "facts": json.dumps(saved.facts)})
        _put(self.path, content + sha256(content).digest())

    def candidates(self) -> Iterator[Saved]:
        """Yield all intact checkpoints: the newest, the previous one, and likewise those of ``older``. Of a pack that
        was split, those of its parts are among them, the farthest first: all parts but one may have ended since.
        """
        for path in (self.path, *self.older):
            parts: list[AnyPath] = []
            with suppress(OSError):
                parts = _parts(path)
            states = (saved for file in (path, _before(path), *parts) if (saved := _read(file)) is not None)
            yield from sorted(states, key=lambda saved: -saved.facts["steps"]) if parts else states

    @property
    def parted(self) -> bool:
        """Whether the pack ran out of memory and was split, so that its parts have checkpoints."""
        return bool(_parts(self.path))

    def part(self, name: str) -> Checkpoint:
        """Return the checkpoint of a part of the pack, which continues from this one until it has its own."""
        return Checkpoint(_beside(self.path, name), (self.path, *self.older))

    def share_with(self, *cut: Checkpoint) -> bool:
        """Let packs that are cut from its pack begin with it, also under a later driver that knows only the new packs.

        One that has a checkpoint keeps it. Return whether it worked; if not, a later driver begins them anew.
        """
        with suppress(OSError), raise_os_errors(self.path):
            for new in cut:
                _link_file(self.path, new.path)
                _link_file(_before(self.path), _before(new.path))
            return True
        return False

    def remove(self) -> None:
        """Delete its files, those of its parts, and leftovers of interrupted saves, but not those of ``older``."""
        begins = (f"{self.path.stem}.", f".{self.path.stem}.")
        with raise_os_errors(self.path):
            for name in [name for name in _names(self.path.parent) if name.startswith(begins)]:
                with suppress(IsADirectoryError):  # not a checkpoint
                    (self.path.parent / name).unlink(missing_ok=True)


def saved_stems(folder: AnyPath) -> set[str]:
    """Return the stems of the checkpoints in a folder, also of those with parts or interrupted saves alone."""
    return {name.removeprefix(".").partition(".")[0] for name in _names(folder)}


def _names(folder: AnyPath) -> list[str]:
    """Return the names of files in a folder, as texts because there are thousands; none if it does not exist."""
    with suppress(FileNotFoundError, NotADirectoryError), raise_os_errors(folder):
        return os.listdir(folder) if isinstance(folder, Path) else [file.name for file in folder.iterdir()]
    return []


def _put(path: AnyPath, content: bytes) -> None:
    """Write a file atomically, and move the existing one beside it."""
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


def _link_file(path: AnyPath, new: AnyPath) -> None:
    """Give a file, if it exists, another name, unless there is one of that name. Files are replaced, never changed."""
    with suppress(FileNotFoundError, FileExistsError):
        if isinstance(path, Path) and isinstance(new, Path):
            os.link(path, new)
        elif not isinstance(path, Path) and not isinstance(new, Path) and not new.exists():
            new.fs.cp_file(path.path, new.path)


def _beside(path: Somewhere, name: str) -> Somewhere:
    return path.with_stem(f"{path.stem}.{name}")


def _before(path: Somewhere) -> Somewhere:
    """Return the path of the previous checkpoint."""
    return _beside(path, "before")


def _parts(path: AnyPath) -> list[AnyPath]:
    """Return the checkpoints of the parts of a pack that was split, and of their parts."""
    start, own_files = f"{path.stem}.", {path.name, _before(path).name}
    names = {n for n in _names(path.parent) if n.startswith(start) and n.endswith(path.suffix)}
    return [path.parent / name for name in sorted(names - own_files)]


def _read(path: AnyPath) -> Saved | None:
    """Return the content of a file; None if it is missing, damaged, or of another version."""
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
