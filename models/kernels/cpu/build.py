"""Compile the C++ time loop of a cell at its first use, and load it."""

from __future__ import annotations

import ctypes
import hashlib
import logging
import os
import shutil
import sys
import sysconfig
import tempfile
import warnings
from functools import cache
from pathlib import Path

import torch
from filelock import FileLock

from longwave.files import whole

SOURCES = Path(__file__).parent
FLAGS = {
    "AVX512": ("-mavx512f", "-mavx512bw", "-mavx512vl", "-mavx512dq", "-mfma"),
    "AVX2": ("-mavx2", "-mfma", "-mf16c"),
}
"""Compiler flags by the vector instructions that torch finds; other processors get the compiler's own choice."""


@cache
def library(struct: str) -> ctypes.CDLL | None:
    """Return the compiled loop of the cell that ``struct`` names in cells.h; None, with a warning, where there is none.

    torch's loader compiles it, a few seconds a cell, into the folder of torch's extensions (TORCH_EXTENSIONS_DIR).
    """
    try:
        return ctypes.CDLL(str(_compiled(struct)))
    except Exception as error:  # a missing compiler shows itself in many ways; the reference serves all of them
        line = next(iter(str(error).splitlines()), type(error).__name__)
        warnings.warn(f"No fused CPU kernel: {line}. The reference, several times slower, is used.", stacklevel=2)
        return None


def _compiled(struct: str) -> Path:
    """Return the shared library of a cell, built in a folder of its own and then moved into place.

    torch's loader has a lock of its own, but one that outlives a process that is killed; the system's does not.
    """
    level = torch.backends.cpu.get_cpu_capability()
    flags = ["-O3", f"-DCELL={struct}", f"-DCPU_CAPABILITY={level}", f"-DCPU_CAPABILITY_{level}", *FLAGS.get(level, ())]
    key = hashlib.sha256(f"{torch.__version__} {flags}".encode())
    for source in sorted([*SOURCES.rglob("*.h"), *SOURCES.glob("*.cpp")]):
        key.update(source.read_bytes())
    extensions = os.environ.get("TORCH_EXTENSIONS_DIR") or Path.home() / ".cache/torch_extensions"
    folder = Path(extensions) / "longwave"
    made = folder / f"{struct.lower()}_{key.hexdigest()[:16]}.so"
    if not made.exists():
        folder.mkdir(parents=True, exist_ok=True)
        with FileLock(made.with_suffix(".lock")), tempfile.TemporaryDirectory(dir=folder) as build:
            if not made.exists():
                _build(f"longwave_{struct.lower()}", flags, build)
                with whole(made) as partial:
                    shutil.copy(next(Path(build).glob("*.so")), partial)
    return made


def _build(name: str, flags: list[str], folder: str) -> None:
    logging.getLogger("torch.utils.cpp_extension").setLevel(logging.ERROR)  # it wonders where CUDA is
    from torch.utils.cpp_extension import load

    compiler = os.environ.get("CXX", "c++")
    if shutil.which(compiler) is None:
        raise RuntimeError(f"there is no C++ compiler ({compiler}) on PATH")
    path = os.environ["PATH"]
    os.environ["PATH"] = os.pathsep.join([sysconfig.get_path("scripts"), str(Path(sys.executable).parent), path])
    try:  # ninja, which torch calls by name, lies beside Python
        load(name, [str(SOURCES / "scan.cpp")], extra_cflags=flags, build_directory=folder, is_python_module=False)
    finally:
        os.environ["PATH"] = path
