"""Read an imported file. Limits are checked while it is unpacked and parsed, before any object is built."""

from __future__ import annotations

import lzma
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, NoReturn

import ijson  # type: ignore[import-untyped]

from longwave.platform.errors import ConfigError
from longwave.platform.exchange import limits
from longwave.platform.paths import check_is_file

CHUNK = 2**18
"""Bytes to unpack and parse at a time."""
GZIP = b"\x1f\x8b"
"""First bytes of bundles from before 0.2.0."""
OLDER = (
    "Bundles from before 0.2.0 are not read. Where the results lie, submit them again with Longwave 0.2.0 or later: "
    "longwave submit NAME.json.xz"
)
"""What to do about a bundle that is too old."""
StageReport = Callable[[str, int, int], object]
"""Called with the stage of an import, the amount done, and the total."""
JsonPath = tuple[str, ...]
"""Path of a value in JSON: the keys above it, ``""`` for entries of a list."""


def ignore_stage(stage: str, done: int, total: int) -> None:
    """Report nothing."""


def read_file(path: Path) -> bytes:
    """Return the content of a file.

    Raises:
        ConfigError: As ``check_is_file``; or it cannot be read, or is larger than any bundle.
    """
    if check_is_file(path) > limits.BYTES:
        raise ConfigError(f"{path} is larger than {limits.BYTES >> 20} MiB, the limit for a bundle.")
    try:
        return path.read_bytes()
    except OSError as error:
        raise ConfigError(f"Cannot read {path}: {error.strerror}.") from None


def unpack(packed: bytes, path: Path) -> Iterator[bytes]:
    """Yield the text of an xz file part by part.

    Raises:
        ConfigError: It is not a complete xz file, or unpacks to more than the limits allow.
    """
    if packed.startswith(GZIP):
        raise ConfigError(f"{path} is a gzip file. {OLDER}")
    reader, size, limit = lzma.LZMADecompressor(lzma.FORMAT_XZ, limits.MEMORY), 0, 2**20 + limits.RATIO * len(packed)
    try:
        text = reader.decompress(packed, CHUNK)
        while text:
            if (size := size + len(text)) > limits.BYTES:
                raise ConfigError(f"{path} is larger than {limits.BYTES >> 20} MiB unpacked, the limit for a bundle.")
            if size > limit:
                raise ConfigError(f"{path} unpacks to more than {limits.RATIO} times its size, the limit for a bundle.")
            yield text
            text = b"" if reader.eof else reader.decompress(b"", CHUNK)
        if not reader.eof:
            raise EOFError("it ends too early")
        if extra := len(reader.unused_data):
            raise EOFError(f"{extra:,} bytes follow its end")
    except (EOFError, lzma.LZMAError) as error:
        raise ConfigError(f"{path} is not a complete xz file: {str(error).rstrip('.')}. Ask for it again.") from None


def check_json(parts: Iterable[bytes], path: Path, wide: Collection[JsonPath] | None = None) -> bytearray:
    """Return the text of a JSON file after checking its syntax and the limits, without building objects.

    Args:
        parts: The text, part by part.
        path: Path of the file, for messages.
        wide: Paths of objects and lists that may have more than ``limits.WIDE`` entries; None: all may.

    Raises:
        ConfigError: It is not JSON, or exceeds a limit on nesting, values, the length of a text, or entries of a part.
    """
    text, events, counter = bytearray(), ijson.sendable_list(), _ValueCounter(path, wide)
    parser = ijson.basic_parse_coro(events, use_float=True)
    try:
        for part in parts:
            text += part
            parser.send(part)
            counter.count(events, len(part))
            events.clear()
        parser.close()
        counter.count(events, 0)
    except (ijson.JSONError, ValueError) as error:
        text_of_error = error.args[0] if error.args else "it cannot be read"
        if isinstance(text_of_error, bytes):  # quotes text that is not UTF-8
            text_of_error = text_of_error.decode(errors="replace")
        reason = str(text_of_error).strip().splitlines()[0].rstrip(".")
        raise ConfigError(f"{path} is no JSON: {reason}.") from None
    return text


class _ValueCounter:
    """Counts the content of a JSON file, and raises ConfigError at the first limit that it exceeds."""

    def __init__(self, path: Path, wide: Collection[JsonPath] | None) -> None:
        self.path, self.wide = path, wide
        self.values = self.unfinished = 0
        self.keys: list[str] = []
        self.widths = [0]

    def count(self, events: Sequence[tuple[str, Any]], size: int) -> None:
        """Count the parser's events for the next ``size`` bytes of the file."""
        keys, widths = self.keys, self.widths
        self.values += len(events)
        self.unfinished = 0 if events else self.unfinished + size
        if self.values > limits.VALUES:
            self._refuse(f"has more than {limits.VALUES:,} values")
        if self.unfinished > limits.LENGTH:
            self._refuse(f"has a text or a number of more than {limits.LENGTH:,} bytes")
        for event, value in events:
            if event == "number":  # the most common event
                widths[-1] += 1
            elif event == "map_key" or event == "string":
                if len(value) > limits.LENGTH or "\0" in value:
                    self._refuse_text(value)
                if event == "string":
                    widths[-1] += 1
                else:
                    keys[-1] = value
            elif event == "start_map" or event == "start_array":
                widths[-1] += 1
                widths.append(0)
                keys.append("")
                if len(keys) > limits.DEPTH:
                    self._refuse(f"has more than {limits.DEPTH} objects and lists within each other")
            elif event == "end_map" or event == "end_array":
                keys.pop()
                if (width := widths.pop()) > limits.WIDE and self.wide is not None and tuple(keys) not in self.wide:
                    self._refuse(f"has {width:,} entries in a place where {limits.WIDE:,} at most can be")
            else:
                widths[-1] += 1

    def _refuse_text(self, text: str) -> NoReturn:
        too_long = f"has a text of more than {limits.LENGTH:,} characters"
        self._refuse(too_long if len(text) > limits.LENGTH else "holds the character NUL in a text")

    def _refuse(self, reason: str) -> NoReturn:
        raise ConfigError(f"{self.path} {reason}: it is not read.")
