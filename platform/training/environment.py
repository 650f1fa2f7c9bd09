"""Where a trial ran: machine, versions, commit and what differs from it. Text by name, stored beside each result."""

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
"""Folders whose files decide a result. A checkout that differs elsewhere is not dirty."""
TRAINS = ("models", "tasks", "platform/training")
"""Those of them that decide what the next step of a training does."""
SUFFIXES = (".py", ".cpp", ".h")
BESIDE = ":(exclude)platform/boards/trust.txt"
"""A list in them that decides none; it grows while an edition is trained."""
PATCH = 2**20
"""Most characters of a patch that are kept."""
DIFF = "diff HEAD --no-color --no-ext-diff --no-textconv --full-index --src-prefix=a/ --dst-prefix=b/".split()
M_TRIM_THRESHOLD, M_MMAP_MAX = -1, -4
"""Of glibc's malloc: how much memory it gives back at once; how many blocks it asks of the system alone."""
GRAIN = 2**15
"""Numbers that torch gives a thread at least."""
PACKAGES = ("longwave", "torch", "numpy", "scipy", "scikit-learn", "ray", "optuna")


def _hash_code() -> str:
    """Return the hash of all files in the folders ``TRAINS``: without git, and alike in a checkout and a package."""
    files = sorted(file for folder in TRAINS for file in (ROOT / folder).rglob("*") if file.suffix in SUFFIXES)
    content = hashlib.sha256()
    for file in files:
        content.update(file.relative_to(ROOT).as_posix().encode() + b"\0" + file.read_bytes() + b"\0")
    return content.hexdigest()[:12]


CODE_HASH = _hash_code()
"""Of the code that this process trains with; files that are edited while it runs do not change it."""


def device() -> torch.device:
    """Return the device a pack trains on: the first CUDA device this process may see, else the CPU."""
    return torch.device("cuda" if torch.cuda.is_available() else "cpu")


def keep_to(cores: float) -> None:
    """Have this process train on as many threads as there are whole cores, one at least, in memory that it keeps.

    PyTorch asks ``OMP_NUM_THREADS`` only when it is imported, which is before Ray says what a pack has been given.
    """
    torch.set_num_threads(max(int(cores), 1))
    if platform.libc_ver()[0] == "glibc":
        # Else the large tensors of every step lie in new pages, which the system fills with zeros first.
        libc = ctypes.CDLL(None)
        libc.mallopt(M_MMAP_MAX, 0)
        libc.mallopt(M_TRIM_THRESHOLD, -1)


@contextmanager
def flushing_subnormals() -> Iterator[None]:
    """Have subnormal numbers count as zeros inside the block, in this thread and in those that torch works with.

    Afterwards each thread's setting is as it was. ``torch.set_flush_denormal`` sets the calling thread alone.
    """
    own, before = get_ident(), dict[int, bool]()

    def flush() -> None:
        before[get_ident()] = sys.float_info.min / 2 == 0.0
        torch.set_flush_denormal(True)

    def restore() -> None:  # a thread that was started inside the block gets the setting of the one that started it
        torch.set_flush_denormal(before.get(get_ident(), before[own]))

    _in_all_threads(flush)
    try:
        yield
    finally:
        _in_all_threads(restore)


def _in_all_threads(action: Callable[[], None]) -> None:
    """Call ``action`` in this thread and in those that torch divides its work among.

    The latter are reached through OpenMP's entry for GNU's compiler; where torch is built without, they are left out.
    """
    library, count = ctypes.CDLL(torch._C.__file__), torch.get_num_threads()
    if count == 1 or not hasattr(library, "GOMP_parallel"):
        action()
    else:
        library.GOMP_parallel(ctypes.CFUNCTYPE(None, ctypes.c_void_p)(lambda _: action()), None, count, 0)


