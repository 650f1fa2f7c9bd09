"""Which tests are those of a broken file: a rule over folders and imports, so that nobody keeps a list."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from changed import distances, used_files
from tree import ROOT

FOUND_BY_NAME = ("models", "tasks")
"""Folders whose modules the registry finds by name: what tests one says its name and imports nothing."""
TESTED_TOGETHER = {"models/kernels/compiler": "models/kernels"}
"""A folder whose tests are those of a folder above: what the compiler prints is tested where it runs."""


class OwnTests:
    """The tests of the files of a folder that are to be broken, one at a time."""

    def __init__(self, folder: str, files: Iterable[str]) -> None:
        self.used = used_files({ROOT / file for file in files})
        self.mirror = ROOT / "tests" / TESTED_TOGETHER.get(folder, folder)
        while not any(self.mirror.rglob("test_*.py")):
            self.mirror = self.mirror.parent

    def nearest(self, file: str, first: str = "") -> list[str]:
        """Return the words that make pytest run a file's own tests.

        They are those of the folder that mirrors its own which are the fewest imports away from it, ``first`` before
        the others, or the file that is named after it; all of that folder where none is. Of a module that is found by
        name they are those of the folder that say its name.
        """
        if _is_found_by_name(file):
            return [*_names(sorted(self.mirror.glob("test_*.py"))), "-k", Path(file).stem]
        away = self._away(file, self.mirror)
        own = [path for path in away if away[path] == min(away.values())] or self.mirror.rglob("test_*.py")
        return _names(
            sorted(own, key=lambda path: (not path.name.startswith(first or f"test_{Path(file).stem}"), path))
        )

    def others(self, file: str) -> list[str]:
        """Return other tests that import the file, and of that folder those that are one import further away."""
        near = self._away(file, self.mirror)
        least = min(near.values(), default=0) if not _is_found_by_name(file) else 0
        further = [path for path, steps in near.items() if steps == least + 1]
        importing = [path for path, steps in self._away(file, ROOT / "tests").items() if steps == 1]
        nearest = [] if _is_found_by_name(file) else self.nearest(file)
        return [name for name in dict.fromkeys(_names([*sorted(further), *sorted(importing)])) if name not in nearest]

    def _away(self, file: str, folder: Path) -> dict[Path, int]:
        """Return how many imports each test file of a folder is away from a file."""
        steps = distances({ROOT / file}, self.used)
        return {path: n for path, n in steps.items() if path.name.startswith("test_") and folder in path.parents}


def _is_found_by_name(file: str) -> bool:
    return str(Path(file).parent) in FOUND_BY_NAME


def _names(paths: Iterable[Path]) -> list[str]:
    return [str(path.relative_to(ROOT)) for path in paths]
