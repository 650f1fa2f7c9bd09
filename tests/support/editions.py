"""Editions changed by hand, as by a forger."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path


def sign(folder: Path) -> None:
    """Compute the hashes of the manifest again."""
    manifest = json.loads((folder / "manifest.json").read_text())
    for name in manifest["files"]:
        manifest["files"][name] = hashlib.sha256((folder / name).read_bytes()).hexdigest()
    (folder / "manifest.json").write_text(json.dumps(manifest))
