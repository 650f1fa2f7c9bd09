"""A tracking server: sends runs of trials, and reads them back. The only file that knows MLflow.

A trial is one MLflow run in the experiment ``longwave/TASK``, tagged with its id. MLflow never changes a metric: it
keeps every (step, time, value) it was ever sent, once. So sending the same again changes nothing, and a run with
anything but the trial's curve can only be deleted, which MLflow does by hiding it, and created again.
"""

from __future__ import annotations

import logging
import os
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from longwave.platform.errors import LongwaveError
from longwave.platform.redaction import redacted
from longwave.platform.storage.outbox import PendingTrial
from longwave.platform.sweeps.mlflow import local_file
from longwave.platform.sweeps.mlflow.contents import Metrics, Tracked, metrics_of, params_of, status_of, tags_of

PATIENCE = {
    "MLFLOW_HTTP_REQUEST_MAX_RETRIES": "1",
    "MLFLOW_HTTP_REQUEST_BACKOFF_FACTOR": "1",
    "MLFLOW_HTTP_REQUEST_TIMEOUT": "5",
    "MLFLOW_SUPPRESS_PRINTING_URL_TO_STDOUT": "1",
    "MLFLOW_DISABLE_TELEMETRY": "true",
    "MLFLOW_LOGGING_LEVEL": "CRITICAL",
    "MLFLOW_SQLALCHEMYSTORE_POOLCLASS": "NullPool",
}
"""With MLflow's defaults one call to a dead server blocks four minutes, a new store is announced on the screen, errors
are logged with tracebacks, and a SQLite file that was deleted is written to as long as it is open."""


class MirrorError(LongwaveError):
    """A tracking server did not take what it was sent."""


def set_aside_if_damaged(server: str) -> bool:
    """Set a server's file on this machine aside if it is damaged, and return whether it was; a new one comes later."""
    file = local_file.sqlite_path(server)
    return bool(file and (fault := local_file.find_fault(file, opens=True)) and _set_aside(file, fault))


class TrackingServer:
    """A server to which trials are sent, with short timeouts; a SQLite file is created first.

    Args:
        uri: MLflow tracking URI.

    Raises:
        MirrorError: It cannot be used; every method raises it where the server cannot be reached or refuses.
    """

    def __init__(self, uri: str) -> None:
        self.uri, self.name = uri, redacted(uri)
        self._client = client(uri)
        with _errors(self.uri):
            experiments = _pages(self._client.search_experiments, filter_string="name LIKE 'longwave/%'")
            self._experiments = {e.name: str(e.experiment_id) for e in experiments}

    def runs(self) -> Iterator[Tracked]:
        """Yield every run of a trial that is not deleted."""
        with _errors(self.uri):
            yield from self._search("", 1000)

    def read(self, runs: Sequence[str]) -> dict[str, Tracked]:
        """Return what the server has of ``runs``, by id; those it does not have are left out."""
        named = ", ".join(f"'{run}'" for run in runs)
        if not runs:
            return {}
        with _errors(self.uri):
            return {run.id: run for run in self._search(f"attributes.run_id IN ({named})", len(runs))}

    def history(self, run: str, keys: Sequence[str]) -> Metrics:
        """Return every value that a run has of some metrics, in order."""
        with _errors(self.uri):
            measured = {key: self._client.get_metric_history(run, key) for key in keys}
        return {key: sorted((m.step, m.timestamp, m.value) for m in points) for key, points in measured.items()}

    def create(self, waiting: PendingTrial) -> str:
        """Create an empty run for a trial and return its id."""
        config = waiting.trial.config
        name = f"longwave/{config.task}"
        tags = {"longwave.trial": config.id, "longwave.row": config.row, "longwave.phase": config.phase}
        tags["mlflow.runName"] = f"{config.model} {config.phase} {config.id[:6]}"
        with _errors(self.uri):
            if not self._experiments.get(name):
                self._experiments[name] = str(self._client.create_experiment(name))
            run = str(self._client.create_run(self._experiments[name], tags=tags).info.run_id or "")
            if not run:
                raise MirrorError(f"MLflow at {self.name} answers, but not as MLflow does: a new run has no id")
        return run

    def send(self, run: str, waiting: PendingTrial) -> None:
        """Send what ``run`` lacks of a trial: the epochs after those that were sent, then its state, then its end."""
        from mlflow.entities import Metric, Param, RunTag

        end, since = waiting.trial.run, waiting.sent
        metrics = [
            Metric(key, value, at, step)
            for key, line in metrics_of(waiting).items()
            for step, at, value in line
            if step > since or key.startswith("test_")
        ]
        params = [] if since else [Param(key, value) for key, value in params_of(waiting).items()]
        with _errors(self.uri):
            self._client.log_batch(
                run, metrics, params, [RunTag(key, value) for key, value in tags_of(waiting).items()]
            )
            if end:
                ended = waiting.trial.ended
                at = int(ended.timestamp() * 1000) if ended else None
                self._client.set_terminated(run, status_of(waiting), at)

    def delete(self, run: str) -> None:
        """Delete a run; MLflow hides it until ``mlflow gc`` removes it."""
        with _errors(self.uri):
            self._client.delete_run(run)

    def _search(self, query: str, limit: int) -> Iterator[Tracked]:
        experiments = list(self._experiments.values())
        if not experiments:
            return
        for run in _pages(self._client.search_runs, experiment_ids=experiments, filter_string=query, max_results=limit):
            tags, data = run.data.tags, run.data
            if trial := tags.get("longwave.trial"):
                yield Tracked(run.info.run_id, trial, run.info.status, tags, data.params, data.metrics)


