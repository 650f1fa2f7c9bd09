"""Stores with many finished trials, and MLflow servers, real and fake, to copy them to."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, replace
from datetime import UTC, datetime
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import sqlalchemy as sa
from waiting import free_port

from longwave.platform.records.about import About
from longwave.platform.records.run import Point, Run, Status
from longwave.platform.records.stored import StoredSweep, Trial
from longwave.platform.records.trial import TrialConfig
from longwave.platform.storage import rows
from longwave.platform.storage.checksums import write_checksums
from longwave.platform.storage.lease_tables import AttemptRow
from longwave.platform.storage.schema import BLANK_TRIAL, CurveRow, TrialRow
from longwave.platform.storage.store import Store

ABOUT = About("Adding", "LEM", "mse", "1", "min")
ENDED = datetime(2026, 11, 1, tzinfo=UTC)


def config(seed: int, epochs: int = 10) -> TrialConfig:
    """Return a trial, identified by its seed."""
    params, versions = {"lr": 0.01, "dt": 0.5}, {"task_version": "1", "model_version": "1"}
    return TrialConfig("adding", "N=20", "1", "lem", {}, params, 8, 32, epochs, "retrain", seed, **versions)


def points(config: TrialConfig, epochs: int | None = None, shift: float = 0.0) -> list[Point]:
    """Return epochs of a trial; ``shift`` distinguishes one training from another."""
    last = config.epochs if epochs is None else epochs
    return [
        Point(config.id, e, 1 / e + config.seed + shift, 2 / e + shift, 0.5 * e, 1.7e9 + e + 1000 * shift)
        for e in range(1, last + 1)
    ]


def ended(config: TrialConfig, shift: float = 0.0) -> Trial:
    """Return a trial that ended ok."""
    best = config.epochs
    run = Run(config.id, "ok", "", best, best, 2 / best + shift, 3 / best + shift, 12.5, 8, 1233, {"torch": "2"})
    return Trial(config, ABOUT, "ok", None, run, ENDED, "b" * 64)


def fill(store: Store, trials: int, epochs: int = 10, sweep: str = "filled", seed: int = 1) -> list[TrialConfig]:
    """Write a sweep of finished trials, with seeds from ``seed`` on, and return their configurations, by id."""
    configs = sorted((config(seed, epochs) for seed in range(seed, seed + trials)), key=lambda c: c.id)
    epochs = [[tuple(vars(point).values()) for point in points(c)] for c in configs]
    content = {"name": sweep, "task": "adding", "variant": "N=20", "models": ["lem"], "trials": 0, "retrain": trials}
    planned = StoredSweep(sweep, content), [c.id for c in configs], [0] * trials
    store.import_trials(["b" * 64], zip(map(ended, configs), epochs, strict=True), [planned])
    return configs


def attempt(store: Store, config: TrialConfig, number: int, epoch: int, last: int, shift: float, over: bool) -> None:
    """Write another attempt of a trial, from after ``epoch`` to ``last``, with values shifted by ``shift``."""
    with store.transaction() as connection:
        row = {"trial": config.id, "number": number, "owner": "w", "fence": number, "epoch": epoch, "started": ENDED}
        connection.execute(sa.insert(AttemptRow), [row])
        connection.execute(sa.delete(CurveRow).where(CurveRow.trial == config.id, CurveRow.epoch > epoch))
        new = [asdict(p) for p in points(config, last, shift) if p.epoch > epoch]
        connection.execute(sa.insert(CurveRow), new) if new else None
        values = rows.ended_trials([ended(config, shift)])[0] if over else {**BLANK_TRIAL, "status": "running"}
        connection.execute(sa.update(TrialRow).where(TrialRow.id == config.id).values(values))
        write_checksums(connection, [config.id])


def record_failure(store: Store, config: TrialConfig, reason: str, status: Status = "failed") -> None:
    """Let a trial that has ended ok have failed instead, or ended with another status, for a reason."""
    with store.transaction() as connection:
        failed = replace(ended(config), status=status, run=Run(config.id, status, reason))
        values = rows.ended_trials([failed])[0]
        connection.execute(sa.update(TrialRow).where(TrialRow.id == config.id).values(values))
        write_checksums(connection, [config.id])


@contextmanager
def mlflow_server(folder: Path) -> Iterator[str]:
    """Run a real MLflow server with all files and logs in ``folder``; yield its address."""
    port = free_port()
    folder.mkdir()
    command = [sys.executable, "-m", "mlflow", "server", "--host", "127.0.0.1", "--port", str(port), "--workers", "1"]
    command += ["--backend-store-uri", f"sqlite:///{folder}/m.db", "--artifacts-destination", str(folder)]
    with (folder / "server.log").open("wb") as log:
        process = subprocess.Popen(command, stdout=log, stderr=log, start_new_session=True)
    url, deadline = f"http://127.0.0.1:{port}", time.time() + 90
    while time.time() < deadline:
        try:
            urllib.request.urlopen(f"{url}/health", timeout=1).close()
            break
        except OSError:
            time.sleep(0.3)
    yield url
    os.killpg(process.pid, signal.SIGKILL)
    process.wait()


class Nonsense(BaseHTTPRequestHandler):
    """Sends the same answer to every request."""

    def do_POST(self) -> None:
        """Send the answer."""
        code, kind, body = self.server.answer  # type: ignore[attr-defined]
        self.rfile.read(int(self.headers.get("Content-Length") or 0))
        self.send_response(code)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    do_GET = do_PATCH = do_POST

    def log_message(self, *_: object) -> None:
        """Log nothing."""


@contextmanager
def nonsense(code: int, kind: str, body: bytes) -> Iterator[str]:
    """Serve the same answer to every request; yield the address."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), Nonsense)
    server.answer = (code, kind, body)  # type: ignore[attr-defined]
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
