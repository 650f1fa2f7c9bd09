"""Selection of the tests of a broken file, by folders and imports, without a list to maintain."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from changed import distances, used_files
from tree import ROOT

FOUND_BY_NAME = ("models", "tasks")
"""Folders whose modules the registry finds by name: their tests contain the name and import nothing."""
TESTED_TOGETHER = {"models/kernels/compiler": "models/kernels"}
"""Folders whose tests are those of a parent folder: generated code is tested where it runs."""
TESTED_ELSEWHERE = {"tasks/cards": ("platform/cli/test_bad_cards.py", "platform/cli/test_start_*.py")}
"""Further tests of a folder: data cards are also tested by the commands that read and write them."""


class OwnTests:
    """The tests of the files of a folder, which are broken one at a time."""

    def __init__(self, folder: str, files: Iterable[str]) -> None:
        self.used = used_files({ROOT / file for file in files})
        self.mirror = ROOT / "tests" / TESTED_TOGETHER.get(folder, folder)
        while not any(self.mirror.rglob("test_*.py")):
            self.mirror = self.mirror.parent
        patterns = TESTED_ELSEWHERE.get(folder, ())
        self.elsewhere = [path for pattern in patterns for path in sorted((ROOT / "tests").glob(pattern))]

    def nearest(self, file: str, first: str = "") -> list[str]:
        """Return the pytest arguments for a file's own tests.

        They are the test files in the mirrored folder with the fewest imports between them and the file, ``first`` or
        the one named after it before the others; or all of that folder if none imports it. For a module found by name
        they are those of the folder that contain its name.
        """
        if _is_found_by_name(file):
            return [*_names(sorted(self.mirror.glob("test_*.py"))), "-k", Path(file).stem]
        away = self._away(file, self.mirror)
        nearest_files = [path for path in away if away[path] == min(away.values())] or self.mirror.rglob("test_*.py")
        return _names(
            sorted(nearest_files, key=lambda path: (not path.name.startswith(first or f"test_{Path(file).stem}"), path))
        )

    def others(self, file: str) -> list[str]:
        """Return other tests that import the file, those of that folder that are one import further away, and those of
        ``TESTED_ELSEWHERE``.
        """
        near = self._away(file, self.mirror)
        least = min(near.values(), default=0) if not _is_found_by_name(file) else 0
        further = [path for path, steps in near.items() if steps == least + 1]
        importing = [path for path, steps in self._away(file, ROOT / "tests").items() if steps == 1]
        nearest = [] if _is_found_by_name(file) else self.nearest(file)
        return [
            name
            for name in dict.fromkeys(_names([*sorted(further), *sorted(importing), *self.elsewhere]))
            if name not in nearest
        ]

    def _away(self, file: str, folder: Path) -> dict[Path, int]:
        """Return the number of imports between each test file of a folder and a file."""
        steps = distances({ROOT / file}, self.used)
        return {path: n for path, n in steps.items() if path.name.startswith("test_") and folder in path.parents}


def _is_found_by_name(file: str) -> bool:
    return str(Path(file).parent) in FOUND_BY_NAME


def _names(paths: Iterable[Path]) -> list[str]:
    return [str(path.relative_to(ROOT)) for path in paths]
