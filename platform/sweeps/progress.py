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
from longwave.platform.records.trial import TrialConfig

COLOURS = {"ok": "green", "diverged": "yellow", "stopped": "cyan", "failed": "red"}


class Progress:
    """A live view of one sweep. Off a terminal it prints one line a finished pack instead.

    Args:
        name: The sweep.
        metric, goal: Of the task, for the best so far.
        expected: Trial-epochs the whole sweep will train at most, retrainings included.
        console: Where to print.
    """

    def __init__(self, name: str, metric: str, goal: str, expected: int, console: Console) -> None:
        self.name, self.metric, self.sign, self.expected = name, metric, 1.0 if goal == "max" else -1.0, expected
        self.console = console
        self.trials: dict[str, TrialConfig] = {}
        self.epochs: dict[str, int] = {}
        self.ends: dict[str, Run] = {}
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

    def plan(self, trials: Sequence[TrialConfig], ends: Mapping[str, Run]) -> None:
        """Take the trials known so far and how those from earlier runs of the sweep ended."""
        self.trials.update({c.id: c for c in trials})
        for run in ends.values():
            self._end(run)
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
            self._better(self.trials[point.trial], point.valid)
        for run in runs:
            self._end(run)

    def ended(self, pack: str) -> None:
        """Note that a pack is over."""
        what = self.running.pop(pack, pack)
        if not self.console.is_terminal:
            self.console.print(f"{self.name}: {what} over. {self.counts()}", highlight=False)

    def counts(self) -> str:
        """Return one line: how many trials ended, and how."""
        tally = Counter(run.status for run in self.ends.values())
        how = ", ".join(f"{tally[s]} {s}" for s in ENDED if tally[s])
        return f"{len(self.ends)} of {len(self.trials)} trials done" + (f" ({how})" if how else "")

    def _end(self, run: Run) -> None:
        self.ends[run.trial] = run
        if run.valid is not None:
            self._better(self.trials[run.trial], run.valid)

    def _better(self, config: TrialConfig, valid: float) -> None:
        old = self.best.get(config.model)
        if old is None or self.sign * valid > self.sign * old:
            self.best[config.model] = valid

    def _done(self) -> int:
        """Return the trial-epochs over: trained, or no longer needed because the trial ended early."""
        return sum(c.epochs if i in self.ends else self.epochs.get(i, 0) for i, c in self.trials.items())

    def _left(self) -> str:
        done, now = self._done(), time.monotonic() - self._start
        if done <= self._before:
            return "time left unknown yet"
        seconds = now * (self.expected - done) / (done - self._before)
        return f"about {int(seconds // 60)} min {int(seconds % 60):02d} s left"

    def _view(self) -> RenderableType:
        tally = Counter(run.status for run in self.ends.values())
        states = Text("  ").join(Text(f"{tally[s]} {s}", COLOURS[s]) for s in ENDED)
        head = Table.grid(padding=(0, 2))
        head.add_row(Text(self.name, "bold"), f"{len(self.ends)} of {len(self.trials)} trials", states, self._left())
        rows = Table.grid(padding=(0, 2))
        rows.add_row("running", Text(", ".join(self.running.values()) or "starting workers …", "cyan"))
        best = "   ".join(f"{model} {value:.4g}" for model, value in sorted(self.best.items()))
        rows.add_row(f"best {self.metric}", best or "—")
        bar = Table.grid(expand=True)
        bar.add_row(ProgressBar(total=max(self.expected, 1), completed=self._done()))
        return Group(head, bar, rows)
