"""What a running sweep shows: packs running, how trials ended, the best so far, the time left."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Sequence
from types import TracebackType

from rich.console import Console, Group, RenderableType
from rich.live import Live
from rich.progress_bar import ProgressBar
from rich.table import Table
from rich.text import Text

from longwave.platform.records.run import ENDED, Point, Run
from longwave.platform.records.stored import EpochCounts, PlannedTrial
from longwave.platform.records.trial import TrialConfig
from longwave.platform.sweeps.plan.cells import CellPlan, Sweep
from longwave.platform.sweeps.run.notebook import NotebookLive
from longwave.platform.sweeps.run.remaining import PhaseOfCell, remaining_epochs

COLOURS = {"ok": "green", "diverged": "yellow", "stopped": "cyan", "failed": "red"}


class Progress:
    """A live view of one sweep, on a terminal or in a notebook. Elsewhere it prints one line a finished pack instead.

    Args:
        sweep: The sweep.
        console: Where to print.
    """

    def __init__(self, sweep: Sweep, console: Console) -> None:
        self.file, self.name, self.entries, self.console = sweep.file, sweep.file.name, sweep.entries, console
        self.trials = self.file.trained * len(self.entries)
        self.cells: dict[str, CellPlan] = {}
        self.done: dict[PhaseOfCell, EpochCounts] = {}
        self.parts: dict[str, PhaseOfCell] = {}
        self.epochs: dict[str, int] = {}
        self.ends: dict[str, str] = {}
        self.best: dict[str, float] = {}
        self.running: dict[str, str] = {}
        self.waits, self._said, self.over = "", "", False
        self._tally = Counter[str]()
        self._start, self._new = time.monotonic(), 0
        self._live: Live | NotebookLive = NotebookLive(self._view)
        if not console.is_jupyter:
            self._live = Live(get_renderable=self._view, console=console, refresh_per_second=4, transient=True)

    def __enter__(self) -> Progress:
        if self._lives:
            self._live.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._live.stop()

    def plan(self, trials: Sequence[PlannedTrial]) -> None:
        """Take the trials known so far and how those from earlier runs of the sweep ended."""
        for trial in trials:
            if trial.id not in self.cells:
                cell = self._cell(trial)
                self.cells[trial.id], self.parts[trial.id] = self.entries[cell], (cell, trial.phase)
            if not trial.open:
                self._end(trial.id, trial.status, trial.valid, trial.epochs)

    def started(self, pack: str, configs: Sequence[TrialConfig]) -> None:
        """Note a pack that has a worker."""
        names = list(dict.fromkeys(self.cells[config.id].label for config in configs))
        label = names[0] if len(names) == 1 else f"{names[0]} and {len(names) - 1} more"
        self.running[pack] = f"{label} {configs[0].phase} ×{len(configs)}"
        self._look()

    def report(self, points: Sequence[Point], runs: Sequence[Run]) -> None:
        """Take epochs and ends."""
        for point in points:
            self._reach(point.trial, point.epoch)
            self._better(self.cells[point.trial], point.valid)
        for run in runs:
            self._end(run.trial, run.status, run.valid, run.epochs)
        self._look()

    def ended(self, pack: str, how: str = "over") -> None:
        """Note that a pack is over, or how else its work ended."""
        what = self.running.pop(pack, pack)
        if not self._lives:
            self.console.print(f"{self.name}: {what} {how}. {self.counts()}", highlight=False)

    def say(self, what: str) -> None:
        """Show what the sweep waits for; empty once it goes on."""
        self.waits = what
        if what and what != self._said and not self._lives:
            self.console.print(f"{self.name}: {what}", highlight=False, markup=False)
        self._said = what or self._said
        self._look()

    def tell(self, line: str) -> None:
        """Show a line that stays."""
        self.console.print(f"{self.name}: {line}", style="yellow", highlight=False, markup=False, soft_wrap=True)

    def counts(self) -> str:
        """Return one line: how many trials ended, and how."""
        how = ", ".join(f"{self._tally[s]} {s}" for s in ENDED if self._tally[s])
        return f"{len(self.ends)} of {self._total} trials done" + (f" ({how})" if how else "")

    @property
    def _lives(self) -> bool:
        """Whether what is shown changes in place."""
        return self.console.is_terminal or self.console.is_jupyter

    def _look(self) -> None:
        """Show a notebook how things stand; a terminal looks by itself."""
        if isinstance(self._live, NotebookLive):
            self._live.refresh()

    @property
    def _total(self) -> int:
        """Trials in all: also those that are planned only once a search is over."""
        return len(self.cells) if self.over else max(self.trials, len(self.cells))

    def _end(self, trial: str, status: str, valid: float | None, epochs: int) -> None:
        self._tally.update([status])
        self._tally.subtract([self.ends[trial]] if trial in self.ends else [])
        if trial not in self.ends:
            self._count(trial, EpochCounts(ended=1, trained=epochs, reached=-self.epochs.get(trial, 0)))
        self.ends[trial] = status
        if valid is not None:
            self._better(self.cells[trial], valid)

    def _count(self, trial: str, more: EpochCounts) -> None:
        part = self.parts[trial]
        self.done[part] = self.done.get(part, EpochCounts()) + more

    def _cell(self, trial: PlannedTrial) -> int:
        """Return the number of the cell that asked for a trial."""
        if trial.cell is not None:
            return trial.cell
        return next(k for k, entry in enumerate(self.entries) if entry.base.model == trial.model)

    def _better(self, cell: CellPlan, valid: float) -> None:
        old, sign = self.best.get(cell.label), 1.0 if cell.goal == "max" else -1.0
        if old is None or sign * valid > sign * old:
            self.best[cell.label] = valid

    def _reach(self, trial: str, epoch: int) -> None:
        """Count an epoch of a trial, and those of its checkpoint before it, unless they were heard of before."""
        if (more := epoch - self.epochs.get(trial, 0)) > 0 and trial not in self.ends:
            self.epochs[trial] = epoch
            self._count(trial, EpochCounts(reached=more))
            self._new += 1

    def _left(self, further: int) -> str:
        if self.over:
            return ""
        if not self._new:
            return "time left unknown yet"
        seconds = (time.monotonic() - self._start) * further / self._new
        return f"about {int(seconds // 60)} min {int(seconds % 60):02d} s left"

    def _view(self) -> RenderableType:
        further = 0 if self.over else remaining_epochs(self.file, [entry.epochs for entry in self.entries], self.done)
        there = sum(self.done.values(), EpochCounts()).epochs
        states = Text("  ").join(Text(f"{self._tally[s]} {s}", COLOURS[s]) for s in ENDED)
        head = Table.grid(padding=(0, 2))
        head.add_row(Text(self.name, "bold"), f"{len(self.ends)} of {self._total} trials", states, self._left(further))
        rows = Table.grid(padding=(0, 2))
        if self.waits:
            rows.add_row("", Text(self.waits, "yellow"))
        if not self.over:
            rows.add_row("running", Text(", ".join(self.running.values()) or "starting workers …", "cyan"))
        for metric in dict.fromkeys(cell.metric for cell in self.entries):
            labels = sorted(cell.label for cell in self.entries if cell.metric == metric and cell.label in self.best)
            rows.add_row(f"best {metric}", "   ".join(f"{name} {self.best[name]:.4g}" for name in labels) or "—")
        bar = Table.grid(expand=True)
        bar.add_row(ProgressBar(total=max(there + further, 1), completed=there))
        return Group(head, bar, rows)
