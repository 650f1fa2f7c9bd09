"""Versions that must agree between a driver and the nodes where packs train: Python, Longwave's source, torch, ..."""

from __future__ import annotations

import hashlib
import sys
from collections.abc import Mapping
from functools import cache
from importlib import metadata
from pathlib import Path
from typing import Any

from longwave.platform.redaction import redacted

ROOT = Path(__file__).resolve().parents[3]
CODE, SUFFIXES = ("models", "platform", "tasks"), (".py", ".cpp", ".h")
"""Files that affect results, both in a checkout and in an installed package."""
PACKAGES = ("torch", "triton", "numpy", "scipy", "scikit-learn", "safetensors")


@cache
def versions() -> Mapping[str, str]:
    """Return this process's versions by name; for packages the public part, which CPU and GPU builds share."""
    this_process = {"Python": f"{sys.version_info.major}.{sys.version_info.minor}", "Longwave": _longwave_version()}
    return this_process | {name: _version(name) for name in PACKAGES}


def describe_difference(worker: Mapping[str, str], driver: Mapping[str, str]) -> str:
    """Return in one line how a worker's versions differ from its driver's; empty if they do not."""
    differing = {name: worker.get(name, "absent") for name in driver if worker.get(name) != driver[name]}
    return ", ".join(
        f"{name} {worker_version} where the driver has {driver[name]}" for name, worker_version in differing.items()
    )


def _longwave_version() -> str:
    """Return the version of Longwave, with a digest of its source."""
    files = sorted(f for part in CODE for f in (ROOT / part).rglob("*") if f.suffix in SUFFIXES)
    content = hashlib.sha256()
    for file in files:
        content.update(file.relative_to(ROOT).as_posix().encode() + b"\0" + file.read_bytes() + b"\0")
    return f"{_version('longwave')} ({content.hexdigest()[:8]})"


def _version(package: str) -> str:
    try:
        return metadata.version(package).partition("+")[0]
    except metadata.PackageNotFoundError:
        return "absent"


def why_node_is_unfit(node: Mapping[str, Any], driver: Mapping[str, str], storage: str) -> str:
    """Return in one line why a node gets no packs, and what to do; empty if it gets some.

    Args:
        node: Its ``versions``, and whether it ``sees`` the driver's storage; or the import that it ``lacks``.
        driver: The driver's versions.
        storage: Folder of checkpoints.
    """
    if "lacks" in node:
        return f"no Longwave that matches this driver's ({node['lacks']}). Install this one there, or: sweep submit"
    if other := describe_difference(node["versions"], driver):
        return f"it has {other}. Install the same versions there, and restart its Ray"
    if not node["sees"]:
        return f"it cannot see {redacted(storage)}. Share that folder with it, or use an object store as --storage"
    return ""
