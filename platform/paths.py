"""Where Longwave keeps things when nobody says otherwise."""

from __future__ import annotations

import os
from pathlib import Path

from longwave.files import own_folder


def home() -> Path:
    """Return the data folder: ``LONGWAVE_HOME``, else the user data folder of the system."""
    given = os.environ.get("LONGWAVE_HOME")
    if given:
        return Path(given).absolute()
    from platformdirs import user_data_path

    return user_data_path("longwave")


def store_url(given: str | None) -> str:
    """Return the store's URL: the one given, else SQLite in the data folder. Relative SQLite paths become absolute."""
    if given is None:
        own_folder(home())
        return f"sqlite:///{home() / 'longwave.db'}"
    head, _, file = given.partition(":///")
    return f"{head}:///{Path(file).absolute()}" if head == "sqlite" and file else given


def sweep_storage(given: Path | None, sweep: str) -> Path:
    """Return the folder of a sweep's checkpoints."""
    return given.absolute() / sweep if given else home() / "sweeps" / sweep


def mlflow_server(given: str | None) -> str | None:
    """Return the tracking URI to mirror to: the one given, MLFLOW_TRACKING_URI, else SQLite in the data folder.

    ``"off"`` gives None: no mirror.
    """
    chosen = given or os.environ.get("MLFLOW_TRACKING_URI") or f"sqlite:///{home() / 'mlflow.db'}"
    return None if chosen == "off" else chosen
