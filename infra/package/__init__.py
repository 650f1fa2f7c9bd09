"""Longwave: long-memory sequence models compared on one board, each also a torch module.

``import longwave as lw``, then ``lw.LEM(1, 64, dt=0.5)`` and every other layer by its name; ``lw.start``, ``lw.sweep``,
``lw.board``, ``lw.compare``, ``lw.load`` and ``lw.check``. The subpackages, such as ``lw.models.lem``, are attributes
too. Everything is imported on first use: ``import longwave`` by itself loads nothing heavy. ``lw.platform`` is
Longwave's; ``import platform`` stays the standard library's.
"""

from __future__ import annotations

import importlib
import re
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from longwave import dashboard as dashboard
    from longwave import files as files
    from longwave import models as models
    from longwave import platform as platform
    from longwave import rules as rules
    from longwave import tasks as tasks
    from longwave.platform.api.boards import board as board
    from longwave.platform.api.boards import compare as compare
    from longwave.platform.api.checking import check as check
    from longwave.platform.api.layers import *  # noqa: F403
    from longwave.platform.api.loading import load as load
    from longwave.platform.api.starting import start as start
    from longwave.platform.api.sweeping import sweep as sweep

    __version__: str

PARTS = ("dashboard", "files", "models", "platform", "rules", "tasks")
FUNCTIONS = {
    "board": "boards",
    "check": "checking",
    "compare": "boards",
    "load": "loading",
    "start": "starting",
    "sweep": "sweeping",
}
"""Public functions, and the modules of ``platform/api`` that define them."""

_here = Path(__file__).resolve().parent
if not (_here / "models").is_dir():  # the parts are at the top of a checkout, and beside this file in a wheel
    __path__.append(str(_here.parents[1]))  # noqa: F405

if not TYPE_CHECKING:

    def __getattr__(name: str) -> object:
        if name in PARTS:
            return importlib.import_module(f"longwave.{name}")
        if name in FUNCTIONS:
            return getattr(importlib.import_module(f"longwave.platform.api.{FUNCTIONS[name]}"), name)
        if name == "__version__":
            from importlib import metadata

            return metadata.version("longwave")
        if name[:1].isupper():  # only layers have capitalised names, so no other name imports torch
            from longwave.platform.api.modules import modules

            if name in modules():
                return modules()[name]
        from longwave.platform.names import nearest_names

        if similar := nearest_names(name, __dir__()):
            raise AttributeError(f"longwave has no attribute {name!r}. Did you mean {' or '.join(similar)}?")
        names = ", ".join([*FUNCTIONS, *PARTS])
        raise AttributeError(f"longwave has no attribute {name!r}; it has the layers of dir(longwave), and {names}.")


def __dir__() -> list[str]:
    stubs = (Path(folder) / "platform/api/layers.pyi" for folder in __path__)  # noqa: F405
    text = next(file.read_text(encoding="utf-8") for file in stubs if file.exists())
    return [*PARTS, *FUNCTIONS, *re.findall(r"^class (\w+)", text, re.MULTILINE), "__version__"]
