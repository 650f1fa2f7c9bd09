"""Import damaged and forged copies of a bundle, one after another, each in a separate process as users do, and show the
board of each that is accepted.

Usage: import_mutants.py BUNDLE FOLDER FIRST COUNT. Prints, as JSON, the number of each exit status, the longest time of
one in CPU seconds, and the peak memory in MiB. A process that takes longer than ``SECONDS`` is ended.
"""

from __future__ import annotations

import contextlib
import io
import json
import lzma
import os
import random
import signal
import sys
import traceback
from collections import Counter
from collections.abc import Callable
from copy import deepcopy
from pathlib import Path
from typing import Any

from longwave.platform.cli.main import main
from longwave.platform.exchange import audit, intake, replay  # noqa: F401  # before the processes are forked
from longwave.platform.exchange.bundle import Bundle, seal

SECONDS = 20
VALUES: list[Any] = [
    None, True, -1, 0, 2**40, -0.0, 1e308, 5e-324, "", "\u2028", "x" * 5000, [], {}, [[[[1]]]], {"lr": 1}, [1] * 3000,
    dict.fromkeys(map(str, range(2000)), 1), "0" * 16, "<b>", "ok", "failed", "N=20000", 20_000,
]  # fmt: skip


def list_leaves(value: Any) -> list[tuple[Any, Any]]:
    """Return every position in a JSON value at which the value can be replaced."""
    keys = list(value) if isinstance(value, dict) else range(len(value)) if isinstance(value, list) else []
    return [(value, key) for key in keys] + [leaf for key in keys for leaf in list_leaves(value[key])]


def flip_bytes(text: bytes, draw: random.Random) -> bytes:
    damaged = bytearray(text)
    for _ in range(draw.choice([1, 3, 30])):
        damaged[draw.randrange(len(damaged))] = draw.randrange(256)
    return bytes(damaged)


def cut_text(text: bytes, draw: random.Random) -> bytes:
    return text[: draw.randrange(len(text))]


def insert_words(text: bytes, draw: random.Random) -> bytes:
    at = draw.randrange(len(text))
    words = [b"{", b"[", b'"', rb"\"", b",", b"1e", b"-", b"\\u0000", b"\xff", b" ", b"[]", b'{"a":']
    return text[:at] + draw.choice(words) * draw.choice([1, 50, 20_000]) + text[at:]


def repeat_part(text: bytes, draw: random.Random) -> bytes:
    start = draw.randrange(len(text))
    end = min(len(text), start + draw.randrange(1, 2000))
    return text[:end] + text[start:end] * draw.choice([1, 10, 300]) + text[end:]


def replace_values(text: bytes, draw: random.Random) -> bytes:
    content = json.loads(text)
    for _ in range(draw.choice([1, 1, 2, 5])):
        parent, key = draw.choice(list_leaves(content))
        parent[key] = deepcopy(draw.choice(VALUES))
    return json.dumps(content).encode()


def forge_values(text: bytes, draw: random.Random) -> bytes:
    """Replace values and compute every hash again if the result is a bundle, so that all checks run on it."""
    content = json.loads(replace_values(text, draw))
    try:
        return seal(Bundle.model_validate_json(json.dumps(content["content"]))).model_dump_json().encode()
    except (KeyError, TypeError, ValueError):
        return json.dumps(content).encode()


WAYS: list[Callable[[bytes, random.Random], bytes]] = [
    flip_bytes,
    cut_text,
    insert_words,
    repeat_part,
    replace_values,
    forge_values,
]


def import_mutant(original: bytes, number: int, folder: Path) -> int:
    """Import the copy of that number, and return the command's exit status. One that is accepted can be shown."""
    draw, store = random.Random(number), ["--store", f"sqlite:///{folder}/{number}.db"]
    packed = lzma.compress(WAYS[number % len(WAYS)](original, draw), preset=0)
    if number % 20 == 0:
        packed = flip_bytes(packed, draw)
    (folder / "mutant.json.xz").write_bytes(packed)
    signal.setitimer(signal.ITIMER_PROF, SECONDS)  # CPU time, independent of the machine's load
    with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()) as errors:
        status = main(["import", str(folder / "mutant.json.xz"), *store])
        signal.setitimer(signal.ITIMER_PROF, 0)
        if status == 0 and main(["board", "adding", "--format", "json", *store]):
            raise AssertionError(f"copy {number} was accepted and cannot be shown: {errors.getvalue()[:500]}")
    refusals = [line for line in errors.getvalue().splitlines() if line.startswith("longwave: ")]
    if (status == 2) != bool(refusals):  # on a busy machine there are lines of progress too
        raise AssertionError(f"copy {number} ended with {status}: {errors.getvalue()[:500]}")
    return status


def run_apart(original: bytes, number: int, folder: Path) -> tuple[int, float, int]:
    """Import a copy in a separate process; return its exit status, CPU seconds and peak memory in MiB."""
    child = os.fork()
    if not child:
        try:
            os._exit(import_mutant(original, number, folder))
        except BaseException:
            traceback.print_exc()
            os._exit(1)
    _, ended, used = os.wait4(child, 0)
    return os.waitstatus_to_exitcode(ended), used.ru_utime + used.ru_stime, used.ru_maxrss >> 10


if __name__ == "__main__":
    original, folder = lzma.decompress(Path(sys.argv[1]).read_bytes()), Path(sys.argv[2])
    statuses, longest, memory = Counter[int](), 0.0, 0
    for number in range(int(sys.argv[3]), int(sys.argv[3]) + int(sys.argv[4])):
        status, seconds, peak = run_apart(original, number, folder)
        if status not in (0, 2):
            sys.exit(f"copy {number} ended with {status}")
        statuses[status] += 1
        longest, memory = max(longest, seconds), max(memory, peak)
    print(json.dumps({"statuses": statuses, "longest": longest, "memory": memory}))
