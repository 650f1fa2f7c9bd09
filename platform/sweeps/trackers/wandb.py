"""Weights & Biases: a trial is a run, in the group of its cell, whose results are a run too. Only this file knows W&B.

W&B is configured by its own variables, ``WANDB_PROJECT``, ``WANDB_MODE=offline``, ``WANDB_DIR``. The id of a run is
derived from sweep and trial, so that W&B resumes it, and it accepts no step twice. What a run had when it was closed,
which waits for W&B's server, is noted beside W&B's own files, since those of the offline mode cannot be queried.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from longwave.platform.paths import home
from longwave.platform.records.identity import digest
from longwave.platform.records.run import Point
from longwave.platform.sweeps.trackers.tracker import (
    LoggedTrial,
    TrackedCell,
    TrackedSweep,
    TrackedTrial,
    Tracker,
    TrackerName,
)


class WandbTracker(Tracker):
    """Sends a sweep to W&B, or to its files of the offline mode."""

    def __init__(self, name: TrackerName) -> None:
        super().__init__(name)
        self.runs, self.reached = dict[str, Any](), dict[str, int]()

    def load(self) -> None:
        """Load W&B."""
        import wandb  # type: ignore[import-not-found, unused-ignore]  # noqa: F401

    def begin_sweep(self, sweep: TrackedSweep) -> Mapping[str, LoggedTrial]:
        """Read what was sent of a sweep."""
        self.sweep = sweep
        folder = Path(os.environ.get("WANDB_DIR") or home())
        self.folder, self.notes = str(folder), folder / "wandb" / f"longwave-{sweep.id}.jsonl"
        self.notes.parent.mkdir(parents=True, exist_ok=True)
        lines = self.notes.read_text().splitlines() if self.notes.exists() else []
        self.noted = {part: LoggedTrial(count, status) for line in lines for part, count, status in _read_note(line)}
        return self.noted

    def log_epochs(self, trial: TrackedTrial, points: Sequence[Point]) -> None:
        """Append epochs, whose numbers are W&B's steps."""
        run = self._open(trial)
        for point in points:
            run.log(trial.measures_of(point), step=point.epoch)
            self.reached[trial.id] = point.epoch

    def end_trial(self, trial: TrackedTrial) -> None:
        """Write the test metric and the end."""
        run, end = self._open(trial), trial.run
        assert end
        had_ended = self.noted.get(trial.id, LoggedTrial()).status  # it may have failed, with a reason
        run.summary.update({"reason": "", **trial.tags} if had_ended else trial.tags)
        if end.test is not None:
            run.summary[trial.metric("test")] = end.test
        run.finish(exit_code=int(end.status in ("diverged", "failed")))
        del self.runs[trial.id]
        self._note(trial.id, end.epochs, end.status)

    def end_cell(self, cell: TrackedCell) -> None:
        """Write mean, std and median of its retrainings, as a separate run."""
        content = digest([sorted(map(repr, cell.measures.items())), cell.verdict])
        part, summary = f"cell-{cell.number}", LoggedTrial(len(cell.retrained), content)
        if self.noted.get(part) == summary:
            return
        config = cell.retrained[0].shared_params if cell.retrained else {}
        run = self._init(part, cell.name, cell.name, "cell", config)
        run.summary.update({**cell.measures, "verdict": cell.verdict, "retrained": len(cell.retrained)})
        run.finish()
        self._note(part, *summary)

    def end_sweep(self, over: bool) -> None:
        """Close the open runs, which can be resumed later."""
        while self.runs:
            part, run = self.runs.popitem()
            run.finish()
            if part in self.reached:
                self._note(part, self.reached[part], "")

    def close(self) -> None:
        """Close the runs that an exception left open: W&B opens none a second time in one process."""
        while self.runs:
            with suppress(Exception):
                self.end_sweep(over=False)

    def _open(self, trial: TrackedTrial) -> Any:
        """Return the run of a trial, which is created or resumed."""
        if trial.id not in self.runs:
            phase, config = trial.record.config.phase, {**trial.params, **trial.tags}
            self.runs[trial.id] = self._init(trial.id, trial.name, trial.cell_name, phase, config)
        return self.runs[trial.id]

    def _init(self, part: str, name: str, cell: str, kind: str, config: Mapping[str, Any]) -> Any:
        import wandb

        return wandb.init(
            project=os.environ.get("WANDB_PROJECT", "longwave"),
            id=f"{self.sweep.id}-{part}",
            name=name,
            group=f"{self.sweep.name} {cell}",
            job_type=kind,
            tags=[self.sweep.name],
            config={**config, "sweep": self.sweep.name},
            resume="allow",
            reinit="create_new",
            dir=self.folder,
            settings=wandb.Settings(silent=True, console="off"),
        )

    def _note(self, part: str, count: int, status: str) -> None:
        """Note how far a trial, or a cell, was sent."""
        with self.notes.open("a") as file:
            file.write("\n" + json.dumps([part, count, status]))  # a line that was cut short spoils no other
        self.noted[part] = LoggedTrial(count, status)


def _read_note(line: str) -> list[tuple[str, int, str]]:
    """Return the note of a line; none if it is empty, or was cut short by a full disk or a crash."""
    with suppress(ValueError):
        part, count, status = json.loads(line)
        return [(part, count, status)]
    return []


TRACKER = WandbTracker
