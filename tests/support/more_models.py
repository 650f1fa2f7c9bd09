"""A process of its own whose models/ has more files in it, so that a test can show what one file does."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from tree import ROOT


def with_models(folder: Path, program: str) -> str:
    """Run a program that sees the files of ``folder`` among the models; return what it prints."""
    start = f"import sys, longwave.models; longwave.models.__path__.append({str(folder)!r})\n"
    done = subprocess.run(
        [sys.executable, "-c", start + program], cwd=ROOT, capture_output=True, text=True, timeout=300
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout
