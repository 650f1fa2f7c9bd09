"""The environment of a trial: machine, versions, commit and uncommitted changes, as texts stored with each result."""

from __future__ import annotations

import ctypes
import hashlib
import os
import platform
import re
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache
from importlib import metadata
from pathlib import Path
from threading import get_ident

import torch

from longwave.platform.records.identity import digest
from longwave.platform.training import energy

ROOT = Path(__file__).resolve().parents[2]
CODE = ("models", "platform", "tasks")
"""Folders whose files affect results. Changes elsewhere do not make a checkout dirty."""
TRAINS = ("models", "tasks", "platform/training")
"""Folders whose files affect the next step of a training."""
SUFFIXES = (".py", ".cpp", ".h")
BESIDE = ":(exclude)platform/boards/trust.txt"
"""A file in these folders that does not affect results, and changes while an edition is trained."""
PATCH = 2**20
"""Maximal characters of a patch that are stored."""
DIFF = "diff HEAD --no-color --no-ext-diff --no-textconv --full-index --src-prefix=a/ --dst-prefix=b/".split()
M_TRIM_THRESHOLD, M_MMAP_MAX = -1, -4
"""Options of glibc's mallopt: threshold for returning memory to the system, and maximal number of mmap blocks."""
GRAIN = 2**15
"""Smallest number of elements that torch gives a thread."""
PACKAGES = ("longwave", "torch", "numpy", "scipy", "scikit-learn", "ray", "optuna")


def _hash_code() -> str:
    """Return the hash of all files in ``TRAINS``, without git, equal in a checkout and an installed package."""
    files = sorted(file for folder in TRAINS for file in (ROOT / folder).rglob("*") if file.suffix in SUFFIXES)
    content = hashlib.sha256()
    for file in files:
        content.update(file.relative_to(ROOT).as_posix().encode() + b"\0" + file.read_bytes() + b"\0")
    return content.hexdigest()[:12]


CODE_HASH = _hash_code()
"""Hash of the code that this process uses; later edits of files do not change it."""


def device() -> torch.device:
    """Return the device for packs: the first visible CUDA device, else the CPU."""
    return torch.device("cuda" if torch.cuda.is_available() else "cpu")


@contextmanager
def use_threads(cores: float) -> Iterator[None]:
    """Set torch's number of threads to that of whole cores, at least one, inside the block: this process may be a
    notebook, which continues after it.
    """
    previous = torch.get_num_threads()
    torch.set_num_threads(max(int(cores), 1))
    try:
        yield
    finally:
        torch.set_num_threads(previous)


def keep_to(cores: float) -> None:
    """Set the number of threads to that of whole cores, at least one, and make malloc keep freed memory. PyTorch reads
    ``OMP_NUM_THREADS`` only at import, before Ray assigns cores to a pack.
    """
    torch.set_num_threads(max(int(cores), 1))
    if platform.libc_ver()[0] == "glibc":
        # Otherwise large tensors get new pages in every step, which the system first fills with zeros.
        libc = ctypes.CDLL(None)
        libc.mallopt(M_MMAP_MAX, 0)
        libc.mallopt(M_TRIM_THRESHOLD, -1)


@contextmanager
def flushing_subnormals() -> Iterator[None]:
    """Flush subnormal numbers to zero inside the block, in this thread and in torch's worker threads. Afterwards each
    thread's setting is restored. ``torch.set_flush_denormal`` affects only the calling thread.
    """
    this_thread, previous = get_ident(), dict[int, bool]()

    def flush() -> None:
        previous[get_ident()] = sys.float_info.min / 2 == 0.0
        torch.set_flush_denormal(True)

    def restore() -> None:  # threads started inside the block get the setting of this thread
        torch.set_flush_denormal(previous.get(get_ident(), previous[this_thread]))

    _in_all_threads(flush)
    try:
        yield
    finally:
        _in_all_threads(restore)


def _in_all_threads(action: Callable[[], None]) -> None:
    """Call ``action`` in this thread and in torch's worker threads. The latter are reached through GNU OpenMP's entry
    point; if torch is built without it, they are left out.
    """
    library, count = ctypes.CDLL(torch._C.__file__), torch.get_num_threads()
    if count == 1 or not hasattr(library, "GOMP_parallel"):
        action()
    else:
        library.GOMP_parallel(ctypes.CFUNCTYPE(None, ctypes.c_void_p)(lambda _: action()), None, count, 0)


def subnormals() -> str:
    """Return how torch's threads treat subnormals: ``"flushed"``, ``"kept"`` or ``"kept by some threads"``."""
    numbers = torch.full((GRAIN * torch.get_num_threads(),), torch.finfo(torch.float32).tiny)
    count = int(torch.count_nonzero((numbers / 2).view(torch.int32)))
    return "flushed" if count == 0 else "kept" if count == numbers.numel() else "kept by some threads"


