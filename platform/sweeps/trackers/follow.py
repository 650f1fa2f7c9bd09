"""Follow a sweep in the store, and send a tracker what it does not have yet.

The store keeps no state of trackers: a tracker reports what it has when it begins a sweep. Only one process at a time
follows a sweep for a tracker.
"""

from __future__ import annotations

import statistics
import threading
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from itertools import groupby
from typing import TYPE_CHECKING

from longwave.platform.boards.printed import write_verdicts
from longwave.platform.boards.texts import DASH, lost
from longwave.platform.errors import LongwaveError
from longwave.platform.paths import weights_file
from longwave.platform.records.identity import digest
from longwave.platform.records.run import Point
from longwave.platform.records.stored import PlannedTrial, Trial
from longwave.platform.redaction import redact_document
from longwave.platform.statistics.median import median
from longwave.platform.storage.boards import read_board
from longwave.platform.storage.exclusive import exclusively
from longwave.platform.storage.store import Store
from longwave.platform.sweeps.plan.stored import read_sweep_plan
from longwave.platform.sweeps.trackers.tracker import (
    LoggedTrial,
    TrackedCell,
    TrackedSweep,
    TrackedTrial,
    TrackerError,
    TrackerName,
    describe_error,
    load_tracker,
)

if TYPE_CHECKING:
    from longwave.platform.paths import AnyPath

WAIT_SECONDS = 30.0
"""How long ``send_sweep`` waits for another process that follows the same sweep for the same tracker."""
NO_NUMBER = "no printed number"
"""The verdict on a row without a published number that no trivial predictor beats."""
BATCH = 50
"""Number of trials whose curves are read at once."""


def send_sweep(store: Store, sweep: str, storage: AnyPath, tracker: TrackerName) -> int:
    """Send a tracker all that it lacks of a sweep, and return of how many trials that was.

    Args:
        store: The store of the sweep.
        sweep: Its name.
        storage: Where its weights were saved.
        tracker: The tracker.

    Raises:
        ConfigError: There is no such sweep, or no such tracker.
        StoreError: Another process is sending it.
        TrackerError: Its server cannot be reached, or refuses results. Those that arrived stay there.
    """
    with ExitStack() as stack, _one_line(tracker):
        return _Follower(store, sweep, storage, tracker, stack, WAIT_SECONDS).send(last=True)


def follow_sweep(
    store: Store, sweep: str, storage: AnyPath, tracker: TrackerName, seconds: float, over: threading.Event
) -> str:
    """Send a tracker new results of a sweep until the event is set, then what is left; return the last problem.

    Args:
        store, sweep, storage, tracker: As for ``send_sweep``.
        seconds: Interval at which to look for new results.
        over: Set once there will be no more results.
    """
    last, problem, follower = False, "", None
    with ExitStack() as stack:
        while not last:
            last = over.wait(seconds)
            try:
                with _one_line(tracker):
                    follower = follower or _Follower(store, sweep, storage, tracker, stack)
                    follower.send(last)
                problem = ""
            except LongwaveError as error:
                problem, follower = str(error), None
                stack.close()
    return problem


