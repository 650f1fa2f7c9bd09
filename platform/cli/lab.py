"""The command ``dashboard``, which opens the Lab."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import time
import tomllib
from contextlib import suppress
from http.client import HTTPConnection, HTTPException
from importlib.util import find_spec
from ipaddress import ip_address
from pathlib import Path
from typing import Annotated, Any

import typer

from longwave.platform.cli.app import StoreOption
from longwave.platform.errors import ConfigError, NoStoreError
from longwave.platform.paths import store_url
from longwave.platform.storage.store import Store

AUTH = ("redirect_uri", "cookie_secret", "client_id", "client_secret", "server_metadata_url")
"""Settings that Streamlit's login needs in the section ``[auth]`` of its secrets."""


def open_lab(
    port: Annotated[int, typer.Option(help="Port on this machine.", min=1, max=65535)] = 8501,
    address: Annotated[
        str, typer.Option(help="IP address to listen on; any but this machine's own needs --public.")
    ] = "127.0.0.1",
    public: Annotated[
        bool, typer.Option(help="Allow access from other machines; infra/deploy/login describes a login.")
    ] = False,
    login: Annotated[bool, typer.Option(help="Require a login, as infra/deploy/login describes.")] = False,
    store: StoreOption = None,
) -> int:
    """Open the Lab: the leaderboard in a browser, with every seed's curve. By default, only for this machine.

    Example: longwave dashboard --port 8600
    """
    try:
        local = ip_address(address).is_loopback
    except ValueError:
        raise ConfigError(f"--address is an IP address, 127.0.0.1 or 0.0.0.0, got {address!r}.") from None
    if not local and not public:
        raise ConfigError(f"--address {address} lets other machines see all results. To allow that, add: --public")
    _check_free(address, port)
    if login:
        _check_login()
    url = store_url(store)
    with suppress(NoStoreError):  # without a store the Lab explains how to create one
        Store(url, create=False).close()
    return _serve_lab(address, port, {"LONGWAVE_STORE": url, "LONGWAVE_LOGIN": "yes" if login else ""})


def _check_login() -> None:
    """Raise ConfigError if Authlib or a setting of the login is missing: nobody could log in."""
    import streamlit as st

    if find_spec("authlib") is None:
        raise ConfigError("--login needs Authlib. Install it with: pip install 'streamlit[auth]'")
    try:
        given = dict(st.secrets.get("auth", {}))
    except OSError:  # Streamlit's error for secrets that are missing or cannot be read
        given = {}
    if missing := [name for name in AUTH if not given.get(name)]:
        raise ConfigError(
            f"--login needs {', '.join(missing)} in the section [auth] of ~/.streamlit/secrets.toml; "
            "infra/deploy/login has an example."
        )


def _check_free(address: str, port: int) -> None:
    """Raise ConfigError if the port cannot be bound."""
    family = socket.AF_INET6 if ":" in address else socket.AF_INET
    with socket.socket(family) as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((address, port))
        except OSError as error:
            advice = f"Give another: --port {port + 1}"
            raise ConfigError(f"--port {port} on {address}: {error.strerror}. {advice}") from None


def _serve_lab(address: str, port: int, settings: dict[str, str]) -> int:
    """Run the Lab until it ends or is stopped; print its address once it answers. Return its exit status.

    Args:
        address: IP address to listen on.
        port: Port to listen on.
        settings: Additional environment variables.
    """
    folder = Path(__file__).resolve().parents[2] / "dashboard"
    options = _settings_flags(tomllib.loads((folder / "streamlit.toml").read_text(encoding="utf-8")))
    options += [f"--server.address={address}", f"--server.port={port}"]
    module = [sys.executable, "-P", "-m", "streamlit"]  # -P: files of the working directory hide no library
    command = [*module, "run", str(folder / "server.py"), *options]
    target = {"0.0.0.0": "127.0.0.1", "::": "::1"}.get(address, address)  # nosec B104  # to connect to, not to bind
    with subprocess.Popen(command, env={**os.environ, **settings}, stdout=subprocess.DEVNULL) as lab:
        for number in (signal.SIGTERM, signal.SIGHUP):
            if signal.getsignal(number) is not signal.SIG_IGN:  # as nohup sets it
                signal.signal(number, lambda *_: lab.terminate())
        try:
            while lab.poll() is None:
                if _lab_answers(target, port):
                    shown = f"[{address}]" if ":" in address else address
                    typer.echo(f"The Lab is at http://{shown}:{port}. Stop it with Ctrl-C.")
                    break
                time.sleep(0.05)
            status = lab.wait()
        finally:
            lab.terminate()  # a signal sent only to this process does not reach it
    return status if status >= 0 else 128 - status


def _lab_answers(address: str, port: int) -> bool:
    """Return whether the Lab answers; its port is bound some seconds earlier."""
    connection = HTTPConnection(address, port, timeout=60)
    try:
        connection.request("GET", "/_stcore/health")
        return connection.getresponse().status == 200
    except (OSError, HTTPException):
        return False
    finally:
        connection.close()


def _settings_flags(settings: dict[str, Any], head: str = "") -> list[str]:
    """Return Streamlit's settings as flags, because it reads settings files only from fixed places."""
    flags = []
    for name, value in settings.items():
        if isinstance(value, dict):
            flags += _settings_flags(value, f"{head}{name}.")
        else:
            flags.append(f"--{head}{name}={str(value).lower() if isinstance(value, bool) else value}")
    return flags
