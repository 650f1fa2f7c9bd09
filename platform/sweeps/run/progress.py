"""The live view of a running sweep: running packs, how trials ended, the best scores so far, the time left."""

from __future__ import annotations

import math
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from datetime import datetime
from types import TracebackType

from rich.console import Console, Group, RenderableType
from rich.live import Live
from rich.progress_bar import ProgressBar
from rich.table import Table
from rich.text import Text

from longwave.platform.errors import StoreError
from longwave.platform.records.run import ENDED, Point, Run
from longwave.platform.records.stored import EpochCounts, PlannedTrial
from longwave.platform.records.trial import TrialConfig
from longwave.platform.sweeps.plan.cells import CellPlan, Sweep
from longwave.platform.sweeps.run.notebook import NotebookLive
from longwave.platform.sweeps.run.status import PhaseOfCell, count_trials, remaining_epochs
from longwave.platform.sweeps.run.time_left import LOG_SECONDS, duration_text
from longwave.platform.wording import describe_count, list_first

ESTIMATE_SECONDS, ESTIMATE_FACTOR = 3.0, 50.0
"""Pause between two estimates of the time left: at least so many seconds, and so many times as long as one takes."""
LONGEST_NAME = 30


@contextmanager
def ignoring_print_errors() -> Iterator[None]:
    """Go on if a line cannot be printed, as when the disk of a log is full. A closed pipe still ends the sweep."""
    try:
        yield
    except BrokenPipeError:
        raise
    except OSError:
        pass


COLOURS = {"ok": "green", "diverged": "yellow", "stopped": "cyan", "failed": "red"}


