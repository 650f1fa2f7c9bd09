"""The lines between a driver and the process that runs its packs: what it writes is taken in beside all else here."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator
from queue import Empty, SimpleQueue
from typing import Any

MorePacks = Callable[..., Iterator[dict[str, Any]]]
"""Yields what there is more of the packs that run; with ``wait`` not before there is something."""


class StdinQueue:
    """The lines of a pipe, read by a thread: a driver that writes need not wait until it is heard.

    Iterating yields one work after another, until the driver closes its end.

    Args:
        pipe: Its number; by default that of standard input.
    """

    def __init__(self, pipe: int = 0) -> None:
        self._told: SimpleQueue[dict[str, Any] | None] = SimpleQueue()
        threading.Thread(target=self._read, args=(pipe,), name="inbox", daemon=True).start()

    def __iter__(self) -> Iterator[dict[str, Any]]:
        while (work := self._told.get()) is not None:
            if work["ask"] != "more":  # of packs that a drain has ended meanwhile
                yield work

    def more(self, wait: bool = False) -> Iterator[dict[str, Any]]:
        """Yield what has come of more packs; with ``wait`` not before something has."""
        while True:
            try:
                told = self._told.get(block=wait)
            except Empty:
                return
            if told is None:
                self._told.put(None)
                return
            wait = False
            yield told

    def _read(self, pipe: int) -> None:
        with open(pipe, encoding="utf-8", closefd=False) as lines:  # sys.stdin may not be read while Python ends
            for line in lines:
                self._told.put(json.loads(line))
        self._told.put(None)