@contextmanager
def _errors(uri: str, what: str = "did not answer as it should") -> Iterator[None]:
    """Turn what MLflow raises, its own errors, requests' and SQLAlchemy's, into one line without a password."""
    try:
        yield
    except LongwaveError:
        raise
    except Exception as error:
        name = redacted(uri)
        text = redacted(str(error).replace(uri, name)).strip() or type(error).__name__
        raise MirrorError(f"MLflow at {name} {what}: {text.splitlines()[0]}") from None


def client(uri: str) -> Any:
    """Import MLflow and return its client of a server; a SQLite file is created first.

    Raises:
        MirrorError: The server cannot be used.
    """
    for name, value in PATIENCE.items():
        os.environ.setdefault(name, value)
    with _errors(uri, "cannot be used"), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        from mlflow.tracking import MlflowClient

        for library in ("mlflow", "alembic"):
            logging.getLogger(library).setLevel(logging.CRITICAL)
        file = local_file.sqlite_path(uri)
        return _open_file(uri, file) if file else MlflowClient(uri)


def _pages(search: Any, **query: Any) -> Iterator[Any]:
    token = None
    while True:
        page = search(**query, page_token=token)
        yield from page
        if not (token := page.token):
            return


def _open_file(uri: str, file: Path) -> Any:
    """Return a client of a file of this machine, which is created if it is missing or broken."""
    from mlflow.tracking import MlflowClient

    if file.exists() and local_file.is_of_another_program(file):
        raise MirrorError(f"{file} holds tables of something else than MLflow. Name another with --server")
    for last in (False, True):
        local_file.create_if_missing(file, MlflowClient)
        try:
            client = MlflowClient(uri)
            client.search_experiments(max_results=1)
            return client
        except Exception:
            if last or not (fault := local_file.find_fault(file, opens=False)):
                raise
            _set_aside(file, fault)
    raise AssertionError


def _set_aside(file: Path, fault: str) -> Path:
    kept = local_file.set_aside(file)
    logging.getLogger(__name__).warning("MLflow's file %s was %s. It is kept as %s, and made anew.", file, fault, kept)
    return kept
