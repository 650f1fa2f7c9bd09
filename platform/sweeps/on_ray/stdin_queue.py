"""Messages from a driver to the process that runs its packs, read in the background."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator
from queue import Empty, SimpleQueue
from typing import Any

MorePacks = Callable[..., Iterator[dict[str, Any]]]
"""Yields further packs for the running request; with ``wait`` it blocks until there are some."""


class StdinQueue:
    """The messages of a pipe, read by a thread, so that the driver never blocks on writing.

    Iterating yields one request after another, until the driver closes its end.

    Args:
        pipe: File descriptor; by default that of standard input.
    """

    def __init__(self, pipe: int = 0) -> None:
        self._messages: SimpleQueue[dict[str, Any] | None] = SimpleQueue()
        threading.Thread(target=self._read, args=(pipe,), name="inbox", daemon=True).start()

    def __iter__(self) -> Iterator[dict[str, Any]]:
        while (work := self._messages.get()) is not None:
            if work["ask"] != "more":  # it belongs to a request that a drain has ended
                yield work

    def read_more(self, wait: bool = False) -> Iterator[dict[str, Any]]:
        """Yield the messages with further packs that have arrived; with ``wait`` block until there is one."""
        while True:
            try:
                message = self._messages.get(block=wait)
            except Empty:
                return
            if message is None:
                self._messages.put(None)
                return
            wait = False
            yield message

    def _read(self, pipe: int) -> None:
        with open(pipe, encoding="utf-8", closefd=False) as lines:  # sys.stdin may not be read while Python ends
            for line in lines:
                self._messages.put(json.loads(line))
        self._messages.put(None)