def gpus() -> list[str]:
    """Return the kinds of the visible CUDA devices."""
    count = torch.cuda.device_count() if torch.cuda.is_available() else 0
    return [kind_of(torch.cuda.get_device_name(k)) for k in range(count)]


def kind_of(name: str) -> str:
    """Return Ray's name of a GPU's kind: ``A100`` for ``NVIDIA A100-SXM4-80GB``."""
    match = re.match(r"\w+\s+((?:[A-Z]+\s+)*[A-Z0-9]*\d[A-Z0-9]*)", name)
    short = match.group(1).replace(" ", "-") if match else ""
    return short if len(short) > 1 else name.removeprefix("NVIDIA ").strip().replace(" ", "-")


def describe() -> dict[str, str]:
    """Return the facts about this process that may affect a result, by name. ``diff`` names the patch, if any."""
    facts = {**_lasting(), "threads": str(torch.get_num_threads())}
    return facts | ({"subnormals": subnormals()} if device().type == "cpu" else {})


@cache
def _lasting() -> dict[str, str]:
    """Return the facts that are constant during a process."""
    facts = {name: _version(name) for name in PACKAGES}
    facts |= {
        "python": platform.python_version(),
        "system": f"{platform.system()} {platform.machine()}",
        "device": processor_name() if device().type == "cpu" else torch.cuda.get_device_name(),
        "kernel": "unknown",
        "commit": (_git("rev-parse", "HEAD") or "unknown").strip(),
        "dirty": "unknown" if patch() is None else str(bool(patch())).lower(),
        "code": CODE_HASH,
        "lock": _lock(),
    }
    if device().type == "cuda":
        facts |= {"driver": energy.driver(), "cuda": str(torch.version.cuda), "tf32": _tf32()}
        facts |= {"cudnn": str(torch.backends.cudnn.version())}
    return facts | ({"diff": digest({"patch": patch()})} if patch() else {})


@cache
def patch() -> str | None:
    """Return the uncommitted changes of the code for ``git apply``, including new files; None if git fails. A patch
    longer than ``PATCH`` is truncated, with the hash of the full text.
    """
    with tempfile.TemporaryDirectory() as folder:
        index = Path(folder, "index")  # a copy, so that the checkout's index is not changed
        for command in ("read-tree HEAD", "add --intent-to-add -- " + " ".join(CODE)):
            if _git(*command.split(), index=index) is None:
                return None
        text = _git(*DIFF, "--", *CODE, BESIDE, index=index)
    if text is not None and len(text) > PATCH:
        full_hash = hashlib.sha256(text.encode()).hexdigest()
        return f"{text[:PATCH]}\nCut here: {len(text)} characters in all, SHA-256 {full_hash}.\n"
    return text


def _lock() -> str:
    """Return the hash of a checkout's lock file, else of the names and versions of installed packages."""
    file = ROOT / "requirements.lock"
    if file.is_file():
        return f"{file.name} {hashlib.sha256(file.read_bytes()).hexdigest()[:16]}"
    return f"installed {digest(sorted({f'{d.name}=={d.version}' for d in metadata.distributions()}))}"


def _tf32() -> str:
    """Return the torch libraries that may round float32 to tf32."""
    allowed = {"matmul": torch.backends.cuda.matmul.allow_tf32, "cudnn": torch.backends.cudnn.allow_tf32}
    return ", ".join(name for name, on in allowed.items() if on) or "off"


def _version(package: str) -> str:
    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:
        return "absent"


def processor_name(file: Path = Path("/proc/cpuinfo")) -> str:
    """Return the processor's name and number of cores; on x86 also family and model, since virtual machines often give
    several generations the same name.
    """
    try:
        parts = (line.partition(":") for line in file.read_text().split("\n\n")[0].splitlines())
        facts = {key.strip(): value.strip() for key, _, value in parts}
        name = facts["model name"]
    except (OSError, KeyError):
        return f"{platform.processor() or platform.machine()}, {os.cpu_count()} cores"
    if {"cpu family", "model"} <= facts.keys():
        name += f" (family {facts['cpu family']}, model {facts['model']})"
    return f"{name}, {os.cpu_count()} cores"


def _git(*command: str, index: Path | None = None) -> str | None:
    """Return git's output for the checkout of this file, with another ``index`` if given; None if git fails."""
    if not (ROOT / ".git").exists():
        return None
    variables = {
        k: v for k, v in os.environ.items() if not k.startswith("GIT_")
    }  # inside a hook they refer to another repository
    variables |= {"GIT_INDEX_FILE": str(index)} if index else {}
    try:
        return subprocess.run(
            ["git", "-C", str(ROOT), *command],  # nosec B607  # the user's git
            capture_output=True, encoding="utf-8", errors="replace", timeout=10, check=True, env=variables,
        ).stdout  # fmt: skip
    except (OSError, subprocess.SubprocessError):
        return None
