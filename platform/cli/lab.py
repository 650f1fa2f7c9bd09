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
    import os
    import subprocess
    import sys
    import tomllib
    from ipaddress import ip_address

    from longwave.platform.errors import ConfigError
    from longwave.platform.paths import store_url
    from longwave.platform.storage.store import Store

    try:
        ip_address(address)
    except ValueError:
        raise ConfigError(f"--address is an IP address, 127.0.0.1 or 0.0.0.0, got {address!r}.") from None
    url = store_url(store)
    Store(url, create=False).close()
    folder = Path(__file__).resolve().parents[2] / "dashboard"
    options = _flags(tomllib.loads((folder / "streamlit.toml").read_text(encoding="utf-8")))
    options += [f"--server.address={address}", f"--server.port={port}"]
    command = [sys.executable, "-m", "streamlit", "run", str(folder / "app.py"), *options]
    typer.echo(f"The Lab is at http://{address}:{port}. Stop it with Ctrl-C.")
    return subprocess.run(command, env={**os.environ, "LONGWAVE_STORE": url}).returncode


def _flags(settings: dict[str, Any], head: str = "") -> list[str]:
    """Return Streamlit's settings as its flags; it reads no settings file but those in fixed places."""
    flags = []
    for name, value in settings.items():
        if isinstance(value, dict):
            flags += _flags(value, f"{head}{name}.")
        else:
            flags.append(f"--{head}{name}={str(value).lower() if isinstance(value, bool) else value}")
    return flags
