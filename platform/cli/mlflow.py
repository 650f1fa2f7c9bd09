"""The command for the MLflow mirror: mlflow sync."""

from __future__ import annotations

from typing import Annotated

import typer

from longwave.platform.cli.app import StoreOption
from longwave.platform.errors import ConfigError
from longwave.platform.paths import mlflow_server, store_url
from longwave.platform.redaction import redacted
from longwave.platform.render.terminal import show_waiting
from longwave.platform.storage.store import Store
from longwave.platform.sweeps.mlflow.mirror import sync


def send_to_mlflow(
    server: Annotated[
        str | None, typer.Option(help="Tracking URI. Default: MLFLOW_TRACKING_URI, else a local file.")
    ] = None,
    store: StoreOption = None,
) -> None:
    """Send an MLflow server what it does not have, lost runs too. Sending twice changes nothing.

    Example: longwave mlflow sync --server http://127.0.0.1:5000
    """
    target = mlflow_server(server)
    if target is None:
        raise ConfigError("There is no MLflow server to send to: --server is off.")
    with Store(store_url(store), create=False) as known, show_waiting(f"Sending to {redacted(target)}"):
        touched = sync(known, target)
    typer.echo(f"{touched} trials sent to {redacted(target)}.")
