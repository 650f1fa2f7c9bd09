"""Write a file whole or not at all: the one way in which Longwave writes what another process may read."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path


@contextmanager
def whole(path: Path) -> Iterator[Path]:
    """Give a file beside ``path`` to write; at the end of the block it takes that place, or nothing is left of it.

    Two processes may do so at once, and the machine may stop at any moment: what stands at ``path`` is always whole.
    The content is on the disk before the name is, and the name before this returns (SQLite's order of fsyncs).
    """
    partial = path.with_name(f".{path.stem}.{os.getpid()}{path.suffix}")
    try:
        yield partial
        _to_disk(partial)
        os.replace(partial, path)
        _to_disk(path.parent)
    finally:
        with suppress(OSError):
            partial.unlink()


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
