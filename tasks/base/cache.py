"""Generated data on disk: made once, shared by all processes, read-only afterwards."""

from __future__ import annotations

import os
import zipfile
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import numpy as np

from longwave.files import atomic_file
from longwave.tasks.base.variants import FRESH

SEED, FRESH_SEED = 1234, 4321
"""Of generated data, and of data with the fresh test split."""


def folder() -> Path:
    """Return the data folder: ``LONGWAVE_CACHE``, else ``~/.cache/longwave``."""
    return Path(os.environ.get("LONGWAVE_CACHE") or Path.home() / ".cache" / "longwave")


def cached(key: str, make: Callable[[], dict[str, np.ndarray]]) -> dict[str, np.ndarray]:
    """Return ``make()``, from disk if some process has stored it before; a damaged file is replaced.

    Two processes that start at once may both compute it. If the folder is not writable it is computed each time.

    Args:
        key: Everything that determines the content, version included.
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


def generated(key: str, make: Callable[[int], dict[str, np.ndarray]], fresh: bool) -> dict[str, np.ndarray]:
    """Return ``make(SEED)`` as ``cached`` does.

    Args:
        key: As there.
        make: The generator, from a seed; names of its arrays begin with those of the splits.
        fresh: Whether the test split is that of ``make(FRESH_SEED)``.
    """
    arrays = cached(key, lambda: make(SEED))
    if fresh:
        others = cached(f"{key}-{FRESH}", lambda: make(FRESH_SEED))
        arrays |= {name: values for name, values in others.items() if name.startswith("test")}
    return arrays
