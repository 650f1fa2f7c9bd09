"""Save a store of this version for tests, and what is read from it; run once per release with a new schema:

    PYTHONPATH=tests/support .venv/bin/python infra/tools/keep_store.py 0.2.0

It writes ``tests/platform/storage/kept/0.2.0.sqlite.xz`` and ``0.2.0.json``. Existing files are never overwritten.
"""

from __future__ import annotations

import json
import lzma
import sqlite3
import sys
import tempfile
from contextlib import closing
from dataclasses import asdict, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from recorded import points_of, recorded_store
from tree import ROOT

from longwave.platform.about import about, known_model
from longwave.platform.records.identity import digest, sparse_fields
from longwave.platform.records.probe import Probe
from longwave.platform.records.report import Report, Rung
from longwave.platform.records.run import Measure, Run
from longwave.platform.records.stored import StoredSweep, Trial
from longwave.platform.records.trial import cohort_key
from longwave.platform.registry import get_model
from longwave.platform.storage.boards import read_board
from longwave.platform.storage.leases import Leases
from longwave.platform.storage.probes import read_probes, write_probes
from longwave.platform.storage.store import Store

STORES = ROOT / "tests/platform/storage/kept"
BUNDLE = "b" * 64


def fill(store: Store) -> None:
    """Write something into every table."""
    first, *_, open_one, last = recorded_store(store)
    with Leases(store, "one") as driver:
        driver.take([open_one.id, last.id])
        driver.write(Report(points_of(open_one, 2), began={open_one.id: 2, last.id: 0}))
        driver.write(Report(points_of(last, 2), [Run(last.id, "failed", "the disk is full", 2, seconds=1.5)]))
        driver.spent = lambda: {"used": {"cpu": 2.5}, "expected": {"cpu": 2.0}}
        driver.beat("training")
    halved = [replace(first, seed=k, hidden=16) for k in (1, 2)]
    name = cohort_key(halved)
    halved = [replace(c, halving={"eta": 2, "first": 1, "cohort": name}) for c in halved]
    store.add_sweep("halved", {"trials": 2, "halving": {"eta": 2}}, {"plan": 1})
    store.add_trials("halved", halved, [about(c) for c in halved], [0, 0])
    with Leases(store, "halved") as driver:
        driver.take([c.id for c in halved])
        rungs = [Rung(name, 1, c.id, 0.5 + k, k == 0) for k, c in enumerate(halved)]
        driver.write(Report(points_of(halved[1], 1), [Run(halved[1].id, "stopped", "halved", 1, 1, 1.5)], rungs))
    store.set_state("halved", "pause")
    retrainings = [replace(first, seed=90 + k, phase="retrain", params={"lr": 0.2}) for k in range(3)]
    patch = "--- a\n+++ b\n"
    facts = {"torch": "2.15.0", "diff": digest({"patch": patch})}
    at = datetime(2026, 1, 2, 3, 4, 5, 678, tzinfo=UTC)
    measures = (Measure("length", "1", 3.0),)
    end = Run("", "ok", valid=0.5, environment=facts, patch=patch, measures=measures)
    runs = [replace(end, trial=c.id, test=0.25 + k) for k, c in enumerate(retrainings)]
    trials = [
        Trial(c, about(c), "ok", None, run, at, BUNDLE, flags=("odd", "late") if k == 0 else ())
        for k, (c, run) in enumerate(zip(retrainings, runs, strict=True))
    ]
    sweep = (StoredSweep("there@1", {"trials": 3}), [c.id for c in retrainings], [0, 0, None])
    epochs = [tuple(vars(point).values()) for point in points_of(retrainings[0], 2)]
    with_epochs = [(trial, epochs if k == 0 else []) for k, trial in enumerate(trials)]
    store.import_trials([BUNDLE], with_epochs, [sweep], [known_model(get_model("lem"))])
    write_probes(store, [Probe("A100", "shape", 8, 2**20, 2**35, 0.25, 3.5, 0.125)])


def content(store: Store) -> dict[str, Any]:
    """Return everything read from a store, as JSON: boards, trials with their curves, and the rest."""
    sweeps = [sparse_fields(store.sweep(name)) for name in store.sweeps()]
    trials = {sweep["name"]: store.trials(sweep["name"]) for sweep in sweeps}
    ids = sorted({t.config.id for part in trials.values() for t in part})
    contents = {
        "boards": [
            {"row": r.key, "kind": r.kind, "mean": r.mean, "std": r.std, "scores": r.scores, "sweeps": r.sweeps}
            for r in read_board(store)
            if r.kind != "published"
        ],
        "sweeps": sweeps,
        "trials": {name: [_plain(t) for t in trials[name]] for name in trials},
        "planned": {name: [asdict(t) for t in store.planned(name)] for name in trials},
        "curves": [asdict(point) for point in store.curves(ids)],
        "attempts": store.attempts(ids),
        "cohorts": {
            name: asdict(store.cohort(name, sweep))
            for sweep in trials
            for name in sorted(set(store.cohorts([t.config.id for t in trials[sweep]]).values()))
        },
        "patches": store.patches({t.run.environment.get("diff", "") for f in trials.values() for t in f if t.run}),
        "catalogue": [sparse_fields(entry) for entry in store.catalogue()],
        "probes": [sparse_fields(probe) for probe in read_probes(store)],
        "cost": {name: store.cost(name).used for name in trials},
    }
    plain: dict[str, Any] = json.loads(json.dumps(contents, default=str))
    return plain


def _plain(trial: Trial) -> dict[str, Any]:
    record = {
        "config": trial.config.to_dict(),
        "about": sparse_fields(trial.about),
        "run": trial.run and sparse_fields(trial.run),
    }
    return record | {"status": trial.status, "pack": trial.pack, "ended": trial.ended, "id": trial.config.id} | {
        "row": trial.config.row, "origin": trial.origin, "rerun": trial.rerun, "flags": trial.flags,
    }  # fmt: skip


def main(version: str = "") -> int:
    """Write the files of a version; return 1 if they exist, or 2 if none is named."""
    if not version:
        print("Name the version whose store to keep, as in: keep_store.py 0.2.0", file=sys.stderr)
        return 2
    file = STORES / f"{version}.sqlite.xz"
    read = file.with_name(f"{version}.json")
    if existing := next((path for path in (file, read) if path.exists()), None):
        print(f"{existing} exists and is never overwritten.", file=sys.stderr)
        return 1
    with tempfile.TemporaryDirectory() as folder:
        with Store(f"sqlite:///{folder}/store.db") as store:
            fill(store)
            read.write_text(json.dumps(content(store), indent=1) + "\n")
        with closing(sqlite3.connect(f"{folder}/store.db")) as connection:
            connection.execute("PRAGMA journal_mode = DELETE")
        file.write_bytes(lzma.compress(Path(folder, "store.db").read_bytes(), preset=9))
    return 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:2]))
