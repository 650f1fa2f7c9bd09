"""What a program calls while a sweep is trained: functions of its own, at each epoch and at each end of a trial."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from longwave.platform.records.report import Report
from longwave.platform.records.run import Point, Run
from longwave.platform.records.trial import TrialConfig


@dataclass(frozen=True)
class Callbacks:
    """Functions to call in the driver, once what they are told is in the store.

    Attributes:
        on_epoch: Called with a trial's configuration and an epoch of it. After an interruption a trial goes on from its
            last checkpoint, and epochs behind that come again.
        on_trial: Called with a trial's configuration and how it ended.
    """

    on_epoch: Callable[[TrialConfig, Point], Any] | None = None
    on_trial: Callable[[TrialConfig, Run], Any] | None = None

    def report(self, config_of: Mapping[str, TrialConfig], report: Report) -> None:
        """Tell of what a pack reports."""
        if self.on_epoch:
            for point in report.points:
                self.on_epoch(config_of[point.trial], point)
        if self.on_trial:
            for run in report.runs:
                self.on_trial(config_of[run.trial], run)


NO_CALLBACKS = Callbacks()
