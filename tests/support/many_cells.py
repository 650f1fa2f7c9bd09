"""Many cells in one library, compiled without optimisation, so that the compiler reads the headers once."""

from __future__ import annotations

import ctypes
import os
import re
import subprocess
from pathlib import Path
from types import SimpleNamespace

from longwave.models.kernels.cells import Cell
from longwave.models.kernels.cpu import run
from longwave.models.kernels.cpu.build import FLAGS, SOURCES, VECTORS, level
from longwave.models.kernels.cpu.emit import emit

ENTRY = re.compile(r"ENTRY\((\w+)\)")
ENTRIES = r"""
extern "C" int \1_forward(const longwave::Call* call, int64_t from, int64_t to) {
  longwave::Loop<longwave::\1>(*call, true, from, to).forward(from, to);
  return 0;
}
extern "C" int \1_backward(const longwave::Call* call, int64_t from, int64_t to) {
  longwave::Loop<longwave::\1>(*call, false, from, to).backward(from, to);
  return 0;
}
"""
"""The functions of the macro ENTRY, with names that include the cell's."""


def library(text: str, folder: Path) -> ctypes.CDLL:
    """Return the library compiled from a text, for this processor."""
    source, target = folder / "cells.cpp", folder / "cells.so"
    source.write_text(text)
    flags = [flag for flag in (*FLAGS, *VECTORS.get(level(), ())) if flag != "-O3"]
    compiler = os.environ.get("CXX", "c++")
    subprocess.run([compiler, *flags, "-w", f"-I{SOURCES}", str(source), "-o", str(target)], check=True)
    return ctypes.CDLL(str(target))


def compile_together(cells: list[Cell], folder: Path) -> None:
    """Compile the printed text of many cells at once; from now on their loops run by it."""
    texts = {cell.name: emit(cell.plan) for cell in cells if cell.plan is not None}
    compiled = library("\n".join(ENTRY.sub(ENTRIES, text) for text in texts.values()), folder)
    for name, text in texts.items():
        [struct] = ENTRY.findall(text)
        functions = {direction: getattr(compiled, f"{struct}_{direction}") for direction in ("forward", "backward")}
        for entry in functions.values():
            entry.argtypes = (ctypes.c_char_p, ctypes.c_int64, ctypes.c_int64)
        run._libraries[name] = SimpleNamespace(**functions)  # type: ignore[assignment]
