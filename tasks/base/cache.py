"""Generated data on disk: made once, shared by all processes, read-only afterwards."""

from __future__ import annotations

import os
import zipfile
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import numpy as np

from longwave.files import atomic_file


def folder() -> Path:
    """Return the data folder: ``LONGWAVE_CACHE``, else ``~/.cache/longwave``."""
    return Path(os.environ.get("LONGWAVE_CACHE") or Path.home() / ".cache" / "longwave")


def cached(key: str, make: Callable[[], dict[str, np.ndarray]]) -> dict[str, np.ndarray]:
    """Return ``make()``, from disk if some process has made it before; a damaged file is made anew.

    Two processes that start at once may both make it. Where the folder cannot be written it is made each time.

    Args:
        key: Names the content: everything that decides it, version included.
        make: The generator.
    """
    path = folder() / f"{key}.npz"
    broken = suppress(OSError, EOFError, ValueError, zipfile.BadZipFile)
    with broken, path.open("rb") as file, np.load(file, allow_pickle=False) as stored:
        return dict(stored)
    arrays = make()
    with suppress(OSError):
        path.parent.mkdir(parents=True, exist_ok=True)
    with suppress(OSError), atomic_file(path) as partial:
        np.savez(partial, **arrays)  # type: ignore[arg-type]
    return arrays
