"""The mirror: copies trials from the store to a tracking server, and checks that they arrived.

The store is the source of truth: what a server is not known to have is sent. It is known to have what was read back
from it: the last epoch, tags and parameters while a trial is trained, and the whole curve once it has ended. Whenever a
mirror starts, it verifies by searches what the server is believed to have. A server that is down, or answers nonsense,
loses only its copy, and gets what it missed later.

A trial that is trained again, or resumes from an earlier epoch than was sent, gets a new run; the superseded one is
deleted, which in MLflow hides it. So each trial has one visible run, with the curve of the store; the tag
``longwave.attempt`` is its last attempt. One process at a time mirrors a store to a server.
"""

from __future__ import annotations

import threading
from collections import defaultdict
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import replace

from longwave.platform.errors import StoreError
from longwave.platform.redaction import redacted
from longwave.platform.storage.outbox import Delivery, Outbox, PendingTrial
from longwave.platform.storage.store import Store
from longwave.platform.sweeps.mlflow.contents import (
    Tracked,
    has_whole_curve,
    holds_only_own,
    last_epoch,
    metrics_of,
    params_of,
    what_is_missing,
)
from longwave.platform.sweeps.mlflow.server import MirrorError, TrackingServer, set_aside_if_damaged

PATIENCE = 30.0
"""How long ``sync`` waits for another process that mirrors the same store to the same server."""
BATCH = 50
"""Number of trials that are sent, verified by one search, and noted together."""


def sync(store: Store, server: str) -> int:
    """Send ``server`` everything it lacks; return how many trials were sent.

    Every trial is one MLflow run, tagged with its id; points have their own times, so sending twice changes nothing.

    Args:
        store: The source.
        server: MLflow tracking URI.

    Raises:
        MirrorError: The server cannot be reached, refuses, or does not keep what it is sent; the message says how far
            the copy is. What arrived is noted.
        StoreError: Another process mirrors this store to this server.
    """
    try:
        with Upload(store, server, PATIENCE) as upload:
            upload.verify()
            return upload.send()
    except MirrorError as error:
        if set_aside_if_damaged(server):
            return sync(store, server)
        raise MirrorError(f"{error}; {progress(store, server)}") from None


def follow(store: Store, server: str, seconds: float, over: threading.Event) -> str:
    """Send ``server`` new results of a store until the event is set, then what is left; return the last problem.

    Args:
        store: The source.
        server: MLflow tracking URI.
        seconds: Interval at which to look for new results.
        over: Set once no more will come.
    """
    last, problem, upload = False, "", None
    with ExitStack() as stack:
        while not last:
            last = over.wait(seconds)
            try:
                upload = upload or stack.enter_context(Upload(store, server))
                upload.send()
                problem = ""
            except (MirrorError, StoreError) as error:
                problem, upload = str(error), None
                stack.close()
                set_aside_if_damaged(server)
    return problem


