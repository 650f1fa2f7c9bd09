"""A cohort of successive halving with a store and a driver that are interrupted in every way, in one process."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path

import pytest

from longwave.platform.records.report import Cohort, Report
from longwave.platform.records.run import Point, Run
from longwave.platform.records.trial import TrialConfig
from longwave.platform.training import train as training
from longwave.platform.training.checkpoint import Checkpoint

FAULTS = ("none", "pause", "death", "death after its report", "memory")
DISTURBED = 12
"""Number of attempts that may be interrupted; later ones are not, so that every trial ends."""


class Death(BaseException):
    """Stands for the death of the process."""


class FakeStore:
    """A fake store: keeps reports by the store's rules; the first score and decision at a rung are final."""

    def __init__(self, configs: Sequence[TrialConfig]) -> None:
        self.configs, self.runs = list(configs), dict[str, Run]()
        self.points: dict[tuple[str, int], Point] = {}
        self.cohort = Cohort("c", tuple(c.id for c in configs), {})

    @property
    def open(self) -> list[TrialConfig]:
        return [c for c in self.configs if c.id not in self.runs]

    def take(self, report: Report) -> None:
        for trial, epoch in report.began.items():
            self.points = {key: p for key, p in self.points.items() if key[0] != trial or key[1] <= epoch}
        self.points |= {(p.trial, p.epoch): p for p in report.points}
        for run in report.runs:
            self.runs.setdefault(run.trial, run)
        self.cohort = self.cohort.after(report)

    def ends(self) -> dict[str, tuple[str, int]]:
        return {trial: (run.status, run.epochs) for trial, run in self.runs.items()}

    def winner(self) -> str:
        """Return the fully trained trial with the smallest error."""
        return min((r.valid, t) for t, r in self.runs.items() if r.status == "ok" and r.valid is not None)[1]


class Driver:
    """Trains a cohort in packs that it forms at random, one after another, until every trial has ended."""

    def __init__(self, store: FakeStore, folder: Path, seed: int, patch: pytest.MonkeyPatch) -> None:
        self.store, self.folder, self.chance, self.patch = store, folder, random.Random(seed), patch
        self.packs: list[tuple[list[TrialConfig], Checkpoint]] = []
        self.files: list[Path] = []
        self.attempts = 0
        self.cut()

    def cut(self) -> None:
        """Form new packs of the open trials, in any order, which may use checkpoints of earlier packs."""
        open_trials, earlier_files = (
            self.chance.sample(self.store.open, len(self.store.open)),
            tuple(reversed(self.files)),
        )
        cuts = sorted(
            {0, *(self.chance.randrange(len(open_trials)) for _ in range(self.chance.randrange(3))), len(open_trials)}
        )
        self.packs = []
        for start, stop in zip(cuts, cuts[1:], strict=False):
            path = self.folder / f"{len(self.files)}.safetensors"
            self.files.append(path)
            self.packs.append((open_trials[start:stop], Checkpoint(path, earlier_files)))

    def run(self) -> None:
        while self.store.open:
            self.attempts += 1
            assert self.attempts < 60, "the cohort does not end"
            if self.attempts <= DISTURBED and self.chance.random() < 0.25:
                self.cut()
            if self.attempts <= DISTURBED and self.chance.random() < 0.1:
                self.chance.choice(self.files).unlink(missing_ok=True)
            for configs, checkpoint in self.chance.sample(self.packs, len(self.packs)):
                if unfinished := [c for c in configs if c.id not in self.store.runs]:
                    self.attempt(unfinished, checkpoint)

    def attempt(self, configs: list[TrialConfig], checkpoint: Checkpoint) -> None:
        """Train one pack, possibly with a fault."""
        fault = self.chance.choice(FAULTS) if self.attempts <= DISTURBED else "none"
        self.patch.setattr(training, "CHECKPOINT_SECONDS", self.chance.choice([0.0, 1e9]))
        step, emit = self.stepping(fault, configs), self.emitting(fault)
        with suppress(Death):
            training.train(configs, emit, checkpoint, self.store.cohort, step)

    def emitting(self, fault: str) -> Callable[[Report], None]:
        last = self.chance.randrange(6)

        def emit(report: Report) -> None:
            nonlocal last
            last -= 1
            if last < 0 and fault == "death":
                raise Death
            self.store.take(report)
            if last < 0 and fault == "death after its report":
                raise Death

        return emit

    def stepping(self, fault: str, configs: list[TrialConfig]) -> Callable[[], bool]:
        last = self.chance.randrange(12)

        def step() -> bool:
            nonlocal last
            last -= 1
            if last == 0 and fault == "memory" and sum(c.id not in self.store.runs for c in configs) > 1:
                raise MemoryError
            return last < 0 and fault == "pause"

        return step
