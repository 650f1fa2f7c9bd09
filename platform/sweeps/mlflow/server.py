"""A tracking server: sends runs of trials, and reads them back. The only file that knows MLflow.

A trial is one MLflow run in the experiment ``longwave/TASK``, tagged with its id. MLflow never changes a metric: it
keeps every (step, time, value) it was ever sent, once. So sending the same again changes nothing, and a run with
anything but the trial's curve can only be deleted, which MLflow does by hiding it, and created again.
"""

from __future__ import annotations

import logging
import os
import sqlite3
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager
from itertools import count
from pathlib import Path
from typing import Any
from urllib.parse import quote

from filelock import FileLock

from longwave.platform.errors import LongwaveError
from longwave.platform.redaction import redacted
from longwave.platform.storage.outbox import PendingTrial
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

COMPANIONS = ("", "-journal", "-wal", "-shm")
"""Suffixes of SQLite's companion files. They move with the file: a journal would be replayed into another file."""
HELD = ("runs", "registered_models", "trace_info")
"""Tables of MLflow that have rows if anybody has used it."""


class MirrorError(LongwaveError):
    """A tracking server did not take what it was sent."""


def set_aside_if_damaged(server: str) -> bool:
    """Set a server's file on this machine aside if it is damaged, and return whether it was; a new one comes later."""
    file = _sqlite_path(server)
    return bool(file and (fault := find_fault(file, opens=True)) and _set_aside(file, fault))


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
        file = _sqlite_path(uri)
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

    if file.exists() and is_of_another_program(file):
        raise MirrorError(f"{file} holds tables of something else than MLflow. Name another with --server")
    for last in (False, True):
        _create_if_missing(file, MlflowClient)
        try:
            client = MlflowClient(uri)
            client.search_experiments(max_results=1)
            return client
        except Exception:
            if last or not (fault := find_fault(file, opens=False)):
                raise
            _set_aside(file, fault)
    raise AssertionError


def _set_aside(file: Path, fault: str) -> Path:
    copy = _rename_aside(file)
    logging.getLogger(__name__).warning("MLflow's file %s was %s. It is kept as %s, and made anew.", file, fault, copy)
    return copy


def _sqlite_path(server: str) -> Path | None:
    """Return the file of a server that is a SQLite file; None of any other."""
    head, _, file = server.partition(":///")
    return Path(file.partition("?")[0]) if head.partition("+")[0] == "sqlite" and file else None


def _create_if_missing(path: Path, make: Callable[[str], object]) -> None:
    """Create MLflow's file if there is none, under another name first, so that a kill leaves none or a whole one.

    Args:
        path: Its path.
        make: Creates a file at a tracking URI.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    with FileLock(f"{path}.lock"):
        if path.exists() and path.stat().st_size:
            return
        making = path.with_name(f"{path.name}.making")
        for file in (making, path):  # remains of a killed attempt, and an empty file at the path
            for ending in COMPANIONS:
                Path(f"{file}{ending}").unlink(missing_ok=True)
        make(f"sqlite:///{making}")
        making.rename(path)


def find_fault(path: Path, opens: bool) -> str:
    """Return what is wrong with MLflow's file: ``damaged``, or ``half made`` if MLflow cannot open it; else "".

    A file that MLflow refuses for another reason, such as one of an older MLflow with runs in it, is not broken.

    Args:
        path: The file.
        opens: Whether MLflow can open it.
    """
    try:
        with closing(sqlite3.connect(f"file:{quote(str(path))}?mode=rw", uri=True, timeout=5)) as connection:
            if connection.execute("PRAGMA quick_check(1)").fetchone() != ("ok",):
                return "damaged"
            tables = {name for (name,) in connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'")}
            if opens or "experiments" not in tables:
                return ""
            queries = [f"SELECT 1 FROM {table}" for table in HELD if table in tables]  # nosec B608  # names of HELD
            queries.append("SELECT 1 FROM experiments WHERE name <> 'Default'")
            return "" if any(connection.execute(f"{query} LIMIT 1").fetchone() for query in queries) else "half made"
    except sqlite3.OperationalError:  # locked, or cannot be opened: its state is unknown
        return ""
    except sqlite3.DatabaseError:
        return "damaged"


def _rename_aside(path: Path) -> Path:
    """Rename a broken file and its companions to a free name, and return that."""
    with FileLock(f"{path}.lock"):
        names = (path.with_name(f"{path.stem}.broken-{k}{path.suffix}") for k in count(1))
        kept = next(name for name in names if not any(Path(f"{name}{ending}").exists() for ending in COMPANIONS))
        for ending in reversed(COMPANIONS):
            if (file := Path(f"{path}{ending}")).exists():
                file.rename(f"{kept}{ending}")
    return kept


def is_of_another_program(path: Path) -> bool:
    """Return whether a SQLite file holds the tables of a program other than MLflow."""
    try:
        with closing(sqlite3.connect(f"file:{quote(str(path))}?mode=rw", uri=True, timeout=5)) as connection:
            tables = {name for (name,) in connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'")}
            return bool(tables) and "experiments" not in tables
    except sqlite3.Error:
        return False