class Upload:
    """Holds a store's outbox for a server, and sends what is in it.

    Args:
        store: The source.
        server: MLflow tracking URI.
        patience: Seconds to wait for another process that holds it.

    Raises:
        StoreError: Another process holds it.
    """

    def __init__(self, store: Store, server: str, patience: float = 0.0) -> None:
        self.uri, self.outbox, self.patience = server, Outbox(store, redacted(server)), patience
        self._exit = ExitStack()
        self._server: TrackingServer | None = None
        self._there: dict[str, Tracked] = {}
        self._found: dict[str, list[Tracked]] = defaultdict(list)

    def __enter__(self) -> Upload:
        self._held = self._exit.enter_context(self.outbox.lock(self.patience))
        return self

    def __exit__(self, *_: object) -> None:
        self._exit.close()

    def verify(self) -> None:
        """Verify by searches what the server is believed to have; what is missing will be sent again."""
        self._server = TrackingServer(self.uri)
        self._there = {run.id: run for run in self._server.runs()}
        noted = self.outbox.deliveries()
        self.outbox.reset([line.trial for line in noted if not _still_holds(self._there.get(line.run), line)])
        ours = {line.run for line in noted}
        self._found.clear()
        for run in self._there.values():
            if run.id not in ours:
                self._found[run.trial].append(run)

    def send(self) -> int:
        """Send all new results once, and return the number of trials; without new results MLflow is not loaded."""
        self._held()
        touched, after = 0, ""
        while waiting := self.outbox.pending(after, BATCH):
            if self._server is None:  # MLflow takes seconds to import: only where there is news
                self.verify()
                continue
            after = waiting[-1].trial.config.id
            touched += self._deliver(self._server, waiting)
        return touched

    def _deliver(self, server: TrackingServer, waiting: Sequence[PendingTrial]) -> int:
        """Send trials, note those that arrived, and send the others once more, in new runs."""
        left, lacks = list(waiting), ""
        for _ in range(2):
            placed = self._assign_runs(server, left)
            for run, trial in placed:
                server.send(run, trial)
            there = server.read([run for run, _ in placed])
            lacks_of = {run: self._missing_of(server, trial, there.get(run)) for run, trial in placed}
            self.outbox.write_deliveries(_to_delivery(run, trial) for run, trial in placed if not lacks_of[run])
            left = [replace(trial, sent=0, run=run, superseded=True) for run, trial in placed if lacks_of[run]]
            for run in lacks_of.keys() - there.keys():
                self._there.pop(run, None)
            if not left:
                return len(placed)
            lacks = next(f"{text} of trial {t.trial.config.id}" for r, t in placed if (text := lacks_of[r]))
        raise MirrorError(f"MLflow at {server.name} answers, but does not keep what it is sent: it lacks {lacks}")

    def _assign_runs(self, server: TrackingServer, waiting: Sequence[PendingTrial]) -> list[tuple[str, PendingTrial]]:
        """Return each trial with its run, and note new runs before anything is written to them.

        A run that a killed process created and did not note is therefore empty, and can be used for its trial.
        """
        placed: list[tuple[str, PendingTrial]] = []
        fresh: list[Delivery] = []
        for trial in waiting:
            known = self._there.get(trial.run or "")
            if known and not trial.superseded and (trial.sent or _has_same_params(known, trial)):
                placed.append((known.id, trial))
                continue
            if known:
                server.delete(known.id)
                del self._there[known.id]
            run = self._find_unnoted_run(server, trial) or server.create(trial)
            placed.append((run, replace(trial, run=run, sent=0)))
            fresh.append(Delivery(trial.trial.config.id, run, 0, False, trial.attempt))
            self._there.setdefault(run, Tracked(run, trial.trial.config.id, "RUNNING", {}, {}, {}))
        if fresh:
            self.outbox.write_deliveries(fresh)
        return placed

    def _find_unnoted_run(self, server: TrackingServer, trial: PendingTrial) -> str:
        """Return a run of the trial that was not noted and holds only the trial's own values; "" if there is none."""
        for run in self._found.pop(trial.trial.config.id, []):
            if _has_same_params(run, trial) and holds_only_own(server.history(run.id, list(run.values)), trial):
                return run.id
        return ""

    def _missing_of(self, server: TrackingServer, trial: PendingTrial, run: Tracked | None) -> str:
        """Return what the server lacks of a trial, as a search shows it; of an ended one the whole curve is checked."""
        if (text := what_is_missing(trial, run)) or run is None or not trial.trial.run:
            return text
        return "" if has_whole_curve(server.history(run.id, list(metrics_of(trial))), trial) else "points of the curve"


def _has_same_params(run: Tracked, trial: PendingTrial) -> bool:
    """Return whether all parameters of a run are the trial's; MLflow lets none be changed."""
    return all(run.params.get(key, value) == value for key, value in params_of(trial).items())


def _still_holds(run: Tracked | None, noted: Delivery) -> bool:
    """Return whether a run has what was noted of it, as far as a search shows."""
    if run is None or run.trial != noted.trial or (noted.closed and not run.over):
        return False
    epoch = run.tags.get("longwave.epoch", "")
    return not epoch.isdigit() or int(epoch) >= noted.epoch


def _to_delivery(run: str, trial: PendingTrial) -> Delivery:
    closed = trial.trial.run is not None
    return Delivery(trial.trial.config.id, run, last_epoch(trial), closed, trial.attempt)


def progress(store: Store, server: str) -> str:
    """Return in words how far a copy is."""
    try:
        sent, total = Outbox(store, redacted(server)).progress()
    except StoreError:
        return "how far the copy is, is unknown"
    return f"{sent} of {total} trials sent"
