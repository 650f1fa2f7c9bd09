"""The MLflow mirror: a reader of the store that copies trials to a tracking server. The only file that knows MLflow.

The store is the truth and the outbox: what a server has not been sent yet is what the table ``mirrored`` does not
say. A server that is down costs nothing but the copy, and is sent what it missed later.
"""

from __future__ import annotations

import logging
import os
import threading
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

from longwave.platform.errors import LongwaveError, StoreError
from longwave.platform.records.run import Point
from longwave.platform.records.stored import Trial
from longwave.platform.storage.store import Store

SECONDS = 5.0
"""How often the mirror looks for news."""
LAST_SECONDS = 15.0
"""How long a sweep that is over waits for the mirror; what is missing then is sent later."""
LOGGED = ("hidden", "batch", "epochs", "steps", "clip", "optimiser", "schedule", "seed", "precision")
"""Fields of a trial that a server is sent beside its parameters, training numbers and options."""
PATIENCE = {
    "MLFLOW_HTTP_REQUEST_MAX_RETRIES": "1",
    "MLFLOW_HTTP_REQUEST_BACKOFF_FACTOR": "1",
    "MLFLOW_HTTP_REQUEST_TIMEOUT": "5",
    "MLFLOW_SUPPRESS_PRINTING_URL_TO_STDOUT": "1",
    "MLFLOW_DISABLE_TELEMETRY": "true",
    "MLFLOW_LOGGING_LEVEL": "ERROR",
}
"""With MLflow's defaults one call to a dead server blocks four minutes, and a new store is announced on the screen."""


class MirrorError(LongwaveError):
    """A tracking server did not take what it was sent."""


def sync(store: Store, server: str, stop: Callable[[], bool] = lambda: False) -> int:
    """Send ``server`` everything it has not been sent; return how many trials were touched.

    Every trial is one MLflow run, tagged with its id, its points with their own times: sending twice changes nothing.

    Args:
        store: The truth.
        server: MLflow tracking URI.
        stop: Asked before each trial; True ends early.

    Raises:
        MirrorError: The server cannot be reached or refuses; what it took so far is noted.
    """
    client, touched = None, 0
    experiments: dict[str, str] = {}
    while waiting := store.unmirrored(server):
        client = client or _client(server)  # MLflow takes seconds to import: only where there is news
        for trial, points, run in waiting:
            if stop():
                return touched
            try:
                name = f"longwave/{trial.config.task}"
                if name not in experiments:
                    experiments[name] = _experiment(client, name)
                run = run or _run(client, experiments[name], trial)
                _send(client, run, trial, points)
            except Exception as error:  # MLflow raises its own errors, requests' and SQLAlchemy's
                raise MirrorError(f"MLflow at {server} did not answer: {str(error).splitlines()[0]}") from error
            epoch = points[-1].epoch if points else trial.config.epochs
            store.note_mirrored(trial.config.id, server, run, epoch, trial.run is not None)
            touched += 1
    return touched


class Mirror:
    """Keeps a tracking server up to date from a thread of its own while a sweep runs.

    Args:
        store: The truth.
        server: MLflow tracking URI.
    """

    def __init__(self, store: Store, server: str) -> None:
        self.store, self.server = store, server
        self.problem = ""
        self._over, self._give_up = threading.Event(), threading.Event()
        self._thread = threading.Thread(target=self._follow, name="mlflow-mirror", daemon=True)

    def __enter__(self) -> Mirror:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._over.set()
        self._thread.join(LAST_SECONDS)
        self._give_up.set()
        if self._thread.is_alive():
            self.problem = self.problem or f"MLflow at {self.server} was too slow to take all results"

    def _follow(self) -> None:
        while True:
            last = self._over.wait(SECONDS)
            try:
                sync(self.store, self.server, self._give_up.is_set)
                self.problem = ""
            except (MirrorError, StoreError) as error:
                self.problem = str(error)
            if last:
                return


def _client(server: str) -> Any:
    """Return an MLflow client of ``server``, made with short time-outs; a SQLite store is created first."""
    for name, value in PATIENCE.items():
        os.environ.setdefault(name, value)
    if server.startswith("sqlite:///"):
        Path(server.removeprefix("sqlite:///")).parent.mkdir(parents=True, exist_ok=True)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            from mlflow.tracking import MlflowClient

            logging.getLogger("mlflow").setLevel(logging.ERROR)
            logging.getLogger("alembic").setLevel(logging.ERROR)
            return MlflowClient(server)
        except Exception as error:
            raise MirrorError(f"MLflow at {server} cannot be used: {str(error).splitlines()[0]}") from error


def _experiment(client: Any, name: str) -> str:
    found = client.get_experiment_by_name(name)
    return str(found.experiment_id if found else client.create_experiment(name))


def _run(client: Any, experiment: str, trial: Trial) -> str:
    """Return the MLflow run of ``trial``: the one that carries its id, or a new one."""
    config = trial.config
    found = client.search_runs([experiment], f"tags.`longwave.trial` = '{config.id}'", max_results=1)
    if found:
        return str(found[0].info.run_id)
    tags = {"longwave.trial": config.id, "longwave.row": config.row, "longwave.phase": config.phase}
    tags["mlflow.runName"] = f"{config.model} {config.phase} {config.id[:6]}"
    return str(client.create_run(experiment, tags=tags).info.run_id)


def _send(client: Any, run: str, trial: Trial, points: list[Point]) -> None:
    from mlflow.entities import Metric, Param

    config, end = trial.config, trial.run
    params = {**config.params, **config.options, "model": config.model, "variant": config.variant, "data": config.data}
    params |= {name: getattr(config, name) for name in LOGGED}
    metrics = [
        Metric(name, value, int(p.at * 1000), p.epoch)
        for p in points
        for name, value in (("loss", p.loss), (f"valid_{trial.about.metric}", p.valid))
    ]
    if end and end.test is not None and end.best_epoch:
        at = int(trial.ended.timestamp() * 1000) if trial.ended else 0
        metrics.append(Metric(f"test_{trial.about.metric}", end.test, at, end.best_epoch))
    client.log_batch(run, metrics=metrics, params=[Param(k, str(v)) for k, v in params.items()])
    if end:
        client.set_tag(run, "longwave.status", end.status)
        client.set_terminated(run, "FINISHED" if end.status in ("ok", "stopped") else "FAILED")
