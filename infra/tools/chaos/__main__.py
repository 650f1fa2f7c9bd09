"""Fault injection: sweeps whose drivers, workers, nodes, checkpoints, database and disks fail, and the damage found.

``make chaos WORDS="[--short] [case ...]"`` runs the cases, or those named, and prints a table. It exits with 1 if
anything was lost, duplicated, silently wrong, unusable or left over, or a result differs from an undisturbed run's.
Finished episodes are stored in a folder (``--folder``, by default ``.chaos``) and are not repeated until the sweep or
the code changes. A run of all cases with all faults writes the table to ``infra/chaos.md``. The control, the usual
combination of libraries, has its own lines and does not affect the exit status.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import random
import shutil
import subprocess
import sys
import time
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Any

from tree import ROOT

from chaos import control, faults
from chaos.audit import Findings, TrialRecord, audit
from chaos.sweep import Running, clear_episode, read_store
from longwave.files import atomic_file
from longwave.platform.records.identity import digest
from longwave.platform.storage.store import Store
from longwave.platform.sweeps.trackers.mlflow.client import connect
from longwave.platform.training.environment import CODE_HASH

SWEEP = """
name = "chaos"
task = "adding"
variant = "N=60"
models = {models}
trials = {trials}
retrain = {retrain}
hidden = 8
batch = 10
steps = 10
epochs = {epochs}
pack = 6
halving = {{ first = 3, eta = 2 }}
"""
"""Search trials in cohorts, and retrainings; one pack each, so that packs are the same after a resume."""
FULL = {"models": '["lem", "cornn"]', "trials": 6, "retrain": 2, "epochs": 80}
SHORT = {"models": '["lem"]', "trials": 4, "retrain": 1, "epochs": 60}
WRONG = ("lost", "duplicated", "wrong", "unusable", "orphans")
IDLE = 5
"""Sweeps without a fault after which a case is given up."""
HEAD = (
    "case",
    "sweeps",
    "faults",
    "lost",
    "duplicated",
    "silently wrong",
    "unusable",
    "orphans",
    "equal",
    "to the bit",
)


@dataclass(frozen=True)
class Case:
    """A kind of fault: its function, and how many there are in total and per sweep, in a full or a short run."""

    name: str
    fault: faults.Fault
    full: int
    per_sweep: int
    short: bool = False
    ours: bool = True


CASES = (
    Case("no fault", faults.no_fault, 0, 0),
    Case("driver kills", faults.driver_kills, 100, 10),
    Case("worker kills", faults.worker_kills, 100, 10),
    Case("node kills", faults.node_kills, 30, 5),
    Case("checkpoint corruptions", faults.corrupt_checkpoints, 100, 10),
    Case("database restarts", faults.database_restarts, 20, 4),
    Case("full disks", faults.full_disks, 20, 4),
    Case("one of each", faults.one_of_each, 5, 5, short=True),
    Case("control: driver kills", control.driver_kills, 10, 5, ours=False),
    Case("control: worker kills", control.worker_kills, 10, 5, ours=False),
    Case("control: checkpoint corruptions", control.corrupt_checkpoints, 10, 5, ours=False),
)


@dataclass
class Line:
    """A line of the table."""

    case: Case
    sweeps: int = 0
    faults: int = 0
    findings: Findings = Findings()
    skipped: str = ""

    def add(self, done: Mapping[str, Any]) -> None:
        """Count an episode."""
        self.sweeps, self.faults = self.sweeps + 1, self.faults + done["faults"]
        ours, more = asdict(self.findings), done["found"]
        self.findings = Findings(**{name: [*value, *more[name]] if name in WRONG else value + more[name]
                                 for name, value in ours.items()})  # fmt: skip

    def cells(self) -> list[str]:
        """Return the cells of the line."""
        f = self.findings
        counts = [str(len(getattr(f, name))) for name in WRONG]
        equal = [f"{f.equal} of {f.trials}", str(f.to_the_bit)] if self.case.ours else ["-", "-"]
        return [self.case.name, str(self.sweeps), self.skipped or str(self.faults), *counts, *equal]


class Harness:
    """Runs cases in a folder.

    Args:
        folder: Where finished episodes are stored, in a folder of its own for each sweep and version of the code.
        short: One short sweep, without MLflow, with one fault of each kind.
    """

    def __init__(self, folder: Path, short: bool) -> None:
        self.short, self.sweep = short, SWEEP.format(**SHORT if short else FULL)
        self.folder = folder / f"{'short' if short else 'full'}-{digest([self.sweep, CODE_HASH])}"
        (self.folder / "done").mkdir(parents=True, exist_ok=True)
        self.setup = self._read_setup()

    def run(self, case: Case, count: int) -> Line:
        """Disturb sweeps until the number of faults is reached; return the findings of all of them."""
        line, number = Line(case), 0
        while line.faults < count or not line.sweeps:
            done = self.folder / "done" / f"{case.name.replace(': ', '-').replace(' ', '-')}-{number}.json"
            if not done.exists():
                try:
                    self._episode(case, number, min(case.per_sweep, max(1, count - line.faults)), done)
                except faults.Impossible as error:
                    line.skipped = f"skipped: {error}"
                    return line
            line.add(json.loads(done.read_text()))
            number += 1
            if number >= IDLE and not line.faults:
                raise SystemExit(f"{case.name}: no fault could be injected in {number} sweeps. See {done.parent}.")
        return line

    def _episode(self, case: Case, number: int, max_faults: int, done: Path) -> None:
        folder, began = self.folder / "work" / done.stem, time.monotonic()
        clear_episode(folder)
        folder.mkdir()
        count, state = case.fault(self.setup, folder, random.Random(f"{case.name} {number}"), max_faults)
        findings, seconds = audit(state), time.monotonic() - began
        content = {"faults": count, "seconds": seconds, "commit": describe_commit(), "found": asdict(findings)}
        wrong = ", ".join(f"{len(getattr(findings, name))} {name}" for name in WRONG)
        print(f"{case.name} {number}: {count} faults in {seconds:.0f} s; {wrong}; "
              f"{findings.equal} of {findings.trials} equal, {findings.to_the_bit} to the bit", flush=True)  # fmt: skip
        for name in WRONG:
            for text in getattr(findings, name)[:5]:
                print(f"    {name}: {text}", flush=True)
        with atomic_file(done) as partial:
            partial.write_text(json.dumps(content, indent=1))
        if findings.clean or not case.ours:
            shutil.rmtree(folder, ignore_errors=True)

    def _read_setup(self) -> faults.Setup:
        """Return the shared reference of the episodes, from an undisturbed run."""
        file, ready, blank = self.folder / "sweep.toml", self.folder / "reference/whole", self.folder / "blank.db"
        file.write_text(self.sweep)
        if not ready.exists():
            shutil.rmtree(self.folder / "reference", ignore_errors=True)
            sweep = Running(self.folder / "reference/here", file, faults.WAYS["here"])
            sweep.finish()
            if sweep.broken:
                raise SystemExit(f"Even an undisturbed sweep fails: {sweep.broken[0]}")
            if not self.short:
                with warnings.catch_warnings():
                    warnings.simplefilter("ignore")
                    connect(f"sqlite:///{blank}")
            ready.touch()
        return faults.Setup(
            file, self._expected(), blank=None if self.short else blank, soon=0.3 if self.short else 4.0
        )

    def _expected(self) -> dict[str, TrialRecord]:
        with Store(f"sqlite:///{self.folder / 'reference/here/store.db'}") as store:
            return read_store(store)


def describe_commit() -> str:
    """Return the commit of the tree, with ``+`` if it has changes."""
    done = subprocess.run(["git", "describe", "--always", "--dirty=+"], cwd=ROOT, capture_output=True, text=True)
    return done.stdout.strip() or "unknown"


def markdown_table(lines: Sequence[Line]) -> str:
    """Return the table, as Markdown."""
    rows = [HEAD, *(line.cells() for line in lines)]
    widths = [max(len(row[k]) for row in rows) for k in range(len(HEAD))]
    text = [
        "| " + " | ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)) + " |" for row in rows
    ]
    return "\n".join([text[0], "|" + "|".join("-" * (width + 2) for width in widths) + "|", *text[1:]])


def markdown_report(lines: Sequence[Line], harness: Harness) -> str:
    """Return the table with the machine, the versions, the date and the sizes."""
    names = ("torch", "ray", "sqlalchemy", "mlflow", "optuna")
    versions = ", ".join(f"{name} {version(name)}" for name in names)
    memory = f"{platform.system()} {platform.machine()}, Python {platform.python_version()}, {versions}"
    done = [json.loads(f.read_text()) for f in sorted((harness.folder / "done").glob("*.json"))]
    hours = sum(d["seconds"] for d in done) / 3600
    return "\n".join([
        "# Chaos", "",
        "Written by `make chaos`. Each sweep has 12 search trials in two cohorts of successive halving and 4",
        "retrainings; faults come after shares of its epochs that are drawn uniformly, some while it starts again. An",
        "auditor compares store, MLflow and each trial's own log. Results equal those of an undisturbed run to the bit",
        "if a trial was trained in the same pack, else within 1e-4; the retrained trials, and so the winners, are the",
        "same. Unusable: a damaged store, or a sweep that does not finish. Orphans: processes, leases and attempts",
        "without an end.",
        "", f"{os.cpu_count()} cores, {memory}; {time.strftime('%d %b %Y')}; {hours:.1f} hours;"
        f" commits {', '.join(sorted({d['commit'] for d in done}))}.", "",
        markdown_table(lines), "",
        "Control lines are the usual wiring (Ray Tune, OptunaSearch, MLflow's callback) under the same harness.", "",
    ])  # fmt: skip


def main(arguments: Sequence[str]) -> int:
    """Run, print the table and return the exit status."""
    parser = argparse.ArgumentParser("python -m chaos", description=__doc__)
    parser.add_argument("case", nargs="*", help="words of names of cases; all by default")
    parser.add_argument("--short", action="store_true", help="a minute, on two cores")
    parser.add_argument("--folder", type=Path, default=ROOT / ".chaos")
    parser.add_argument("--faults", type=int, help="in place of each case's own number")
    options = parser.parse_args(arguments)
    cases = [c for c in CASES if c.short == options.short]
    if unknown := [word for word in options.case if not any(word in c.name for c in cases)]:
        print(f"make chaos has no case {unknown[0]!r}; it has: {', '.join(c.name for c in cases)}.", file=sys.stderr)
        return 2
    cases = [c for c in cases if not options.case or any(word in c.name for word in options.case)]
    harness = Harness(options.folder.absolute(), options.short)
    lines = []
    for case in cases:
        lines.append(harness.run(case, min(case.full, options.faults or case.full)))
    print(markdown_table(lines))
    if not (options.short or options.case or options.faults):
        (ROOT / "infra/chaos.md").write_text(markdown_report(lines, harness), encoding="utf-8")
    return int(any(line.case.ours and not line.findings.clean for line in lines))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
