"""How large a file of another machine may be, found out before anything is built of it. An honest one of 100,000 runs
stays far below each limit; the depth of JSON is limited by its parser, to some 200 levels.
"""

from __future__ import annotations

import lzma
import re
from pathlib import Path
from typing import Any

from pydantic_core import from_json

from longwave.platform.errors import ConfigError

BYTES = 256 * 2**20
"""Most bytes of a bundle, unpacked."""
TOGETHER = 2**30
"""Most bytes of all bundles that are imported together, unpacked."""
GZIP = b"\x1f\x8b"
"""How a bundle of before 0.2.0 begins."""
OLDER = (
    "Bundles of before 0.2.0 are not read. Where the results lie, submit them again with Longwave 0.2.0 or later: "
    "longwave submit NAME.json.xz"
)
"""What to do about one that is too old."""
MEMORY = 2**26
"""Most bytes that unpacking may take beside what it unpacks."""
RATIO = 100
"""Most bytes that a packed one may become; hashes and scores, of which a bundle is full, hardly shrink."""
OBJECTS = 8_000_000
"""Most objects and lists: some 80 of each of 100,000 runs."""
VALUES = 40_000_000
"""Most values."""
WIDE = 1000
"""Most entries of an object or a list of which an honest bundle has few: a run's parameters, its facts."""
CELLS = 1000
"""Most cells of a sweep, over those that have their trials in the bundle, that are planned anew to compare them."""
LEARNED = 500
"""Most trials of a cell whose draws are repeated where each draw learns from all before it."""
SECONDS = 900.0
"""Longest time that checks may take."""
STRING = re.compile(rb'"[^"\\]*(?:\\.[^"\\]*)*"', re.DOTALL)


def unpacked(path: Path) -> bytes:
    """Return what an xz file holds, not checked further than its size.

    Raises:
        ConfigError: It cannot be read, holds too much, or is of before 0.2.0.
    """
    try:
        if path.stat().st_size > BYTES:
            raise ConfigError(f"{path} is larger than {BYTES >> 20} MiB: no bundle is.")
        packed = path.read_bytes()
        if packed.startswith(GZIP):
            raise ConfigError(f"{path} is a gzip file. {OLDER}")
        small = 2**20 + RATIO * len(packed)
        text = _unxz(packed, min(BYTES, small) + 1)
    except (EOFError, lzma.LZMAError) as error:
        raise ConfigError(f"{path} is no whole xz file: {str(error).rstrip('.')}. Ask for it again.") from None
    except OSError as error:
        raise ConfigError(f"Cannot read the bundle {path}: {error.strerror}.") from None
    if len(text) > BYTES:
        raise ConfigError(f"{path} holds more than {BYTES >> 20} MiB unpacked: no bundle is that large.")
    if len(text) > small:
        raise ConfigError(f"{path} unpacks to more than {RATIO} times its size: no bundle does.")
    return text


def _unxz(packed: bytes, most: int) -> bytes:
    reader = lzma.LZMADecompressor(lzma.FORMAT_XZ, MEMORY)
    text = reader.decompress(packed, most)
    if len(text) < most and not reader.eof:
        raise EOFError("it ends too early")
    return text


def check_count(text: bytes, origin: object) -> None:
    """Do nothing for JSON of so many objects, lists and values that they can be built.

    Raises:
        ConfigError: They are more; ``origin`` names the file.
    """
    if len(text) > BYTES:
        raise ConfigError(f"{origin} has more than {BYTES >> 20} MiB: it is not read.")
    if not _few(text) and not _few(STRING.sub(b"", text)):
        raise ConfigError(f"{origin} has more than {OBJECTS:,} objects or {VALUES:,} values: it is not read.")


def check_width(text: bytes, origin: object) -> None:
    """Do nothing for a bundle whose objects and lists are as wide as an honest one's.

    Where a wide one is wrong, each of its entries would be an error of its own.

    Raises:
        ConfigError: It is no JSON, something in it is wider, or there are more of a kind than trials.
    """
    try:
        file = from_json(text, allow_inf_nan=True, cache_strings="keys")
    except ValueError as error:
        raise ConfigError(f"{origin} is no bundle: Invalid JSON: {error}") from None
    content = _value(file, "content")
    for name in ("sweeps", "environments", "patches"):
        if (n := len(_children(_value(content, name)))) > (runs := len(_children(_value(content, "trials")))):
            raise ConfigError(f"{origin} is no bundle: it has {n} {name} for {runs} trials.")
    texts = [_value(file, "hashes"), _value(content, "patches"), *_children(_value(content, "environments"))]
    if any(not isinstance(value, str) for part in texts for value in _children(part)):
        raise ConfigError(f"{origin} is no bundle: hashes, facts and patches are texts.")
    curves = [column for trial in _children(_value(content, "trials")) for column in _children(_value(trial, "curve"))]
    asked = [_value(sweep, "trials") for sweep in _children(_value(content, "sweeps"))]
    wide = {id(part) for part in (*_children(content), *curves, *asked, _value(file, "hashes"))}
    waiting = [file]
    while waiting:
        at = waiting.pop()
        if len(at) > WIDE and id(at) not in wide:
            raise ConfigError(f"{origin} is no bundle: something in it has {len(at)} entries, {WIDE} at most.")
        waiting += [value for value in _children(at) if isinstance(value, list | dict)]


def _few(text: bytes) -> bool:
    return text.count(b"{") + text.count(b"[") <= OBJECTS and text.count(b",") <= VALUES


def _value(part: Any, name: str) -> Any:
    return part.get(name) if isinstance(part, dict) else None


def _children(part: Any) -> list[Any]:
    return list(part.values()) if isinstance(part, dict) else part if isinstance(part, list) else []
