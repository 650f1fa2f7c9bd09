"""A program's own functions that are called while a sweep is trained: at each epoch and at each end of a trial."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from longwave.platform.records.report import Report
from longwave.platform.records.run import Point, Run
from longwave.platform.records.trial import TrialConfig


@dataclass(frozen=True)
class Callbacks:
    """Functions to call in the driver, after the epoch or end has been written to the store.

    Attributes:
        on_epoch: Called with a trial's configuration and an epoch of it. After an interruption a trial continues from
            its last checkpoint, so later epochs are reported again.
        on_trial: Called with a trial's configuration and how it ended.
    """

    on_epoch: Callable[[TrialConfig, Point], Any] | None = None
    on_trial: Callable[[TrialConfig, Run], Any] | None = None

    def report(self, config_of: Mapping[str, TrialConfig], report: Report) -> None:
        """Call the functions for the epochs and ends in a pack's report."""
        if self.on_epoch:
            for point in report.points:
                self.on_epoch(config_of[point.trial], point)
        if self.on_trial:
            for run in report.runs:
                self.on_trial(config_of[run.trial], run)


NO_CALLBACKS = Callbacks()
