"""The connection to a tracking server, or to a SQLite file of this machine."""

from __future__ import annotations

import logging
import os
import warnings
from pathlib import Path
from typing import Any

from filelock import FileLock

from longwave.platform.paths import has_other_tables, sqlite_file
from longwave.platform.sweeps.trackers.tracker import TrackerError

SWITCHES = {
    "MLFLOW_HTTP_REQUEST_MAX_RETRIES": "1",
    "MLFLOW_HTTP_REQUEST_BACKOFF_FACTOR": "1",
    "MLFLOW_HTTP_REQUEST_TIMEOUT": "15",
    "MLFLOW_SUPPRESS_PRINTING_URL_TO_STDOUT": "1",
    "MLFLOW_DISABLE_TELEMETRY": "true",
    "MLFLOW_LOGGING_LEVEL": "CRITICAL",
    "MLFLOW_SQLALCHEMYSTORE_POOLCLASS": "NullPool",
}
"""With MLflow's defaults a call to a dead server blocks four minutes, a new store is announced on screen, errors are
logged with tracebacks, and a SQLite file that was deleted is written to as long as it is open."""
PARTS = ("", "-journal", "-wal", "-shm")
"""Suffixes of the files of a SQLite database."""


def connect(address: str) -> Any:
    """Import MLflow and return its client of a server; a SQLite file is created first.

    Raises:
        TrackerError: The file belongs to another program.
    """
    for name, value in SWITCHES.items():
        os.environ.setdefault(name, value)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        from mlflow.tracking import MlflowClient

        for library in ("mlflow", "alembic"):
            logging.getLogger(library).setLevel(logging.CRITICAL)
        if file := sqlite_file(address):
            _create_if_missing(file)
        return MlflowClient(address)


def _create_if_missing(path: Path) -> None:
    """Create MLflow's file if there is none, under another name first, so that a kill leaves none or a complete one.

    Raises:
        TrackerError: The file belongs to another program.
    """
    from mlflow.tracking import MlflowClient

    path.parent.mkdir(parents=True, exist_ok=True)
    with FileLock(f"{path}.lock"):
        if has_other_tables(path, "experiments"):
            raise TrackerError(f"{path} is not an MLflow database. Name another file.")
        if path.exists() and path.stat().st_size:
            return
        partial = path.with_name(f"{path.name}.making")
        for file in (partial, path):  # remains of a killed attempt, and an empty file at the path
            for ending in PARTS:
                Path(f"{file}{ending}").unlink(missing_ok=True)
        MlflowClient(f"sqlite:///{partial}").search_experiments(max_results=1)
        partial.rename(path)
