"""Longwave: long-memory sequence models compared on one board. ``import longwave as lw``, then ``lw.models.lem``.

The parts are imported when they are first named: ``import longwave`` alone loads nothing heavy. ``lw.platform`` is
Longwave's; ``import platform`` stays the standard library's.
"""

from __future__ import annotations

import importlib
from pathlib import Path
from types import ModuleType

PARTS = ("dashboard", "files", "models", "platform", "tasks")

_here = Path(__file__).resolve().parent
if not (_here / "models").is_dir():  # in a checkout the parts lie at its top, in a wheel beside this file
    __path__.append(str(_here.parents[1]))


def __getattr__(name: str) -> ModuleType | str:
    if name in PARTS:
        return importlib.import_module(f"longwave.{name}")
    if name == "__version__":
        from importlib import metadata

        return metadata.version("longwave")
    raise AttributeError(f"longwave has no attribute {name!r}; its parts are {', '.join(PARTS)}.")


def __dir__() -> list[str]:
    return [*PARTS, "__version__"]
