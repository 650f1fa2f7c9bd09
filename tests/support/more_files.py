"""A separate process whose models/ and tasks/ have additional files, so that a test can show the effect of a file."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from tree import ROOT


def with_models(folder: Path, program: str) -> str:
    """Run a program with the files of ``folder`` among the models; return its output."""
    return with_files({"models": folder}, program)


def with_files(folders: dict[str, Path], program: str, code: int = 0) -> str:
    """Run a program with the files of these folders among those of models/ or tasks/, and with the tests' helpers.

    Returns:
        Its output, then its errors; it must end with ``code``.
    """
    start = f"import sys; sys.path.append({str(ROOT / 'tests/support')!r})\n"
    for part, folder in folders.items():
        start += f"import longwave.{part}; longwave.{part}.__path__.append({str(folder)!r})\n"
    done = subprocess.run(
        [sys.executable, "-c", start + program], cwd=ROOT, capture_output=True, text=True, timeout=300
    )
    assert done.returncode == code, done.stdout + done.stderr
    return done.stdout + done.stderr
