"""Where a trial ran: machine, versions, commit, kernel path. Plain text by name, stored beside each result."""

from __future__ import annotations

import os
import platform
import subprocess
from functools import cache
from importlib import metadata
from pathlib import Path

import torch

ROOT = Path(__file__).resolve().parents[1]
PACKAGES = ("longwave", "torch", "numpy", "scipy", "scikit-learn", "ray", "optuna")


def device() -> torch.device:
    """Return the device a pack trains on: the first CUDA device this process may see, else the CPU."""
    return torch.device("cuda" if torch.cuda.is_available() else "cpu")


@cache
def describe() -> dict[str, str]:
    """Return the facts about this process that could change a result, by name."""
    facts = {name: _version(name) for name in PACKAGES}
    facts |= {
        "python": platform.python_version(),
        "system": f"{platform.system()} {platform.machine()}",
        "device": _processor() if device().type == "cpu" else torch.cuda.get_device_name(),
        "threads": str(torch.get_num_threads()),
        "kernel": "reference",
        "tf32": str(torch.backends.cuda.matmul.allow_tf32).lower(),
        "commit": _git("rev-parse", "HEAD") or "unknown",
        "dirty": str(bool(_git("status", "--porcelain", "--untracked-files=no"))).lower(),
    }
    return facts


def _version(package: str) -> str:
    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:
        return "absent"


def _processor() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
        name = next(line.partition(":")[2].strip() for line in lines if line.startswith("model name"))
    except (OSError, StopIteration):
        name = platform.processor() or platform.machine()
    return f"{name}, {os.cpu_count()} cores"


def _git(*command: str) -> str:
    """Return what git says of the checkout this file is in; empty where there is none."""
    if not (ROOT / ".git").exists():
        return ""
    try:
        return subprocess.run(
            ["git", "-C", str(ROOT), *command], capture_output=True, text=True, timeout=10, check=True
        ).stdout.strip()
    except (OSError, subprocess.SubprocessError):
        return ""
