"""The command ``mlflow sync``, which copies results to MLflow."""

from __future__ import annotations

from typing import Annotated

import typer

from longwave.platform.cli.app import StoreOption
from longwave.platform.cli.names import NameArgument
from longwave.platform.errors import ConfigError
from longwave.platform.paths import mlflow_server, store_url, sweep_storage
from longwave.platform.render.terminal import show_waiting
from longwave.platform.storage.store import Store
from longwave.platform.sweeps.trackers.follow import send_sweep
from longwave.platform.sweeps.trackers.tracker import TrackerName
from longwave.platform.wording import describe_count


def send_to_mlflow(
    name: NameArgument,
    server: Annotated[
        str | None, typer.Option(help="Tracking URI. Default: MLFLOW_TRACKING_URI, else a local file.")
    ] = None,
    storage: Annotated[
        str | None, typer.Option(metavar="PLACE", help="Folder of the sweep's weights, if --storage was given.")
    ] = None,
    store: StoreOption = None,
) -> None:
    """Send MLflow the results of a sweep that it does not have yet. Sending twice changes nothing.

    Example: longwave mlflow sync demo --server http://127.0.0.1:5000
    """
    target = mlflow_server(server)
    if target is None:
        raise ConfigError("There is no MLflow server to send to: --server is off.")
    tracker = TrackerName("mlflow", target)
    with Store(store_url(store), create=False) as open_store, show_waiting(f"Sending to {tracker.title}"):
        count = send_sweep(open_store, name, sweep_storage(storage, name), tracker)
    typer.echo(f"{describe_count(count, 'trial')} of {name} sent to {tracker.title}.")