def subnormals() -> str:
    """Return what becomes of subnormals in torch's threads: ``"flushed"``, ``"kept"`` or ``"kept by some threads"``."""
    least = torch.full((GRAIN * torch.get_num_threads(),), torch.finfo(torch.float32).tiny)
    count = int(torch.count_nonzero((least / 2).view(torch.int32)))
    return "flushed" if count == 0 else "kept" if count == least.numel() else "kept by some threads"


def gpus() -> list[str]:
    """Return the kinds of the CUDA devices this process may see."""
    count = torch.cuda.device_count() if torch.cuda.is_available() else 0
    return [kind_of(torch.cuda.get_device_name(k)) for k in range(count)]


def kind_of(name: str) -> str:
    """Return the kind of a GPU as Ray names it: ``A100`` of ``NVIDIA A100-SXM4-80GB``."""
    match = re.match(r"\w+\s+((?:[A-Z]+\s+)*[A-Z0-9]*\d[A-Z0-9]*)", name)
    short = match.group(1).replace(" ", "-") if match else ""
    return short if len(short) > 1 else name.removeprefix("NVIDIA ").strip().replace(" ", "-")


def describe() -> dict[str, str]:
    """Return the facts about this process that could change a result, by name. ``diff`` names the patch, if any."""
    return {**_lasting(), **({"subnormals": subnormals()} if device().type == "cpu" else {})}


@cache
def _lasting() -> dict[str, str]:
    """Return the facts that stay as they are while the process lives."""
    facts = {name: _version(name) for name in PACKAGES}
    facts |= {
        "python": platform.python_version(),
        "system": f"{platform.system()} {platform.machine()}",
        "device": _processor() if device().type == "cpu" else torch.cuda.get_device_name(),
        "threads": str(torch.get_num_threads()),
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
    """Return how the code differs from the commit, new files included, as git applies it; None where git cannot say.

    Of a patch longer than ``PATCH`` the rest is left out and named by its hash.
    """
    with tempfile.TemporaryDirectory() as folder:
        index = Path(folder, "index")  # new files are added to this one; the checkout's own stays as it is
        for command in ("read-tree HEAD", "add --intent-to-add -- " + " ".join(CODE)):
            if _git(*command.split(), index=index) is None:
                return None
        text = _git(*DIFF, "--", *CODE, BESIDE, index=index)
    if text is not None and len(text) > PATCH:
        whole = hashlib.sha256(text.encode()).hexdigest()
        return f"{text[:PATCH]}\nCut here: {len(text)} characters in all, SHA-256 {whole}.\n"
    return text


def _lock() -> str:
    """Return the hash of the lock file of a checkout, else of the names and versions of what is installed."""
    file = ROOT / "requirements.lock"
    if file.is_file():
        return f"{file.name} {hashlib.sha256(file.read_bytes()).hexdigest()[:16]}"
    return f"installed {digest(sorted({f'{d.name}=={d.version}' for d in metadata.distributions()}))}"


def _tf32() -> str:
    """Return which of torch's libraries may round float32 to tf32."""
    allowed = {"matmul": torch.backends.cuda.matmul.allow_tf32, "cudnn": torch.backends.cudnn.allow_tf32}
    return ", ".join(name for name, on in allowed.items() if on) or "off"


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


def _git(*command: str, index: Path | None = None) -> str | None:
    """Return what git says of the checkout this file is in, with ``index`` in place of its own; None if nothing."""
    if not (ROOT / ".git").exists():
        return None
    variables = {k: v for k, v in os.environ.items() if not k.startswith("GIT_")}  # inside a hook they name another
    variables |= {"GIT_INDEX_FILE": str(index)} if index else {}
    try:
        return subprocess.run(
            ["git", "-C", str(ROOT), *command],  # nosec B607  # the user's own git
            capture_output=True, encoding="utf-8", errors="replace", timeout=10, check=True, env=variables,
        ).stdout  # fmt: skip
    except (OSError, subprocess.SubprocessError):
        return None
