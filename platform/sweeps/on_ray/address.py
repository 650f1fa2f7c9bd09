"""Check the address of a cluster before anything else is done: Ray tries a dead one for more than a minute."""

from __future__ import annotations

import socket
from urllib.parse import urlsplit

from longwave.platform.errors import ConfigError

FOUND_BY_RAY = ("auto", "local")
"""Words that may replace an address."""
PATIENCE = 4.0
"""Seconds that a cluster has to answer."""


def check_address(address: str) -> None:
    """Check that a server answers at ``HOST:PORT`` or ``ray://HOST:PORT``; Ray resolves other schemes, and words.

    Raises:
        ConfigError: It is no address, or no server answers.
    """
    scheme, _, rest = address.rpartition("://")
    if address in FOUND_BY_RAY or scheme not in ("", "ray"):
        return
    try:
        host, port = urlsplit(f"//{rest}").hostname, urlsplit(f"//{rest}").port
    except ValueError:
        host = port = None
    if not host or not port:
        raise ConfigError(f"--ray is the address of a cluster: auto, or HOST:6379, got {address!r}.")
    try:
        socket.create_connection((host, port), PATIENCE).close()
    except OSError as error:
        why = error.strerror or str(error)
        raise ConfigError(
            f"No cluster answers at --ray {address}: {why}. Start its head with: ray start --head"
        ) from error