class Progress:
    """A live view of one sweep, on a terminal or in a notebook.

    Elsewhere it prints lines with the time instead: one for each finished pack, and at least one a minute.

    Args:
        sweep: The sweep.
        console: Where to print.
        read_seconds_left: Returns the seconds that the sweep still takes; None while they are unknown.
    """

    def __init__(
        self, sweep: Sweep, console: Console, read_seconds_left: Callable[[], float | None] = lambda: None
    ) -> None:
        self.read_seconds_left = read_seconds_left
        self.file, self.name, self.cells, self.console = sweep.file, sweep.file.name, sweep.cells, console
        self.trials = count_trials(sweep)
        self.cell_of_trial: dict[str, CellPlan] = {}
        self.done: dict[PhaseOfCell, EpochCounts] = {}
        self.parts: dict[str, PhaseOfCell] = {}
        self.epochs: dict[str, int] = {}
        self.ends: dict[str, str] = {}
        self.best: dict[str, float] = {}
        self.running: dict[str, str] = {}
        self.waits, self._last_shown, self.over = "", "", False
        self._tally = Counter[str]()
        self._start = self._printed = time.monotonic()
        self._closed = threading.Event()
        self._left: float | None = None
        self._estimated, self._estimate_again = self._start, -math.inf
        self._watch = threading.Thread(target=self._watch_time, name="time left", daemon=True)
        self._live: Live | NotebookLive = NotebookLive(self._render)
        if not console.is_jupyter:
            self._live = Live(get_renderable=self._render, console=console, refresh_per_second=4, transient=True)

    def __enter__(self) -> Progress:
        if self._changes_in_place:
            self._live.start()
        self._watch.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._live.stop()
        self._closed.set()
        self._watch.join()

    def plan(self, trials: Sequence[PlannedTrial]) -> None:
        """Add the trials planned so far, and how those of earlier runs of the sweep ended."""
        for trial in trials:
            if trial.id not in self.cell_of_trial:
                cell = self._cell_index(trial)
                self.cell_of_trial[trial.id], self.parts[trial.id] = self.cells[cell], (cell, trial.phase)
            if not trial.open:
                self._count_end(trial.id, trial.status, trial.valid, trial.epochs)

    def started(self, pack: str, configs: Sequence[TrialConfig]) -> None:
        """Note a pack that has a worker."""
        names = list(dict.fromkeys(self.cell_of_trial[config.id].label for config in configs))
        self.running[pack] = f"{list_first(names, 1)} {configs[0].phase} ×{len(configs)}"
        self._refresh()

    def report(self, points: Sequence[Point], runs: Sequence[Run]) -> None:
        """Count epochs and ends."""
        for point in points:
            self._count_epoch(point)
            self._update_best(self.cell_of_trial[point.trial], point.valid)
        for run in runs:
            self._count_end(run.trial, run.status, run.valid, run.epochs)
        self._refresh()

    def ended(self, pack: str, how: str = "over") -> None:
        """Note that a pack is over, or otherwise no longer trains."""
        name = self.running.pop(pack, pack)
        if not self._changes_in_place:
            self._print(f"{name} {how}. {self.counts()}")

    def say(self, message: str) -> None:
        """Show what the sweep waits for; an empty message removes it."""
        self.waits = message
        if message and message != self._last_shown and not self._changes_in_place:
            self._print(message)
        self._last_shown = message or self._last_shown
        self._refresh()

    def show_notice(self, line: str) -> None:
        """Print a permanent line."""
        self._print(line, "yellow")

    def _print(self, line: str, style: str = "") -> None:
        """Print a permanent line; off a terminal it begins with the time."""
        self._printed = time.monotonic()
        timestamp = "" if self._changes_in_place else f"{datetime.now():%Y-%m-%d %H:%M:%S} "
        with ignoring_print_errors():
            self.console.print(
                f"{timestamp}{self.name}: {line}",
                style=style,
                highlight=False,
                markup=False,
                soft_wrap=not self._changes_in_place,
            )

    def _watch_time(self) -> None:
        """Estimate the time left at intervals; off a terminal, print it if nothing was printed for ``LOG_SECONDS``."""
        while not self._closed.wait(1.0):
            start = time.monotonic()
            if start >= self._estimate_again:
                self.estimate_time_left()
                self._estimate_again = start + max(ESTIMATE_SECONDS, ESTIMATE_FACTOR * (time.monotonic() - start))
            if not self._changes_in_place and time.monotonic() - self._printed > LOG_SECONDS:
                done, remaining = self._epochs()
                parts = (self.counts(), f"{done} of {done + remaining} epochs", self._describe_time_left())
                self._print(", ".join(filter(None, parts)))

    def estimate_time_left(self) -> None:
        """Estimate the time left. Until the next estimate the view counts down from it."""
        with suppress(StoreError):  # the driver's own reads and writes wait for the store, or end it
            self._left, self._estimated = self.read_seconds_left(), time.monotonic()

    def counts(self) -> str:
        """Return one line: how many trials ended, and how."""
        how = ", ".join(f"{self._tally[s]} {s}" for s in ENDED if self._tally[s])
        return f"{len(self.ends)} of {describe_count(self._total, 'trial')} done" + (f" ({how})" if how else "")

    def count_failed(self) -> int:
        """Return how many trials failed."""
        return self._tally["failed"]

    @property
    def _changes_in_place(self) -> bool:
        return self.console.is_terminal or self.console.is_jupyter

    def _refresh(self) -> None:
        """Update a notebook; a terminal refreshes by itself."""
        if isinstance(self._live, NotebookLive):
            self._live.refresh()

    @property
    def _total(self) -> int:
        """Number of all trials, including those that will be planned after a search."""
        return len(self.cell_of_trial) if self.over else max(self.trials, len(self.cell_of_trial))

    def _count_end(self, trial: str, status: str, valid: float | None, epochs: int) -> None:
        self._tally.update([status])
        self._tally.subtract([self.ends[trial]] if trial in self.ends else [])
        if trial not in self.ends:
            self._add_epochs(trial, EpochCounts(ended=1, trained=epochs, reached=-self.epochs.get(trial, 0)))
        self.ends[trial] = status
        if valid is not None:
            self._update_best(self.cell_of_trial[trial], valid)

    def _add_epochs(self, trial: str, counts: EpochCounts) -> None:
        part = self.parts[trial]
        self.done[part] = self.done.get(part, EpochCounts()) + counts

    def _cell_index(self, trial: PlannedTrial) -> int:
        if trial.cell is not None:
            return trial.cell
        return next(k for k, cell in enumerate(self.cells) if cell.base.model == trial.model)

    def _update_best(self, cell: CellPlan, valid: float) -> None:
        old, sign = self.best.get(cell.label), 1.0 if cell.goal == "max" else -1.0
        if old is None or sign * valid > sign * old:
            self.best[cell.label] = valid

    def _count_epoch(self, point: Point) -> None:
        """Count an epoch of a trial, and earlier ones from its checkpoint, unless they are counted already."""
        trial = point.trial
        if (new_epochs := point.epoch - self.epochs.get(trial, 0)) > 0 and trial not in self.ends:
            self.epochs[trial] = point.epoch
            self._add_epochs(trial, EpochCounts(reached=new_epochs))

    def _epochs(self) -> tuple[int, int]:
        """Return the epochs that were trained, and those that remain."""
        done = dict(self.done)  # a copy, as another thread may be changing it
        remaining = 0 if self.over else remaining_epochs(self.file, self.cells, done)
        return sum(done.values(), EpochCounts()).epochs, remaining

    def _describe_time_left(self) -> str:
        if self.over:
            return ""
        if self._left is None:
            return "time left not known yet"
        return f"about {duration_text(max(self._left - (time.monotonic() - self._estimated), 0.0))} left"

    def _render(self) -> RenderableType:
        done, remaining = self._epochs()
        name, ends = Text(self.name), [s for s in ENDED if self._tally[s]]
        name.truncate(LONGEST_NAME, overflow="ellipsis")
        head = Text(name.plain, "bold")
        head.append(f"  {len(self.ends)} of {describe_count(self._total, 'trial')}", "not bold")
        for status in ends:
            head.append(f"  {self._tally[status]} {status}", f"not bold {COLOURS[status]}")
        head.append(f"  {self._describe_time_left()}", "not bold")
        bar = Table.grid(expand=True)
        bar.add_row(ProgressBar(total=max(done + remaining, 1), completed=done))
        lines: list[RenderableType] = [head, bar]
        if self.waits:
            lines.append(Text(self.waits, "yellow"))
        elif self.running:
            lines.append(Text(f"training  {', '.join([*self.running.values()])}", "cyan"))
        elif not self.over:
            lines.append(Text(f"starting workers, {duration_text(time.monotonic() - self._start)}", "cyan"))
        for metric in dict.fromkeys(cell.metric for cell in self.cells):
            labels = sorted(cell.label for cell in self.cells if cell.metric == metric and cell.label in self.best)
            best = "   ".join(f"{name} {self.best[name]:.4g}" for name in labels)
            lines += [Text(f"best {metric}  {best}")] * bool(best)
        for line in lines:
            if isinstance(line, Text):
                line.no_wrap, line.overflow = True, "ellipsis"
        return Group(*lines)
