"""Compile the C++ time loop of a cell at its first use, and load it."""

from __future__ import annotations

import ctypes
import hashlib
import os
import shutil
import subprocess
import tempfile
import warnings
from functools import cache
from pathlib import Path

import torch
from filelock import FileLock

from longwave.files import atomic_file

SOURCES = Path(__file__).parent
FLAGS = ("-O3", "-std=gnu++20", "-ffp-contract=fast", "-fno-math-errno", "-fno-trapping-math", "-fPIC", "-shared")
VECTORS = {
    "AVX512": ("-mavx512f", "-mavx512bw", "-mavx512vl", "-mavx512dq", "-mfma"),
    "AVX2": ("-mavx2", "-mfma"),
}
"""Compiler flags by the vector instructions that torch detects; other processors get the compiler's default."""


@cache
def library(text: str) -> ctypes.CDLL | None:
    """Return the library of a cell's text; None, with a warning, if it cannot be built.

    It is compiled, in a few seconds per cell, into the folder of torch's extensions (TORCH_EXTENSIONS_DIR), under a
    hash of the text, the headers, the flags and the compiler.
    """
    try:
        return ctypes.CDLL(str(_compiled(text)))
    except Exception as error:  # a missing compiler fails in many ways; the reference handles all of them
        line = next(iter(str(error).splitlines()), type(error).__name__)
        warnings.warn(f"No fused CPU kernel: {line}. The reference, several times slower, is used.", stacklevel=2)
        return None


def _compiled(text: str) -> Path:
    """Return the shared library of a cell, built in a temporary file and then renamed; one process builds at a time."""
    compiler, flags = os.environ.get("CXX", "c++"), (*FLAGS, *VECTORS.get(level(), ()))
    made = _folder() / f"{_key(compiler, flags, text)}.so"
    if not _sound(made):
        if shutil.which(compiler) is None:
            raise RuntimeError(f"there is no C++ compiler ({compiler}) on PATH")
        made.parent.mkdir(parents=True, exist_ok=True)
        # The system releases the lock with the process, even if it is killed.
        with FileLock(made.with_suffix(".lock")), tempfile.TemporaryDirectory(dir=made.parent) as build:
            if not _sound(made):
                if made.exists() and _sum(made).exists():
                    warnings.warn(f"{made} is damaged and is rebuilt.", stacklevel=3)
                source, target = Path(build, "cell.cpp"), Path(build, "cell.so")
                source.write_text(text)
                command = [compiler, *flags, f"-I{SOURCES}", str(source), "-o", str(target)]
                done = subprocess.run(command, capture_output=True, text=True)
                if done.returncode:
                    raise RuntimeError(f"{compiler} failed: {next(iter(done.stderr.splitlines()), '')}")
                with atomic_file(_sum(made)) as partial:
                    partial.write_text(hashlib.sha256(target.read_bytes()).hexdigest())
                with atomic_file(made) as partial:
                    shutil.copy(target, partial)
    return made


def _sound(made: Path) -> bool:
    """Return whether a library is intact: loading a truncated one can crash the process."""
    if not made.exists() or not _sum(made).exists():
        return False
    return hashlib.sha256(made.read_bytes()).hexdigest() == _sum(made).read_text()


def _sum(made: Path) -> Path:
    return made.with_suffix(".sha256")


@cache
def level() -> str:
    """Return the vector instructions that torch detects here: ``"AVX512"``, ``"AVX2"``, or another name."""
    capability: str = torch.backends.cpu.get_cpu_capability()
    return capability


def _folder() -> Path:
    return Path(os.environ.get("TORCH_EXTENSIONS_DIR") or Path.home() / ".cache/torch_extensions") / "longwave"


def _key(compiler: str, flags: tuple[str, ...], text: str) -> str:
    key = hashlib.sha256("\n".join([compiler, *flags, text]).encode())
    for source in sorted(SOURCES.glob("*.h")):
        key.update(source.read_bytes())
    return key.hexdigest()[:20]
