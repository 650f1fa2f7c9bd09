"""Sweeps whose drivers are ended at random, in one process."""

from __future__ import annotations

import io
import os
import random
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console

from longwave.platform.errors import Interrupted
from longwave.platform.records.report import Report
from longwave.platform.storage.leases import Leases
from longwave.platform.storage.store import Store
from longwave.platform.sweeps.file.schema import SweepFile
from longwave.platform.sweeps.place.packing import pack_key
from longwave.platform.sweeps.place.workers import Workers
from longwave.platform.sweeps.run import driver

SLOW = (
    'name = "tiny"\ntask = "adding"\nvariant = "N=20"\nmodels = ["lem"]\ntrials = 1\nretrain = 1\nhidden = 8\n'
    "batch = 10\nsteps = 20\nepochs = 40\npack = 1\n"
)
"""A sweep file of two trials, in two packs, that take long enough to be interrupted."""


def read_results(store: Store, sweep: str = "tiny") -> dict[str, Any]:
    """Return how each trial of a sweep ended and its whole curve."""
    ends = {t.config.id: (t.status, t.run and (t.run.valid, t.run.test, t.run.epochs)) for t in store.trials(sweep)}
    return {**ends, "points": [(p.trial, p.epoch, p.loss, p.valid) for p in store.curves(sorted(ends))]}


def run(file: SweepFile, store: Store, folder: Path, count: int = 1, here: bool = True) -> None:
    """Run a sweep to its end."""
    driver.start_sweep(file, store, Workers(count, folder, here=here), None, Console(file=io.StringIO(), width=200))


KILLED = """
import os, signal, sys
from longwave.platform.cli.main import main
from longwave.platform.storage.leases import Leases

left, late, arguments = int(sys.argv[1]), sys.argv[2] == "late", sys.argv[3:]
real = Leases.write

def write(leases, report):
    global left
    left -= 1
    if late or left:
        real(leases, report)
    if not left:
        os.kill(os.getpid(), signal.SIGKILL)

Leases.write = write
sys.exit(main(arguments))
"""
"""A program that resumes a sweep, and is killed before or after its n-th write; with n = 0 it runs to its end."""


def resume_killed(name: str, store: Store, folder: Path, writes: int, late: bool) -> int:
    """Return the status of a process that resumes a sweep of the store and is killed at one of its writes."""
    arguments = ["sweep", "resume", name, "--here", "--mlflow", "off", "--store", store.url, "--storage", str(folder)]
    code = [sys.executable, "-c", KILLED, str(writes), "late" if late else "early", *arguments]
    environment = {**os.environ, "LONGWAVE_HOME": str(folder / "home")}
    done = subprocess.run(code, env=environment, capture_output=True, text=True, timeout=300)
    assert done.returncode in (0, -signal.SIGKILL), done.stderr
    return done.returncode


class RandomEnds:
    """Ends a driver at a random moment, before or after a write."""

    def __init__(self, seed: int, patch: pytest.MonkeyPatch) -> None:
        self.chance, self.left, self.disturbed = random.Random(seed), 0, 6
        real = Leases.write

        def write(leases: Leases, report: Report) -> None:
            self.left -= 1
            late = self.chance.random() < 0.5
            if late:
                real(leases, report)
            if self.disturbed and self.left < 0:
                raise KeyboardInterrupt
            if not late:
                real(leases, report)

        patch.setattr(Leases, "write", write)

    def form_packs(self, store: Store) -> None:
        """Form random new packs of the open trials, as after deaths of workers; some checkpoints are lost."""
        open_trials = [a.id for a in store.planned("tiny") if a.open and a.phase != "retrain"]
        configs = store.configs(self.chance.sample(open_trials, len(open_trials)))
        size = self.chance.randint(1, max(len(open_trials), 1))
        packs = [[configs[i] for i in list(configs)[k : k + size]] for k in range(0, len(configs), size)]
        store.assign({pack_key(pack): pack for pack in packs})


def run_disturbed(file: SweepFile, seed: int, store: Store, folder: Path, patch: pytest.MonkeyPatch) -> None:
    """Run a sweep named ``tiny`` whose drivers end at random, with varying numbers of workers and new packs."""
    ends = RandomEnds(seed, patch)
    while True:
        ends.left = ends.chance.randrange(2, 14)
        try:
            run(file, store, folder, ends.chance.randint(1, 4))
            return
        except Interrupted:
            ends.disturbed -= 1
            if ends.chance.random() < 0.4:
                ends.form_packs(store)
