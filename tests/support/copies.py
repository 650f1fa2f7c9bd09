"""A copy of the tree in which tests change lines, to check what has to be edited to add something."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

from tree import PROGRAMS, ROOT


@dataclass(frozen=True)
class Copy:
    """The package in the layout of an installation, in a separate folder."""

    folder: Path

    def insert(self, file: str, lines: str, before: str) -> None:
        """Insert ``lines`` before ``before``, which must occur once in ``file``; write a new file if it is empty."""
        path = self.folder / "longwave" / file
        text = path.read_text(encoding="utf-8") if before else ""
        assert not before or text.count(before) == 1, f"{file} holds {before!r} {text.count(before)} times"
        path.write_text(text.replace(before, lines + before, 1) if before else lines, encoding="utf-8")

    def run(self, program: str) -> str:
        """Run a program on the copy, in a separate process, and return its output."""
        paths = os.pathsep.join(map(str, [self.folder, *(ROOT / folder for folder in PROGRAMS)]))
        done = subprocess.run(
            [sys.executable, "-c", f"import sys; sys.path[0:1] = []\n{program}"],
            cwd=self.folder, env={**os.environ, "PYTHONPATH": paths}, capture_output=True, text=True, timeout=120,
        )  # fmt: skip
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout


def copied(folder: Path) -> Copy:
    """Return a copy of the package in ``folder``."""
    for part in ("dashboard", "models", "platform", "tasks"):
        shutil.copytree(ROOT / part, folder / "longwave" / part)
    for file in (ROOT / "infra/package").glob("*.py"):
        shutil.copy2(file, folder / "longwave")
    return Copy(folder)
