"""Small user data with their cards, for tests."""

from __future__ import annotations

import gzip
from pathlib import Path
from typing import Any

import numpy as np

from longwave.tasks.cards.write import to_toml

LONG = {
    "files": ["data.csv"],
    "series": "id",
    "time": "t",
    "channels": ["x", "y"],
    "task": "classification",
    "target": "label",
    "classes": ["a", "b"],
}
"""The card of ``long_table``."""


def long_table(n: int = 24, steps: int = 5, classes: str = "ab", seed: int = 0) -> list[list[str]]:
    """Return a header and n examples of some steps, one row per step: id, t, x, y, who, label."""
    random = np.random.RandomState(seed)
    rows = [["id", "t", "x", "y", "who", "label"]]
    for k in range(n):
        for t in range(steps):
            x, y = random.randn(2)
            rows.append([f"s{k}", str(t), f"{x:.5f}", f"{y:.5f}", f"p{k // 2}", classes[k % len(classes)]])
    return rows


def csv(rows: list[list[str]], end: str = "\n") -> bytes:
    """Return a table as CSV."""
    return "".join(",".join(row) + end for row in rows).encode()


def written(folder: Path, content: bytes | str, card: dict[str, Any] | str, **changes: Any) -> Path:
    """Write data and their card, by default ``LONG`` with changes; a key with None is left out."""
    text = content.encode() if isinstance(content, str) else content
    name = "data.csv" if isinstance(card, str) else card["files"][0]
    (folder / name).write_bytes(gzip.compress(text) if name.endswith(".gz") else text)
    path = folder / "toy.toml"
    if isinstance(card, str):
        path.write_text(card, encoding="utf-8")
    else:
        path.write_text(to_toml({k: v for k, v in {**card, **changes}.items() if v is not None}), encoding="utf-8")
    return path
