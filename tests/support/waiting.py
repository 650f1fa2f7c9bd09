"""Waiting for other processes, and ports for them."""

from __future__ import annotations

import socket
import time
from collections.abc import Callable


def wait_until(condition: Callable[[], bool], seconds: float = 180.0) -> None:
    """Wait until a condition holds; fail after some seconds."""
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, "the condition did not become true in time"
        time.sleep(0.02)


def free_port() -> int:
    """Return an unused port."""
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return int(one.getsockname()[1])
