"""The command that opens the Lab: dashboard."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from longwave.platform.cli.app import StoreOption, app


@app.command()
def dashboard(
    port: Annotated[int, typer.Option(help="Port on this machine.", min=1, max=65535)] = 8501,
    address: Annotated[
        str, typer.Option(help="IP address to listen on. The Lab has no log-in: any but this one lets others in.")
    ] = "127.0.0.1",
    store: StoreOption = None,
) -> int:
    """Open the Lab: the leaderboard in a browser, with every seed's curve. By default for this machine alone.

    Example: longwave dashboard --port 8600
    """
    from contextlib import suppress
    from ipaddress import ip_address

    from longwave.platform.errors import ConfigError, NoStoreError
    from longwave.platform.paths import store_url
    from longwave.platform.storage.store import Store

    try:
        ip_address(address)
    except ValueError:
        raise ConfigError(f"--address is an IP address, 127.0.0.1 or 0.0.0.0, got {address!r}.") from None
    _check_free(address, port)
    url = store_url(store)
    with suppress(NoStoreError):  # the Lab says what makes one
        Store(url, create=False).close()
    return _serve(address, port, url)


def _check_free(address: str, port: int) -> None:
    """Raise ConfigError if nothing can listen there."""
    import socket

    from longwave.platform.errors import ConfigError

    family = socket.AF_INET6 if ":" in address else socket.AF_INET
    with socket.socket(family) as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((address, port))
        except OSError as error:
            advice = f"Give another: --port {port + 1}"
            raise ConfigError(f"--port {port} on {address}: {error.strerror}. {advice}") from None


def _serve(address: str, port: int, url: str) -> int:
    """Run the Lab until it ends, or is ended; say where it is once it listens. Return its exit status."""
    import os
    import signal
    import socket
    import subprocess
    import sys
    import time
    import tomllib

    folder = Path(__file__).resolve().parents[2] / "dashboard"
    options = _flags(tomllib.loads((folder / "streamlit.toml").read_text(encoding="utf-8")))
    options += [f"--server.address={address}", f"--server.port={port}"]
    command = [sys.executable, "-m", "streamlit", "run", str(folder / "app.py"), *options]
    here = {"0.0.0.0": "127.0.0.1", "::": "::1"}.get(address, address)  # nosec B104  # where it is asked, not bound
    with subprocess.Popen(command, env={**os.environ, "LONGWAVE_STORE": url}, stdout=subprocess.DEVNULL) as lab:
        for number in (signal.SIGTERM, signal.SIGHUP):
            signal.signal(number, lambda *_: lab.terminate())
        while lab.poll() is None:
            try:
                socket.create_connection((here, port), timeout=1).close()
            except OSError:
                time.sleep(0.05)
            else:
                shown = f"[{address}]" if ":" in address else address
                typer.echo(f"The Lab is at http://{shown}:{port}. Stop it with Ctrl-C.")
                break
        return lab.wait()


def _flags(settings: dict[str, Any], head: str = "") -> list[str]:
    """Return Streamlit's settings as its flags; it reads no settings file but those in fixed places."""
    flags = []
    for name, value in settings.items():
        if isinstance(value, dict):
            flags += _flags(value, f"{head}{name}.")
        else:
            flags.append(f"--{head}{name}={str(value).lower() if isinstance(value, bool) else value}")
    return flags
