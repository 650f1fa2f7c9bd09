"""What a running sweep shows: packs running, how trials ended, the best so far, the time left."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Mapping, Sequence
from types import TracebackType

from rich.console import Console, Group, RenderableType
from rich.live import Live
from rich.progress_bar import ProgressBar
from rich.table import Table
from rich.text import Text

from longwave.platform.records.run import ENDED, Point, Run
from longwave.platform.records.stored import Asked
from longwave.platform.records.trial import TrialConfig

COLOURS = {"ok": "green", "diverged": "yellow", "stopped": "cyan", "failed": "red"}


class Progress:
    """A live view of one sweep. Off a terminal it prints one line a finished pack instead.

    Args:
        name: The sweep.
        metric, goal: Of the task, for the best so far.
        each: Trials a model at most, retrainings included.
        planned: Epochs of a trial, by model.
        console: Where to print.
    """

    def __init__(
        self, name: str, metric: str, goal: str, each: int, planned: Mapping[str, int], console: Console
    ) -> None:
        self.name, self.metric, self.sign = name, metric, 1.0 if goal == "max" else -1.0
        self.planned, self.expected, self.console = planned, each * sum(planned.values()), console
        self.models: dict[str, str] = {}
        self.epochs: dict[str, int] = {}
        self.ends: dict[str, str] = {}
        self.best: dict[str, float] = {}
        self.running: dict[str, str] = {}
        self._start, self._before = time.monotonic(), 0
        self._live = Live(get_renderable=self._view, console=console, refresh_per_second=4, transient=True)

    def __enter__(self) -> Progress:
        if self.console.is_terminal:
            self._live.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._live.stop()

    def plan(self, trials: Sequence[Asked]) -> None:
        """Take the trials known so far and how those from earlier runs of the sweep ended."""
        for trial in trials:
            self.models[trial.id] = trial.model
            if not trial.open:
                self._end(trial.id, trial.status, trial.valid)
        if not self.epochs:
            self._before = self._done()

    def started(self, pack: str, configs: Sequence[TrialConfig]) -> None:
        """Note a pack that has a worker."""
        first = configs[0]
        self.running[pack] = f"{first.model} {first.phase} ×{len(configs)}"

    def report(self, points: Sequence[Point], runs: Sequence[Run]) -> None:
        """Take epochs and ends."""
        for point in points:
            self.epochs[point.trial] = max(self.epochs.get(point.trial, 0), point.epoch)
            self._better(self.models[point.trial], point.valid)
        for run in runs:
            self._end(run.trial, run.status, run.valid)

    def ended(self, pack: str) -> None:
        """Note that a pack is over."""
        what = self.running.pop(pack, pack)
        if not self.console.is_terminal:
            self.console.print(f"{self.name}: {what} over. {self.counts()}", highlight=False)

    def counts(self) -> str:
        """Return one line: how many trials ended, and how."""
        tally = Counter(self.ends.values())
        how = ", ".join(f"{tally[s]} {s}" for s in ENDED if tally[s])
        return f"{len(self.ends)} of {len(self.models)} trials done" + (f" ({how})" if how else "")

    def _end(self, trial: str, status: str, valid: float | None) -> None:
        self.ends[trial] = status
        if valid is not None:
            self._better(self.models[trial], valid)

    def _better(self, model: str, valid: float) -> None:
        old = self.best.get(model)
        if old is None or self.sign * valid > self.sign * old:
            self.best[model] = valid

    def _done(self) -> int:
        """Return the trial-epochs over: trained, or no longer needed because the trial ended early."""
        return sum(self.planned[m] if i in self.ends else self.epochs.get(i, 0) for i, m in self.models.items())

    def _left(self) -> str:
        done, now = self._done(), time.monotonic() - self._start
        if done <= self._before:
            return "time left unknown yet"
        seconds = now * (self.expected - done) / (done - self._before)
        return f"about {int(seconds // 60)} min {int(seconds % 60):02d} s left"

    def _view(self) -> RenderableType:
        tally = Counter(self.ends.values())
        states = Text("  ").join(Text(f"{tally[s]} {s}", COLOURS[s]) for s in ENDED)
        head = Table.grid(padding=(0, 2))
        head.add_row(Text(self.name, "bold"), f"{len(self.ends)} of {len(self.models)} trials", states, self._left())
        rows = Table.grid(padding=(0, 2))
        rows.add_row("running", Text(", ".join(self.running.values()) or "starting workers …", "cyan"))
        best = "   ".join(f"{model} {value:.4g}" for model, value in sorted(self.best.items()))
        rows.add_row(f"best {self.metric}", best or "—")
        bar = Table.grid(expand=True)
        bar.add_row(ProgressBar(total=max(self.expected, 1), completed=self._done()))
        return Group(head, bar, rows)