class _Follower:
    """Knows what a tracker has of a sweep, and sends what is new."""

    def __init__(
        self, store: Store, sweep: str, storage: AnyPath, name: TrackerName, stack: ExitStack, wait_seconds: float = 0.0
    ) -> None:
        self.store, self.name, self.storage = store, sweep, storage
        self.check_lock = stack.enter_context(exclusively(store, f"sending {sweep} to {name.title}", wait_seconds))
        self.tracker, plan = load_tracker(name), read_sweep_plan(store, sweep)
        stack.callback(self.tracker.close)
        self.cells, created = plan.cells, store.created(sweep)
        settings = redact_document(dict(store.sweep(sweep).content))
        sweep_id = digest({"name": sweep, "created": created.isoformat()})
        labels = [cell.label or cell.base.model for cell in self.cells]
        self.sweep = TrackedSweep(sweep, sweep_id, settings, created.timestamp(), labels)
        self.logged = dict(self.tracker.begin_sweep(self.sweep))
        self.is_first = True
        self.closed = set[int]()

    def send(self, last: bool) -> int:
        """Send what is new, and return of how many trials that is; the last call also sends all ends."""
        self.check_lock()
        planned = self.store.planned(self.name)
        changed = [p.id for p in planned if self._may_have_news(p, self.is_first or last)]
        cell_of, sent = {p.id: p.cell or 0 for p in planned}, 0
        for first in range(0, len(changed), BATCH):
            for record, began, points in self._begun(changed[first : first + BATCH]):
                sent += self._send_trial(record, began, points, cell_of[record.config.id])
        self.is_first = False
        for number, cell in groupby(sorted(planned, key=lambda p: p.cell or 0), lambda p: p.cell or 0):
            self._end_cell(number, list(cell), last)
        if last:
            self.tracker.end_sweep(not any(p.open for p in planned))
        return sent

    def _may_have_news(self, planned: PlannedTrial, all_open: bool) -> bool:
        if planned.open:
            return all_open or planned.status == "running"
        return self.logged.get(planned.id, LoggedTrial()).status != planned.status

    def _begun(self, trials: Sequence[str]) -> Iterator[tuple[Trial, float, list[Point]]]:
        """Yield those of ``trials`` that have begun, with the Unix time of that and their epochs, by that time."""
        starts = self.store.starts(trials)
        curves = {key: list(points) for key, points in groupby(self.store.curves(trials), lambda p: p.trial)}
        started_trials = []
        for record in self.store.trials_by_id(trials):
            points = curves.get(record.config.id, [])
            times = [starts[record.config.id]] if record.config.id in starts else []
            times += [points[0].at - points[0].seconds] if points else []
            times += [record.ended.timestamp()] if record.ended else []
            if points or record.run:
                started_trials.append((record, min(times), points))
        return iter(sorted(started_trials, key=lambda line: line[1]))

    def _send_trial(self, record: Trial, began: float, points: Sequence[Point], cell: int) -> bool:
        """Send what is new of a trial, and return whether anything was."""
        logged, status = self.logged.get(record.config.id, LoggedTrial()), record.run.status if record.run else ""
        new = [point for point in points if point.epoch > logged.epoch]
        if not new and status == logged.status:
            return False
        trial = self._tracked(record, began, cell)
        if new or not logged.epoch:
            self.tracker.log_epochs(trial, new)
        if record.run:
            self.tracker.end_trial(trial)
        self.closed.discard(cell)
        self.logged[trial.id] = LoggedTrial(max(logged.epoch, points[-1].epoch if points else 0), status)
        return True

    def _tracked(self, record: Trial, began: float, cell: int) -> TrackedTrial:
        weights = weights_file(self.storage, record.config.id) if record.config.phase == "retrain" else None
        saved_weights = weights if weights and record.run and weights.exists() else None
        return TrackedTrial(self.name, cell, self.cell_name(cell), record, began, saved_weights)

    def _end_cell(self, number: int, planned: Sequence[PlannedTrial], last: bool) -> None:
        """Send the end of a cell once, if its trials have ended; a cell with only a search ends at the last call."""
        retrained = [p.id for p in planned if p.phase == "retrain"]
        if any(p.open for p in planned) or not (retrained or last) or number in self.closed:
            return
        trials = [self._tracked(record, began, number) for record, began, _ in self._begun(retrained)]
        trials = [trial for trial in trials if trial.record.config.row == trials[-1].record.config.row]
        ended = [t.ended.timestamp() for t in self.store.trials_by_id([p.id for p in planned]) if t.ended]
        measures, verdict = self._measures(number, trials), ""
        if trials:
            config = trials[0].record.config
            rows = [row for row in read_board(self.store, config.task) if row.config == config.row]
            words = [word for row in rows for word in (*lost(row), write_verdicts(row)) if word != DASH]
            verdict = "; ".join(words) or NO_NUMBER
        name = self.cell_name(number)
        self.tracker.end_cell(TrackedCell(number, name, trials, measures, verdict, max(ended)))
        self.closed.add(number)

    def _measures(self, number: int, trials: Sequence[TrackedTrial]) -> dict[str, float]:
        """Return mean, std and median of the retrainings' test metrics."""
        runs = [t.run for t in trials if t.run]
        tests = [run.test for run in runs if run.test is not None]
        if not tests:
            return {}
        seeds = [*tests, *[None for run in runs if run.status == "diverged"]]
        measures = {"mean": statistics.mean(tests), "median": median(seeds, self.cells[number].scale).value}
        measures |= {"std": statistics.stdev(tests)} if len(tests) > 1 else {}
        name = trials[0].metric("test")
        return {f"{name}_{what}": value for what, value in measures.items() if value is not None}

    def cell_name(self, number: int) -> str:
        """Return the name of a cell."""
        return self.sweep.cells[number] if number < len(self.sweep.cells) else self.name


@contextmanager
def _one_line(tracker: TrackerName) -> Iterator[None]:
    """Turn what a tracker's library raises into one line without a password."""
    try:
        yield
    except LongwaveError:
        raise
    except Exception as error:
        text = describe_error(error, tracker.address)
        raise TrackerError(f"{tracker.title} did not accept results: {text}") from None
