"""Write a file whole or not at all, for its owner alone where it is nobody else's business."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path


@contextmanager
def atomic_file(path: Path, private: bool = False) -> Iterator[Path]:
    """Give a file beside ``path`` to write; at the end of the block it takes that place, or nothing is left of it.

    Two processes may do so at once, and the machine may stop at any moment: what stands at ``path`` is always whole.
    The content is on the disk before the name is, and the name before this returns (SQLite's order of fsyncs).

    Args:
        path: Where the file is to stand.
        private: Make it its owner's alone, 0600, from its first byte on.
    """
    partial = path.with_name(f".{path.stem}.{os.getpid()}{path.suffix}")
    try:
        if private:
            own_file(partial)
        yield partial
        if private:
            partial.chmod(0o600)  # what wrote it may have put another file there
        _to_disk(partial)
        os.replace(partial, path)
        _to_disk(path.parent)
    finally:
        with suppress(OSError):
            partial.unlink()


def own_file(path: Path) -> bool:
    """Make an empty file that its owner alone may read, 0600; return False, and change nothing, where one is."""
    try:
        os.close(os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600))
    except FileExistsError:
        return False
    return True


def own_folder(path: Path) -> Path:
    """Make a folder, and those above it that are missing, for their owner alone, 0700; return it."""
    missing = [folder for folder in (path, *path.parents) if not folder.exists()]
    for folder in reversed(missing):
        folder.mkdir(mode=0o700, exist_ok=True)
    return path


def _to_disk(path: Path) -> None:
    """Wait until a file, or the names in a folder, are on the disk; systems that cannot open folders keep their own."""
    flags = os.O_RDONLY | getattr(os, "O_BINARY", 0)
    try:
        number = os.open(path, flags)
    except PermissionError:
        return
    try:
        os.fsync(number)
    finally:
        os.close(number)
