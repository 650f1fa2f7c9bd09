"""Programs that run or compile Triton's kernels without a GPU, each in a separate process."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from types import ModuleType
from typing import Any

import numpy as np
import pytest
from tree import ROOT

Measured = dict[str, Any]


def version(module: ModuleType) -> tuple[int, ...]:
    return tuple(map(int, module.__version__.split(".")[:2]))


def program(name: str, size: str, **more: str) -> Measured:
    """Return the output of program ``name`` of this folder: Triton reads TRITON_INTERPRET when it is imported."""
    command = [sys.executable, "-W", "ignore", str(ROOT / "tests/support" / name), size]
    environment = {name: value for name, value in os.environ.items() if name != "TRITON_INTERPRET"} | more
    done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, timeout=1800)
    assert done.returncode == 0, done.stderr
    actual: Measured = json.loads(done.stdout)
    return actual


def interpreted(name: str, size: str) -> Measured:
    """Return the output of a program in Triton's interpreter."""
    import triton

    if version(triton) < (3, 7) and version(np) >= (2, 4):
        pytest.skip("the interpreter of Triton 3.6 fails with NumPy 2.4")
    return program(name, size, TRITON_INTERPRET="1")
