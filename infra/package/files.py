"""Write files atomically, and private files with owner-only permissions."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from threading import get_ident


@contextmanager
def atomic_file(path: Path, private: bool = False) -> Iterator[Path]:
    """Yield a temporary file beside ``path``, which replaces ``path`` if the block succeeds, and is deleted if not.

    ``path`` is complete at all times, even if processes or threads write at once or the machine crashes: the content is
    synced to disk before the rename, and the rename before this returns (SQLite's order of fsyncs).

    Args:
        path: The file to write.
        private: Whether only the owner may read it (0600), from the first byte on.
    """
    partial = path.with_name(f".{path.stem}.{os.getpid()}.{get_ident()}{path.suffix}")
    try:
        if private:
            own_file(partial)
        yield partial
        if private:
            partial.chmod(0o600)  # the writer may have replaced the file
        _to_disk(partial)
        os.replace(partial, path)
        _to_disk(path.parent)
    finally:
        with suppress(OSError):
            partial.unlink()


def own_file(path: Path) -> bool:
    """Create an empty file that only its owner may read (0600); return False if it exists already."""
    try:
        os.close(os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600))
    except FileExistsError:
        return False
    return True


def own_folder(path: Path) -> Path:
    """Create a folder and its missing parents, for their owner only (0700); return it."""
    missing = [folder for folder in (path, *path.parents) if not folder.exists()]
    for folder in reversed(missing):
        folder.mkdir(mode=0o700, exist_ok=True)
    return path


def _to_disk(path: Path) -> None:
    """Sync a file, or the names in a folder, to disk. Does nothing where the system cannot open folders."""
    flags = os.O_RDONLY | getattr(os, "O_BINARY", 0)
    try:
        descriptor = os.open(path, flags)
    except PermissionError:
        return
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
